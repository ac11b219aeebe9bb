"""The kubelets of a cluster's nodes: they run no containers, but write what kubelets that run containers write."""

"""The cluster's own controllers, written with controllerlib: kube-controller-manager's, a scheduler, a kubelet.

They reach the API server as their real counterparts do, through the API, and none runs unless it is selected.
"""

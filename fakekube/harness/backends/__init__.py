"""Real API servers behind the names of FakeKube: kube-apiserver and etcd binaries, and existing clusters."""

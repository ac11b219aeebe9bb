#!/bin/sh
# A smoke test with kubectl: KUBECONFIG is set by `fakekube run`.
set -eu
kubectl create -f - <<YAML
apiVersion: example.com/v1
kind: Backup
metadata: {name: nightly}
spec: {every: 3600, target: db}
YAML
kubectl patch backup nightly --type merge --patch '{"spec": {"target": "files"}}'
test "$(kubectl get backup nightly --output 'jsonpath={.spec.target}')" = files
kubectl delete backup nightly --wait
echo "kubectl: ok"

#!/bin/sh
# A smoke test with nothing but curl: FAKEKUBE_URL is set by `fakekube run`.
set -eu
curl -fsS "$FAKEKUBE_URL/version" | grep -q gitVersion
curl -fsS "$FAKEKUBE_URL/apis/example.com/v1/namespaces/default/backups" \
  -H 'Content-Type: application/yaml' --data-binary @- >/dev/null <<YAML
apiVersion: example.com/v1
kind: Backup
metadata: {name: nightly}
spec: {every: 3600, target: db}
YAML
curl -fsS "$FAKEKUBE_URL/apis/example.com/v1/backups?fieldSelector=metadata.name%3Dnightly" | grep -q '"every": 3600'
echo "curl: ok"

#!/usr/bin/env bash
# Usage: hack/generate.sh TOOLS [ROOT]: writes every generated file under ROOT (the repository by default).
set -euo pipefail
tools=$1
cd "${2:-$(dirname "$0")/..}"

if compgen -G 'api/*/*_types.go' >/dev/null; then
  "$tools/controller-gen" object:headerFile=hack/boilerplate.go.txt paths=./api/...
  mkdir -p config/crd
  "$tools/controller-gen" crd paths=./api/... output:crd:dir=config/crd
  # A ClusterView is only ever in files: its schema is for checking those, and no API server gets it.
  mv config/crd/federation.weir.io_clusterviews.yaml api/admission/clusterviews.yaml
fi
if compgen -G 'resview/pb/*.proto' >/dev/null; then
  "$tools/protoc" -I resview/pb -plugins "$tools"
fi

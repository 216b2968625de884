#!/usr/bin/env bash
# Usage: hack/lint.sh LINT: runs the linter on every module, each with the configuration that holds for it.
set -euo pipefail
lint=$1
cd "$(dirname "$0")/.."
root=$PWD

run() { # module directory, configuration, paths
  local dir=$1 config=$2
  shift 2
  echo "lint: $dir ($config)"
  (cd "$dir" && "$lint" run --config "$root/$config" --timeout 10m "$@")
}

# A misspelt setting is ignored in silence otherwise.
for config in .golangci.yml .golangci-api.yml; do
  "$lint" config verify --config "$config"
done
hack/walls.sh "$lint"
run . .golangci.yml ./...
[[ -d api ]] && run . .golangci-api.yml ./api/...
# Modules are left out where type-checking them means compiling what they pin: all of golangci-lint (tools/lint, one short
# file), all of Kubernetes and Istio (e2e/controlplane and e2e/node, wiring alone), and CoreDNS (dns/bench/coredns, likewise).
for module in tools/house tools/gen charts/weir/tests e2e; do
  [[ -f $module/go.mod ]] && run "$module" .golangci.yml ./...
done
echo "lint: ok"

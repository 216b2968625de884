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

run . .golangci.yml ./...
[[ -d api ]] && run . .golangci-api.yml ./api/...
for module in tools/house tools/gen tools/lint e2e; do
  [[ -f $module/go.mod ]] && run "$module" .golangci.yml ./...
done
echo "lint: ok"

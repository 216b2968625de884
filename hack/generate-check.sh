#!/usr/bin/env bash
# Usage: hack/generate-check.sh TOOLS: fails when a generated file differs from what its sources give.
# It generates into a copy, so a check never changes the tree it checks.
set -euo pipefail
tools=$1
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
inputs=(go.mod go.sum hack)
for dir in api config/crd resview/pb; do
  [[ -d $dir ]] && inputs+=("$dir")
done
cp -r --parents "${inputs[@]}" "$copy"
hack/generate.sh "$tools" "$copy"

stale=0
for dir in api config/crd resview/pb; do
  [[ -d $dir || -d $copy/$dir ]] || continue
  diff -ruN "$dir" "$copy/$dir" || stale=1
done
if ((stale)); then
  echo "generate-check: the files above are stale; run 'make generate' and commit what it writes" >&2
  exit 1
fi
echo "generate-check: ok"

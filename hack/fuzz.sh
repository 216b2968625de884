#!/usr/bin/env bash
# Usage: hack/fuzz.sh TIME: runs each fuzz target of the product for TIME. A crasher is left in its testdata/fuzz.
set -euo pipefail
time=$1
cd "$(dirname "$0")/.."

found=0
while IFS=: read -r file target; do
  found=1
  echo "fuzz: $target in ${file%/*}"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./${file%/*}"
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' ':!e2e' ':!tools' | sed 's/:func /:/')
((found)) || { echo "fuzz: no target found" >&2; exit 1; }

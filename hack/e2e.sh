#!/usr/bin/env bash
# Usage: hack/e2e.sh E2E: runs the end-to-end module's tests; E2E is the rig's command. What needs no fleet goes first; then a
# flat fleet is started for all that run on one, and after it a fleet of a network for each member. A fleet that runs already
# is replaced. The tests of the second run also where some of the first fail.
set -euo pipefail
e2e=$(realpath "$1")
cd "$(dirname "$0")/../e2e"

# One package at a time, as a machine holds one fleet. That would compile one at a time as well, so vet goes first.
go vet ./...
mapfile -t plain < <(go list ./... | grep -Ev '/fleet$|/suite(/|$)')
go test -count=1 "${plain[@]}"

declare -A packages=([flat]="./fleet ./suite/flat" [gateways]="./suite/gateways")
failed=0
trap '"$e2e" down >/dev/null 2>&1 || true' EXIT
for topology in flat gateways; do
  "$e2e" up --topology "$topology"
  # shellcheck disable=SC2086 # It is a list.
  go test -v -count=1 -p 1 -timeout 45m ${packages[$topology]} || failed=1
  "$e2e" down || failed=1
done
exit "$failed"

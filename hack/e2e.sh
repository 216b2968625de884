#!/usr/bin/env bash
# Usage: hack/e2e.sh E2E: runs the end-to-end module's tests; E2E is the rig's command. What needs no fleet goes first; then a
# flat fleet is started, and after it one with a network for each member. A fleet that runs already is replaced. The tests on
# one run also where some on the other fail. The rig's own tests on a fleet are in make soak.
set -euo pipefail
e2e=$(realpath "$1")
cd "$(dirname "$0")/../e2e"

# One package at a time, as a machine holds one fleet. That would compile one at a time as well, so vet goes first.
go vet ./...
mapfile -t plain < <(go list ./... | grep -Ev '/fleet$|/suite(/|$)')
go test -count=1 "${plain[@]}"

failed=0
trap '"$e2e" down >/dev/null 2>&1 || true' EXIT
on() { # topology, arguments of go test
  local topology=$1
  shift
  "$e2e" up --topology "$topology"
  go test -v -count=1 -timeout 45m "$@" || failed=1
  "$e2e" down || failed=1
}
on flat ./suite/flat
on gateways ./suite/gateways
exit "$failed"

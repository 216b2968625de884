#!/usr/bin/env bash
# Usage: hack/e2e.sh E2E: runs the tests on fleets; E2E is the rig's command. A flat fleet is started, and after it one with a
# network for each member. A fleet that runs already is replaced. The tests on one run also where some on the other fail. The
# rig's own tests on a fleet are in make soak.
set -euo pipefail
e2e=$(realpath "$1")
cd "$(dirname "$0")/../e2e"

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

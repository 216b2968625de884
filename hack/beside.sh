#!/usr/bin/env bash
# Usage: hack/beside.sh MAKE BESIDE MAIN: makes two lists of targets at the same time and fails if one of them does. MAIN is told
# as it goes. BESIDE gets the processors when MAIN leaves them idle, and is told in one piece when it has ended; what is left of
# it when MAIN ends goes on as everything does. The tests on fleets mostly wait for proofs, so all others fit beside them.
set -euo pipefail
make=$1 beside=$2 main=$3

"$(dirname "$0")/need.sh" pgrep procps
told=$(mktemp)
# A session of its own, so that all of it can be found and ended.
# shellcheck disable=SC2086
setsid chrt --idle 0 "$make" $beside >"$told" 2>&1 &
pid=$!
trap 'kill -- "-$pid" 2>/dev/null || true; rm -f "$told"' EXIT

(
  # Told as soon as it is over: who watches need not wait for the fleets to hear of a failure.
  while kill -0 "$pid" 2>/dev/null; do sleep 1; done
  echo "beside: $beside, all of it:"
  cat "$told"
  echo "beside: $beside has ended"
) &
teller=$!

failed=0
# shellcheck disable=SC2086
"$make" $main || failed=1
for p in $(pgrep --session "$pid" || true); do
  chrt --all-tasks --other --pid 0 "$p" 2>/dev/null || true # It may have ended meanwhile.
done
wait "$pid" || failed=1
wait "$teller"
exit "$failed"

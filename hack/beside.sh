#!/usr/bin/env bash
# Usage: hack/beside.sh MAKE BESIDE MAIN: makes two lists of targets at the same time and fails if one of them does. MAIN is told
# as it goes. BESIDE gets the processors when nothing else wants them, and is told in one piece when it has ended; what made it
# fail is told once more at the end. The tests on fleets mostly wait for proofs, so all others fit beside them.
set -euo pipefail
make=$1 beside=$2 main=$3
command -v setsid >/dev/null || { echo "beside: setsid is missing: install util-linux"; exit 1; }
dir=$(mktemp -d)
told=$dir/told code=$dir/code

# A session of its own is also a scheduling group of its own, which has a priority of its own; within it, and where there are no
# such groups, the class SCHED_IDLE counts. One of both is enough, and neither is worth failing for.
# shellcheck disable=SC2016
setsid bash -c '
  echo 19 2>/dev/null >/proc/self/autogroup || true
  chrt --idle --pid 0 $$ 2>/dev/null || true
  told=$1 code=$2 make=$3
  shift 3
  ended=0
  "$make" "$@" >"$told" 2>&1 || ended=$?
  echo "$ended" >"$code.new" && mv "$code.new" "$code"
' beside "$told" "$code" "$make" $beside &
group=$! mainly="" teller=""

stop() {
  [[ -n $teller ]] && kill "$teller" 2>/dev/null || true
  # BESIDE has ended where there is a code, and its number may be another's by now.
  if [[ ! -e $code ]]; then
    kill -- "-$group" 2>/dev/null || true
    wait "$group" 2>/dev/null || true
    [[ ! -e $code && -e $told ]] && { echo "beside: $beside was stopped; it had told:"; cat "$told"; }
  fi
  rm -rf "$dir"
}
trap stop EXIT
# The whole of MAIN: a make that is killed alone leaves what it runs, which would meddle with the next fleet.
trap '[[ -n $mainly ]] && kill -- "-$mainly" 2>/dev/null && wait "$mainly"; exit 130' INT TERM HUP

(
  # Told as soon as it is over: who watches need not wait for the fleets to hear of a failure.
  until [[ -e $code ]]; do
    kill -0 "$group" 2>/dev/null || { sleep 1; [[ -e $code ]] || { echo killed >"$code" || exit 0; }; }
    sleep 1
  done
  echo "beside: $beside, all of it:"
  cat "$told" || true
  echo "beside: $beside has ended: $(<"$code")"
) &
teller=$!

failed=0
# shellcheck disable=SC2086
setsid "$make" $main &
mainly=$!
wait "$mainly" || failed=1
mainly=""
wait "$teller" || true
teller=""
if [[ ! -s $code ]]; then
  echo "beside: $beside did not tell how it ended: what it told could not be written to $dir"
  failed=1
elif [[ $(<"$code") != 0 ]]; then
  failed=1
  echo "beside: $beside failed; the whole is above:"
  grep -E '^(---|    ---|FAIL|panic:|make)|_test\.go:[0-9]+:|Error' "$told" | tail -n 40 || tail -n 40 "$told"
fi
exit "$failed"

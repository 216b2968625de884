#!/usr/bin/env bash
# Usage: hack/need.sh COMMAND [PACKAGE...]: installs COMMAND and the Debian packages it needs, if it is missing.
set -euo pipefail
command=$1
command -v "$command" >/dev/null && exit 0
if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "need: $command is missing; install it (Debian: apt-get install $*)" >&2
  exit 1
fi
echo "need: installing $*"
export DEBIAN_FRONTEND=noninteractive
# Others here install too, at the same time, and apt-get fails where another one is at work.
exec 9</var/lib/apt
flock 9
apt-get update -qq
apt-get install -qq -y --no-install-recommends "$@" >/dev/null

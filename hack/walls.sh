#!/usr/bin/env bash
# Usage: hack/walls.sh LINT: proves that the walls of .golangci.yml stand. It breaks each of them once, in a throw-away
# module of the same name, and fails when the linter lets one pass: a pattern that matches no file stops nothing.
set -euo pipefail
lint=$1
root=$(cd "$(dirname "$0")/.." && pwd)
module=$(mktemp -d)
trap 'rm -rf "$module"' EXIT
cd "$module"
cp "$root/.golangci.yml" .

header=$'// Copyright The Weir Authors.\n// SPDX-License-Identifier: Apache-2.0\n'

go_file() { # path, import, statement
  local dir=${1%/*}
  mkdir -p "$dir"
  local package=${dir##*/}
  printf '%s\n// Package %s breaks a wall.\npackage %s\n\nimport %s\n\nvar _ = %s\n' \
    "$header" "$package" "$package" "$2" "$3" >"$1"
}

stub() { # module, package below it
  mkdir -p "stub/$1/$2"
  [[ -f stub/$1/go.mod ]] || printf 'module %s\n\ngo 1.26.0\n' "$1" >"stub/$1/go.mod"
  printf 'package x\n\nvar X int\n' >"stub/$1/$2/x.go"
  grep -q "^replace $1 " go.mod || printf 'require %s v0.0.0\nreplace %s => ./stub/%s\n' "$1" "$1" "$1" >>go.mod
}

printf 'module github.com/weir-io/weir\n\ngo 1.26.0\n\n' >go.mod
stub k8s.io/client-go rest
stub k8s.io/client-go dynamic
stub sigs.k8s.io/controller-runtime pkg/client
stub example.com/other .

client='x "sigs.k8s.io/controller-runtime/pkg/client"'
rest='x "k8s.io/client-go/rest"'
# Each line: the file that breaks a wall, what it imports, what it uses.
go_file mesh/shift/wall.go '"time"' 'time.Now()'
go_file mesh/shift/other/wall.go 'x "example.com/other"' x.X
go_file mesh/istio/wall.go '"os"' 'os.Args'
go_file mesh/mcs/wall.go "$rest" x.X
go_file sched/wall.go '"math/rand/v2"' 'rand.Int()'
go_file sched/divide/wall.go '"os"' 'os.Args'
go_file resview/stream/wall.go "$client" x.X
go_file controllers/drain/wall.go 'x "k8s.io/client-go/dynamic"' x.X
go_file controllers/policy/wall.go '"github.com/weir-io/weir/controllers/shift"' shift.Free
go_file cmd/weir/wall.go '"github.com/weir-io/weir/mesh/mcs"' mcs.Free
# Doors that must stay open.
go_file controllers/member/door.go "$rest" x.X
go_file controllers/status/door.go "$client" x.X
go_file controllers/quota/door.go '"github.com/weir-io/weir/controllers/free"' free.Free
go_file mesh/prover/door.go '"time"' 'time.Now()'
for package in controllers/free controllers/shift mesh/mcs; do
  mkdir -p "$package"
  printf '%s\n// Package %s is imported.\npackage %s\n\n// Free is for others to use.\nvar Free int\n' \
    "$header" "${package##*/}" "${package##*/}" >"$package/free.go"
done

found=$("$lint" run --enable-only depguard,forbidigo --output.text.print-issued-lines=false \
  --output.text.path stdout --show-stats=false ./... 2>&1 || true)
failed=0
while IFS= read -r file; do
  hit=$(grep -c "^$file:" <<<"$found" || true)
  case $file in
    */wall.go) ((hit > 0)) || { echo "walls: nothing stops $file" >&2; failed=1; } ;;
    */door.go) ((hit == 0)) || { echo "walls: $file is stopped and must not be" >&2; failed=1; } ;;
  esac
done < <(find . -name wall.go -o -name door.go | sed 's|^\./||' | grep -v ^stub/)
if ((failed)); then
  echo "$found" >&2
  exit 1
fi
echo "walls: ok, every breach is stopped"

#!/usr/bin/env bash
# Usage: hack/bench-dns.sh [FLAG...]: what a DNS answer costs weir and CoreDNS, in one run; flags are those of dns/bench.
# CoreDNS is built once, with only the plugins that are compared; the rest of its modules are not weir's.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin/bench
CGO_ENABLED=0 go build -trimpath -o bin/bench/ ./cmd/weir
(cd dns/bench/coredns && CGO_ENABLED=0 nice go build -trimpath -o ../../../bin/bench/ .)
go run ./dns/bench "$@"

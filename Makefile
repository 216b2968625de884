# Everything a person or a machine does with this repository. `make` alone lists the targets.
# Needs Go 1.26.6 or later, make, python3 with pip, and root for whatever starts the rig; what else is missing is installed.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

# The demo and the rig.
TOPOLOGY ?= flat
MODE     ?= weir
KEEP     ?=
# Time spent on each fuzz target by `make fuzz`.
FUZZTIME ?= 30s

export GOTOOLCHAIN := local
GO ?= go

# Tools are modules of their own, so that their dependencies never meet the product's. A tool is built once for each
# content of its module and each version of Go, and kept outside the tree.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weir-tools
digest = $(shell cat $(1) | cat - <($(GO) env GOVERSION) | sha256sum | cut -c1-12)
GEN   := $(TOOLS)/gen-$(call digest,tools/gen/go.mod tools/gen/go.sum tools/gen/protoc/*.go)
LINT  := $(TOOLS)/lint-$(call digest,tools/lint/go.mod tools/lint/go.sum tools/lint/*.go)/lint

# Packages that the race detector runs on: the pure cores, and the resource view. What pulls in a controller runtime
# would be compiled a second time as a whole, and holds no locks of its own.
RACE := $(foreach dir,mesh sched dns resview,$(if $(wildcard $(dir)),./$(dir)/...))

##@ Build

.PHONY: build
build: ## Build weir and kubectl-weir into bin/.
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/...

.PHONY: generate
generate: $(GEN)/done ## Write deep copies, CRDs and protobuf code.
	@hack/generate.sh $(GEN)

$(GEN)/done:
	@echo "tools: building the generators (about a minute, once)"
	@mkdir -p $(@D)
	@cd tools/gen && $(GO) build -o $(@D)/ ./protoc tool
	@touch $@

$(LINT):
	@echo "tools: building the linter (two to six minutes, once for each version)"
	@mkdir -p $(@D)
	@cd tools/lint && $(GO) build -ldflags '-s -w' -o $@ .

##@ Check

.PHONY: test
test: generate-check lint ## Everything that must hold before a change lands. CI runs this.
	@hack/beside.sh "$(MAKE)" "unit race unit-e2e" e2e

.PHONY: generate-check
generate-check: $(GEN)/done ## Fail when generated files are not what the sources give.
	@hack/generate-check.sh $(GEN)

.PHONY: lint
lint: house lint-go ## House rules and linters.

.PHONY: house
house: ## Rules no linter knows: headers, file lengths, package documents, traceability.
	@cd tools/house && $(GO) test ./... && $(GO) run . -root ../..

.PHONY: lint-go
lint-go: $(LINT) ## golangci-lint on the product, its chart's tests, its tools and the end-to-end module.
	@hack/lint.sh $(LINT)

.PHONY: unit
unit: ## Tests of the product and of its chart, fuzz seeds among them.
	$(GO) test -shuffle=on -timeout 20m ./...
	@cd charts/weir/tests && $(GO) test -count=1 -shuffle=on ./... # no cache: it does not see the chart's files

.PHONY: unit-e2e
unit-e2e: ## Tests of the end-to-end module's parts that need no fleet (root: some make network namespaces).
	@cd e2e && $(GO) test -shuffle=on $$($(GO) list ./... | grep -Ev '/fleet$$|/suite/')

.PHONY: race
race: ## The pure packages and the resource view under the race detector.
	@hack/need.sh gcc libc6-dev
# Explorations, of all states or of many schedules, are one goroutine each; the detector would make them ten times slower and
# find nothing.
	$(if $(RACE),CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout 20m -skip 'Explore|NoSchedule|SomeSchedule' $(RACE),@echo "race: no package yet")

.PHONY: e2e
e2e: bin/e2e ## End-to-end tests on fleets of real clusters, one for each topology (root).
	@hack/e2e.sh bin/e2e

.PHONY: fuzz
fuzz: ## Each fuzz target for FUZZTIME.
	@hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: bench-dns bench-hub ## Benchmarks of the product (root: one of them starts an API server).
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-hub
bench-hub: bin/e2e ## What 1,000 divided workloads and 100 members' views cost a hub on a real API server (root; ends a fleet that runs).
	@bin/e2e bench

.PHONY: bench-dns
bench-dns: ## What a DNS answer costs weir, beside CoreDNS on the same names.
	@hack/bench-dns.sh

.PHONY: soak
soak: fuzz ## The long tail: deeper exploration, every step with every fault. Hours.
	$(GO) test -tags soak -timeout 6h -count=1 ./...
	cd e2e && $(GO) test -tags soak -timeout 12h -p 1 -count=1 ./...

##@ Fleet

.PHONY: rig
rig: bin/e2e ## Start a fleet and leave it running (TOPOLOGY=flat|gateways).
	@bin/e2e up --topology $(TOPOLOGY)

.PHONY: rig-down
rig-down: bin/e2e ## Stop the fleet and clean up after it.
	@bin/e2e down

.PHONY: audit
audit: bin/e2e ## Prove on the running fleet that its parts are what they claim to be.
	@bin/e2e audit

.PHONY: demo
demo: bin/e2e ## Drain a cluster under load (TOPOLOGY=flat|gateways MODE=weir|naive KEEP=1).
	@bin/e2e demo --topology $(TOPOLOGY) --mode $(MODE) $(if $(KEEP),--keep)

.PHONY: bin/e2e
bin/e2e:
	@mkdir -p bin
	@cd e2e && $(GO) build -o ../bin/e2e ./cmd/e2e

##@ Help

.PHONY: help
help: ## This list.
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

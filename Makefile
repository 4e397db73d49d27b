# `make` or `make help` lists what can be made.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

ARGS ?=                   # of `muster local` in `make run`
IF_CACHED ?=              # IF_CACHED=1: `make kube` builds no program of Kubernetes anew
FROM ?= HEAD^             # of `make upgrade-test`: a commit
PUSH ?=                   # of `make image`: REGISTRY/NAME:TAG
TEST_FLAGS ?=             # more flags of `go test`, in all targets that run tests
FUZZTIME ?= 10s           # of each fuzz target
BENCH ?= .                # which benchmarks

# Without symbols for debuggers a binary is a third smaller; stack traces and profiles need
# none. Flags of the compiler would compile all packages again, besides those of the tests.
small = -s -w

# One variant of each package serves builds, tests and analyzers, wherever the checkout lies; the
# race detector needs a second one.
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip -trimpath $(filter-out -trimpath,$(GOFLAGS)))

# `make lint` vets all packages and their tests, with more analyzers than `go test` runs.
go_test = go test -json -vet=off $(TEST_FLAGS) -timeout 15m
# A run of tests has a folder for temporary files of its own, by which what it left is found. Go's
# test cache remembers its name: it is the same in each run of a target in a checkout.
own_temp = TMPDIR="/tmp/muster-$$(cksum <<<'$(CURDIR) $@' | cut -c1-6)"; export TMPDIR; \
	if [ -e "$$TMPDIR.pid" ] && kill -0 "$$(cat "$$TMPDIR.pid")" 2>/dev/null; then echo "make $@ runs already in this checkout (process $$(cat "$$TMPDIR.pid"))"; exit 1; fi; \
	echo "$$$$" > "$$TMPDIR.pid"; rm -rf "$$TMPDIR"; mkdir -m 755 "$$TMPDIR"; trap 'rm -rf "$$TMPDIR" "$$TMPDIR.pid"' EXIT
# go_race needs cgo.
go_race = env CGO_ENABLED=1 $(go_test) -race -timeout 20m
# What failed is run again alone: by the same command, which is the argument.
count = go run ./internal/testcount -left "$$TMPDIR" -again "$(strip $(1))"

# Packages of the modules besides the root (go.work): the libraries, the demo game, the tools.
go_modules = ./sdk/session/... ./sdk/gameserver/... ./examples/arena/...
modules = $(go_modules) ./test/serversdk/... ./tools/... ./kubernetes/...
# The programs of a Kubernetes cluster, built from their modules (kubernetes/programs), and
# those of its nodes (kubernetes/programs and kubernetes/node).
kube_programs = go.etcd.io/etcd/server/v3=etcd $(foreach p,kube-apiserver kube-scheduler kube-controller-manager,k8s.io/kubernetes/cmd/$(p)=$(p))
kwok = sigs.k8s.io/kwok/cmd/kwok=kwok
# A program of Kubernetes says its version only if the linker is told it; Helm asks for it.
kube_version = -X k8s.io/component-base/version.gitVersion=$(shell cd kubernetes/programs && GOWORK=off go list -m -f '{{.Version}}' k8s.io/kubernetes)
# What readers of docs/kubernetes.md type.
kubectl = k8s.io/kubernetes/cmd/kubectl=kubectl
helm = helm.sh/helm/v3/cmd/helm=helm
kubelet_programs = $(foreach p,kubelet kube-proxy,k8s.io/kubernetes/cmd/$(p)=$(p))
node_programs = $(foreach p,containerd containerd-shim-runc-v2 ctr,github.com/containerd/containerd/v2/cmd/$(p)=node/$(p)) \
	$(foreach p,main/bridge main/loopback ipam/host-local meta/portmap,github.com/containernetworking/plugins/plugins/$(p)=node/$(notdir $(p)))
# What else a node's virtual machine has.
node_packages = linux-image-cloud-amd64,runc,iptables,nftables,conntrack,iproute2,kmod,ethtool
# Black-box tests that need nothing but Go belong to `make test`.
go_only = test/(aws|bare|conformance|crowds|gameserver|node|players|sdk|setup|terraform)$$
root_packages = $$(go list ./... | grep -v '/test/'; go list ./test/... | grep -E '/$(go_only)')
# Packages whose own code starts goroutines; not the programs, which only put others together.
race_packages = $$(git grep -lE '^\s*go [a-z]|\.Go\(func' -- '*.go' ':!*_test.go' ':!test' ':!tools' ':!app' ':!cmd' ':!kubernetes' ':!examples' ':!internal/*test/*' | xargs -n1 dirname | sort -u | sed 's|^|./|')
# A story for each door, through other people's clients: boto3 (control plane, uploads, agents),
# AWS's server SDKs, Server SDK 4, HTTP, AWS CLI, Chromium (console), Node.js (players).
stories = $(black_box) ./test/boto3 ./test/gamehttp ./test/legacygame ./test/serversdk/...; \
	$(black_box) -run '^Test(Story|Live)$$' ./test/awscli ./test/console; $(black_box) -run '^TestStories$$/^node$$' ./test/clients
# test/terraform is in both: it replays requests, and runs Terraform where that is installed.
# test/scenario takes longest: it begins first, so that others run beside it to its end.
e2e_packages = ./test/scenario ./test/terraform $$(go list ./test/... | grep -vE '/$(go_only)')

.PHONY: help
help: ## show this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1|\2/' | \
		while IFS='|' read -r name text; do printf '  %-17s %s\n' "$$name" "$$text"; done

# compiled is `go build` that counts what it compiles: on a fresh clone that takes minutes. What
# else it prints, such as errors and what it downloads, is shown as it is.
define compiled
	all="$$(go list -deps $(1) | wc -l)"; go build -v -ldflags '$(small)' -o $(2) $(1) 2>&1 | { n=0; while IFS= read -r line; do \
		if [[ ! "$$line" =~ ^[A-Za-z0-9._/~-]+$$ ]]; then echo "$$line" >&2; continue; fi; \
		n=$$((n + 1)); if [ -t 2 ]; then printf '\r%s: %d of %d packages compiled' $(2) $$n $$all >&2; elif [ $$((n % 100)) = 0 ]; then echo "$(2): $$n of $$all packages compiled" >&2; fi; \
		done; [ ! -t 2 ] || [ $$n = 0 ] || echo >&2; }
endef

# Static, as they are shipped: tests put them into containers.
.PHONY: build
build: ## build bin/muster and the demo game, bin/arena
	@$(call compiled,./cmd/muster,bin/muster)
	@$(call compiled,./examples/arena,bin/arena)

.PHONY: muster-kubernetes
muster-kubernetes: ## build bin/muster-kubernetes, which joins a Kubernetes cluster
	go build -ldflags '$(small)' -o bin/muster-kubernetes ./kubernetes/cmd/muster-kubernetes

.PHONY: release
release: ## build all programs in bin/release as they are shipped: static, without names of folders
	go build -ldflags '$(small)' -o bin/release/ ./cmd/muster ./examples/arena ./kubernetes/cmd/muster-kubernetes

# An image needs no container engine to be made. PUSH=registry.example/muster:TAG pushes it.
.PHONY: image
image: ## make the container image for amd64 and arm64: bin/image/muster.tar (PUSH=REGISTRY/NAME:TAG)
	for architecture in amd64 arm64; do GOARCH=$$architecture go build -ldflags '$(small)' -o bin/image/$$architecture/ ./cmd/muster ./kubernetes/cmd/muster-kubernetes; done
	go run ./tools/image -version "$$(git describe --tags --match 'v*' --always 2>/dev/null || echo dev)" -commit "$$(git rev-parse HEAD 2>/dev/null)" -created "$$(git log -1 --format=%cI 2>/dev/null)" -o bin/image/muster.tar $(if $(strip $(PUSH)),-push $(PUSH)) \
		$(foreach a,amd64 arm64,linux/$(a)=bin/image/$(a)/muster,bin/image/$(a)/muster-kubernetes)

# GoReleaser is built once, into the build cache. It puts programs into archives in the order in
# which they were ready: one at a time, the same archives come out each time.
.PHONY: snapshot
snapshot: ## build all files of a release in dist, publishing nothing, and try them
	@mkdir -p bin; cd tools/goreleaser && GOWORK=off go build -ldflags '$(small)' -o ../../bin/goreleaser github.com/goreleaser/goreleaser/v2
	bin/goreleaser release --snapshot --clean --parallelism 1 $(ARGS)
	$(MAKE) dist-test

# A new machine has Debian's smallest system, and what the guides need.
bin/machine.tar:
	@mkdir -p bin; if command -v mmdebstrap >/dev/null && [ "$$(id -u)" = 0 ]; then \
		mmdebstrap --quiet --format=tar --variant=minbase --components=main --include=python3,curl,ca-certificates bookworm $@.new "$${DEBIAN_MIRROR:-http://deb.debian.org/debian}" && mv $@.new $@; \
		else echo "mmdebstrap is missing, or you are not root: release files are not tried on new machines"; fi

.PHONY: dist-test
dist-test: bin/machine.tar ## try the files of a release in dist: on new machines, under systemd, in QEMU and Wine
	$(own_temp); [ ! -e bin/machine.tar ] || export MUSTER_MACHINE="$$PWD/bin/machine.tar"; cd dist; export MUSTER_DIST="$$PWD" MUSTER_DEB="$$(ls "$$PWD"/*_"$$(go env GOARCH)".deb)" \
		MUSTER_BIN="$$(ls "$$PWD"/muster_linux_"$$(go env GOARCH)"_*/muster)" ARENA_BIN="$$(ls "$$PWD"/arena_linux_"$$(go env GOARCH)"_*/arena)" \
		MUSTER_ARM64_BIN="$$(ls "$$PWD"/muster_linux_arm64_*/muster)" MUSTER_EXE="$$(ls "$$PWD"/muster_windows_amd64_*/muster.exe)" ARENA_EXE="$$(ls "$$PWD"/arena_windows_amd64_*/arena.exe)"; \
	cd ..; { $(go_test) -count=1 ./test/install ./test/foreign || true; $(go_test) -count=1 -run '^TestCompose$$' ./test/containers || true; } | $(call count,$(go_test))

.PHONY: foreign
foreign: build ## run the programs for arm64 and Windows in QEMU and Wine
	GOOS=linux GOARCH=arm64 go build -ldflags '$(small)' -o bin/foreign/ ./cmd/muster
	GOOS=windows GOARCH=amd64 go build -ldflags '$(small)' -o bin/foreign/ ./cmd/muster ./examples/arena
	$(own_temp); export MUSTER_BIN="$$PWD/bin/muster" ARENA_BIN="$$PWD/bin/arena" MUSTER_ARM64_BIN="$$PWD/bin/foreign/muster" \
		MUSTER_EXE="$$PWD/bin/foreign/muster.exe" ARENA_EXE="$$PWD/bin/foreign/arena.exe"; \
	{ $(go_test) -count=1 ./test/foreign || true; } | $(call count,$(go_test))

.PHONY: run
run: build ## build, then run Muster on this machine with a live demo game (ARGS=…)
	exec bin/muster local $(ARGS)

.PHONY: test
test: ## run every package's tests that need nothing but Go (what did not change comes from the cache)
	@$(own_temp); { $(go_test) $(root_packages) $(go_modules) || true; } | $(call count,$(go_test))

.PHONY: check
check: ## what CI runs after make test: lint, race, stories
	@.ci/steps lint race stories

.PHONY: everything
everything: ## all tests that exist, most of an afternoon: before an issue is closed
	@.ci/packages everything
	@export MUSTER_TEST_POSTGRES="$${MUSTER_TEST_POSTGRES:-start}"; .ci/steps test lint race-all e2e kube kubelet snapshot foreign upgrade-test fuzz

.PHONY: race
race: ## run the packages with goroutines of their own under the race detector
	@$(own_temp); { $(go_race) $(race_packages) || true; } | $(call count,$(go_race))

.PHONY: race-all
race-all: ## run all of make test under the race detector
	@$(own_temp); { $(go_race) $(root_packages) $(go_modules) || true; } | $(call count,$(go_race))

# Go does not see whether the programs that the black-box tests start have changed: none of
# their results comes from the cache (-count=1).
programs = export MUSTER_BIN="$$PWD/bin/muster" ARENA_BIN="$$PWD/bin/arena"
black_box = $(go_test) -count=1 -parallel 4

.PHONY: stories
stories: build ## run the black-box story of each door: the built binary through other people's clients
	@$(own_temp); $(programs); { set +e; $(stories); true; } | $(call count,$(go_test))

.PHONY: e2e
e2e: build ## run all black-box tests: kills, containers, browsers, guides, virtual machines
	@$(own_temp); $(programs); { $(black_box) $(e2e_packages) ./test/serversdk/... ./tools/... || true; } | $(call count,$(go_test))

# build_programs builds programs, each PACKAGE=NAME, in a module of the folder kubernetes. A
# program is in the build cache if nothing but its package main, which the flags are part of,
# needs to be compiled.
define build_programs
	@mkdir -p bin/kube/node; export GOWORK=off; for program in $(1); do \
		package="$${program%=*}" name="$${program#*=}"; \
		if [ -n "$(IF_CACHED)" ] && { ! todo="$$(cd kubernetes/$(2) && $(4) GOPROXY=off go build -n "$$package" 2>&1)" || [ "$$(grep -c '/compile ' <<<"$$todo")" -gt 1 ]; }; then \
			echo "$$name is not in the build cache: tests that need it are skipped; make $@ builds it"; rm -f "bin/kube/$$name"; \
		else echo "building $$name"; (cd kubernetes/$(2) && $(4) go build -ldflags '$(small) $(3)' -o "../../bin/kube/$$name" "$$package"); fi; done
endef

.PHONY: kube
kube: build muster-kubernetes ## run the tests of muster-kubernetes and the Helm chart on a real Kubernetes (IF_CACHED=1: with what the build cache has)
	$(call build_programs,$(kube_programs) $(kwok) $(kubectl),programs,$(kube_version))
	$(call build_programs,$(helm),charttest)
	@export GOWORK=off; if [ -x bin/kube/kwok ]; then stages="$$(cd kubernetes/programs && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage"; \
	for stage in pod/fast/pod-{ready,complete,delete} node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease; do echo ---; cat "$$stages/$$stage.yaml"; done > bin/kube/kwok.yaml; fi
	$(own_temp); export MUSTER_BIN="$$PWD/bin/muster" ARENA_BIN="$$PWD/bin/arena" MUSTER_KUBERNETES_BIN="$$PWD/bin/muster-kubernetes"; \
	if [ -x bin/kube/etcd ] && [ -x bin/kube/kube-apiserver ]; then export MUSTER_KUBE_BIN="$$PWD/bin/kube"; fi; \
	{ $(go_test) -count=1 -p 1 ./kubernetes/... || true; cd kubernetes/charttest && GOWORK=off $(go_test) -count=1 ./... || true; } | $(call count,$(go_test))

# The kubelet is static, so that the machine's libraries need not be this one's.
.PHONY: kubelet
kubelet: release ## run the Helm chart on a real node, in a virtual machine (IF_CACHED=1: with what the build cache has)
	$(call build_programs,$(kube_programs),programs,$(kube_version))
	$(call build_programs,$(kubelet_programs),programs,$(kube_version) -linkmode=external -extldflags=-static,CGO_ENABLED=1)
	$(call build_programs,$(node_programs),node)
	@[ -e bin/kube/machine/disk ] || [ ! -x bin/kube/kubelet ] || kubernetes/node/machine.sh bin/kube/machine $(node_packages)
	$(own_temp); if [ -x bin/kube/kubelet ] && [ -x bin/kube/node/containerd ]; then export MUSTER_KUBELET_BIN="$$PWD/bin/kube" MUSTER_RELEASE_BIN="$$PWD/bin/release"; fi; \
	{ cd kubernetes/charttest && GOWORK=off $(go_test) -count=1 -timeout 60m -run '^TestKubelet$$' . || true; } | $(call count,$(go_test))

.PHONY: upgrade-test
upgrade-test: build ## upgrade servers of an earlier commit to this one, and go back (FROM=COMMIT, one that stores what this one does)
	@[ -n "$(strip $(FROM))" ] || { echo "say from which commit: make upgrade-test FROM=COMMIT"; exit 1; }
	$(own_temp); trap 'git worktree remove --force "$$TMPDIR/earlier"; rm -rf "$$TMPDIR" "$$TMPDIR.pid"' EXIT; git worktree add --quiet --detach "$$TMPDIR/earlier" "$(strip $(FROM))"; \
	(cd "$$TMPDIR/earlier" && go build -ldflags '$(small)' -o "$$TMPDIR/muster-earlier" ./cmd/muster); \
	MUSTER_BIN="$$PWD/bin/muster" MUSTER_EARLIER_BIN="$$TMPDIR/muster-earlier" MUSTER_TEST_POSTGRES="$${MUSTER_TEST_POSTGRES:-start}" go test -count=1 -v -run '^TestUpgradeFrom' ./test/scenario

.PHONY: crowds
crowds: ## play 61 rule sets of the kinds that games have with crowds of players (ARGS=…)
	go run ./test/crowds $(ARGS)

.PHONY: bench
bench: ## run the benchmarks (BENCH=regexp)
	go test -run '^$$' -bench '$(strip $(BENCH))' -benchmem $$(grep -rlE '^func Benchmark' --include='*_test.go' . | xargs -n1 dirname | sort -u)

.PHONY: fuzz
fuzz: ## run every fuzz target for a short while (FUZZTIME=10s)
	grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | sed -E 's/^(.*)\/[^/]*:func (.*)/\1 \2/' | sort -u | \
		while read -r dir target; do echo "$$dir $$target"; (cd "$$dir" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) .); done

.PHONY: generate
generate: ## write the generated files anew
	go generate ./...
	$(MAKE) typescript

.PHONY: docs
docs: ## write the documents as a web site to bin/docs; every server has it at /docs
	@go run ./docs/site/write

.PHONY: pictures
pictures: build ## make the pictures of the README and the tutorial anew, of the real console (needs chromium, python3)
	MUSTER_BIN="$$PWD/bin/muster" ARENA_BIN="$$PWD/bin/arena" go test -count=1 -v -run '^TestPictures' ./test/guides -pictures

.PHONY: typescript
typescript: ## bundle the TypeScript library (clients/typescript/dist), without Node.js
	go run ./internal/gen/openapi -lang typescript
	go run ./tools/typescript

.PHONY: newest
newest: ## print what AWS's newest published client has that Muster's API has not (needs npm)
	@command -v npm >/dev/null || { echo "npm is not installed: install Node.js to fetch the client"; exit 1; }
	$(own_temp); npm pack --silent --pack-destination "$$TMPDIR" @aws-sdk/client-gamelift >/dev/null && \
		tar -xzf "$$TMPDIR"/*.tgz -C "$$TMPDIR" && go run ./internal/gen -newest "$$TMPDIR/package"

.PHONY: sbom
sbom: build ## write bin/muster.cdx.json, what bin/muster is made of (CycloneDX)
	go run ./internal/sbom bin/muster > bin/muster.cdx.json

.PHONY: lint
lint: ## check formatting, vet and staticcheck
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "gofmt is needed on:"; echo "$$unformatted"; exit 1; fi
	go vet ./... $(modules)
	for system in darwin windows; do GOOS=$$system go vet ./agent/... ./hosts/protocol; done
	go tool staticcheck ./... $(modules)

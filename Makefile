# Every command of the project. `make serve` and `make test` do everything: both work from a fresh
# clone and are quick when nothing has changed. Only CMakeLists.txt describes the native code.
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# Arguments for `serval serve`, the suites of `make test` and the benchmark.
ARGS ?=
FUZZ_SECONDS ?= 600

# Every command runs on the same version of Node: see scripts/packaging/node.sh.
ifneq ($(filter-out help clean distclean,$(or $(MAKECMDGOALS),help)),)
NODE_FOLDER := $(shell scripts/packaging/node.sh)
ifeq ($(NODE_FOLDER),)
$(error Node.js is missing)
endif
export PATH := $(NODE_FOLDER):$(PATH)
endif

.PHONY: help
help: ## print this list
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 24

.PHONY: serve
serve: build models ## install, build and serve ./examples/models (ARGS="--http-port 9000 ...")
	@exec node bin/serval.mjs serve examples/models $(ARGS)

.PHONY: test
test: test-tools build models ## run every suite (ARGS="unit e2e" for some of them)
	@node test/run/suites.mjs $(ARGS)

.PHONY: build build-native build-ts
build: build-native build-ts ## build the native addon and the TypeScript
build-native: install-deps
	@node scripts/build-native.mjs
build-ts: install-deps
	@node scripts/build-ts.mjs

.PHONY: build-baseline arm64 test-arm64
build-baseline: install-deps ## build the addon for x86-64 CPUs without AVX2
	@node scripts/build-native.mjs baseline
arm64: install-deps ## compile the native code for arm64 on x86-64, into build/arm64
	@node scripts/arm64/build.mjs
test-arm64: build-ts models ## for arm64, by qemu: native tests, the server, the packages
	@node test/arm64/run.mjs

.PHONY: install-deps build-tools test-tools bench-tools
install-deps: build-tools ## install missing npm packages of package-lock.json
	@node scripts/ensure-deps.mjs
build-tools:
	@scripts/ensure-tools.sh build
test-tools:
	@scripts/ensure-tools.sh build test
bench-tools:
	@scripts/ensure-tools.sh build bench

.PHONY: goldens
goldens: test-tools install-deps ## pack other systems' results for the tests
	@node node_modules/typescript/bin/tsc -p test/tsconfig.json
	@node test/goldens/pack.mjs

.PHONY: models
models: install-deps ## make missing example models
	@test -n "$$(find examples/models -name '*.onnx' -print -quit 2>/dev/null)" || \
	  node scripts/make-examples.mjs

.PHONY: format
format: test-tools install-deps ## format C++ (clang-format), TypeScript and JavaScript (Biome)
	@node scripts/format.mjs

.PHONY: t
t: install-deps ## run one test: T=path[:name], TypeScript, C++ or Python
	@node test/run/one.mjs '$(T)'

.PHONY: tidy test-unit test-native test-boundary test-conformance test-e2e
.PHONY: test-package test-quickstart test-gpu
tidy: ## check the style rules
	@node test/tidy/tidy.mjs
test-unit: build ## unit tests of TypeScript and scripts
	@node test/run/suites.mjs unit
test-native: test-tools install-deps ## plain, ASan+UBSan, TSan (ARGS="plain --filter json")
	@node test/native/run.mjs $(ARGS)
test-boundary: build models ## every native call in every state
	@node test/run/suites.mjs boundary
test-conformance: test-tools build models ## exact request, exact response
	@node test/run/suites.mjs conformance
test-e2e: test-tools build models ## the official clients, unmodified
	@node test/run/suites.mjs e2e
test-package: build models ## make every artefact, install each elsewhere, send it requests
	@node test/run/suites.mjs package
test-quickstart: test-tools build ## run the quick starts of the guides in an empty folder
	@node test/run/suites.mjs quickstart
test-gpu: build models ## on a GPU: responses, memory, processes (exit status 2 without one)
	@node test/gpu/run.mjs $(ARGS)

.PHONY: coverage
coverage: test-tools install-deps ## line coverage of native and unit tests (ARGS="native" or "ts")
	@node test/run/coverage.mjs $(ARGS)

.PHONY: fuzz
fuzz: test-tools install-deps ## run every fuzz target for FUZZ_SECONDS=600 each
	@node test/fuzz/run.mjs --seconds $(FUZZ_SECONDS) $(ARGS)

.PHONY: soak
soak: build models ## mixed load for minutes: no crash, no leak (ARGS="--minutes 1")
	@node test/soak/run.mjs $(ARGS)

.PHONY: attacks
attacks: build models ## attacks on memory at full size (ARGS="--memory-limit 1G --only grpc-bomb")
	@node_modules/.bin/tsc -p test/tsconfig.json
	@node build/test/test/attacks/run.js $(ARGS)

.PHONY: bench bench-gpu
bench: bench-tools build models ## measure against references (ARGS for bench/run.mjs)
	@node bench/run.mjs $(ARGS)
bench-gpu: bench-tools build ## compare with ONNX Runtime on a GPU (exit status 2 without one)
	@node bench/gpu/run.mjs $(ARGS)

.PHONY: package package-arm64
package: build build-baseline models ## write the artefacts of a release to out/ (ARGS="deb")
	@node scripts/package.mjs $(ARGS)
package-arm64: build-ts arm64 models ## add the artefacts for arm64 to out/, on x86-64
	@node scripts/package.mjs --cpu arm64 $(ARGS)

.PHONY: image test-image
image: build models ## build the container image by buildah, as root, into build/image
	@node scripts/package.mjs tarball
	@scripts/packaging/image.sh
test-image: build models ## build the container image and run it (root, buildah)
	@node test/image/run.mjs

.PHONY: site test-site
site: build models ## build the documentation as a site, with search, into build/site
	@node scripts/site/build.mjs
test-site: build models ## build the site in strict mode and check it
	@node test/run/suite.mjs test/site

.PHONY: generate
generate: ## generate the code that both languages share from proto/ (needs flatc)
	@scripts/ensure-tools.sh test
	@node proto/generate.mjs
	@node proto/generate-wire.mjs

.PHONY: clean distclean
clean: ## remove build results
	@rm -rf build dist out
distclean: clean ## remove build results and npm packages
	@rm -rf node_modules

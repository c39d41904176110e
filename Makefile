# One command each; `make help` lists them. The work is in scripts/ and CMakePresets.json.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 300
LANES ?=
BENCH ?=
export JOBS

.DEFAULT_GOAL := help
.PHONY: help run test bench compare lint fuzz coverage coverage-windows package package-test docs clean format

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## install what is missing, build, explain and run a command in a box
	@scripts/install-deps run
	@scripts/build-static
	@scripts/demo build/linux-static/bin/sbx

test: ## every test lane, then one table (LANES="linux-debug lint" picks some)
	@scripts/install-deps test lint fuzz macos package
	@scripts/test $(LANES)

bench: ## sbx beside the peers that can be had, into docs/bench (SBX_BENCH_QUICK=1: a try)
	@scripts/install-deps bench
	@test "$(SBX_BENCH_OFFLINE)" = 1 || scripts/install-deps bench-peers || echo "bench: peers are missing" >&2
	@scripts/build-static --target sbx sbx-pool-driver sbx-pool-client
	@cmake --preset linux-release >/dev/null
	@cmake --build --preset linux-release -j $(JOBS)
	@python3 -B scripts/bench build/linux-release --sbx build/linux-static/bin/sbx $(BENCH)

compare: ## the attacks of the fence suite from inside other sandboxes, into docs/COMPARE.md (root)
	@scripts/install-deps test bench-peers
	@scripts/build-static
	@cmake --preset linux-debug >/dev/null
	@cmake --build --preset linux-debug -j $(JOBS) --target sbx-probe sbx-sequence
	@python3 -B tests/fence/compare.py --sbx build/linux-static/bin/sbx --probe build/linux-debug/bin/sbx-probe \
	    --peers build/bench-peers --write docs/COMPARE.md

lint: ## clang-tidy, cppcheck, clang-format, shellcheck, and the lint tests
	@scripts/install-deps lint test
	@scripts/lint
	@cmake --preset linux-debug >/dev/null
	@cmake --build --preset linux-debug -j $(JOBS)
	@ctest --preset linux-debug -L lint

fuzz: ## every fuzz target for FUZZ_SECONDS (300)
	@scripts/install-deps fuzz
	@cmake --preset linux-fuzz -DSBX_FUZZ_SECONDS=$(FUZZ_SECONDS) >/dev/null
	@cmake --build --preset linux-fuzz -j $(JOBS) --target fuzz-targets
	@ctest --preset linux-fuzz -j $(JOBS)

coverage: ## line and branch coverage of the unit and CLI tests, in build/coverage
	@scripts/install-deps coverage
	@scripts/coverage

coverage-windows: ## line coverage of win/ by the tests under Wine, in build/coverage-windows
	@scripts/install-deps test coverage
	@scripts/coverage-windows

package: ## what is released for Linux and Windows, in build/packages
	@scripts/install-deps run test package
	@scripts/package

package-test: ## build it, build it again elsewhere, install it into a clean Debian (the lane package)
	@scripts/install-deps run test package
	@scripts/test package

docs: ## write the generated parts of the documents and the man pages
	@scripts/install-deps test
	@cmake --preset linux-debug >/dev/null
	@cmake --build --preset linux-debug -j $(JOBS) --target docgen
	@python3 -B tests/docs/generated.py . build/linux-debug/bin/docgen --write

format: ## let clang-format rewrite the sources
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format -i

clean: ## remove everything that was built (the caches outside the tree stay)
	rm -rf build

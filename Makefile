# litelab: `make run` measures the cost of SQLite on this disk, `make test` checks everything that a change requires.
# Both install what they need on a machine that has the language toolchains.

LITELAB := target/release/litelab
# Scripts run in other folders, too. A variable that came from the environment would be exported with this path.
unexport LITELAB
# Rust runners that link another SQLite than the engine, each with its own lock file.
OWN_LOCK := duroxide sqlx tokio
# Cargo runners that `cargo programs` does not build: those in OWN_LOCK, one whose dependencies need other features, and one
# whose dependency is made when it is built.
CARGO_RUNNERS := $(OWN_LOCK) duroxide-onewriter duroxide-patched
# Runners in other languages.
OTHER_RUNNERS := go node python
# Number of stages that run in parallel: most of them wait for timers, servers or a single compiler. Compilation runs
# under `nice`, so as not to delay tests that depend on the clock.
JOBS ?= 6

.PHONY: build run test test-all lint check-format fmt bench clean stages
.PHONY: stage-packages stage-core stage-cargo-runners stage-language-runners stage-format stage-tests stage-unit stage-conformance \
    stage-rust-runners stage-other-runners stage-docs stage-action stage-watch stage-page stage-install stage-rare

# The command with its built-in runner; needs no other toolchain and is compiled without servers.
run:
	cargo build --release --locked -p litelab
	$(LITELAB) run first-look

# `cargo programs` (.cargo/config.toml): the command with servers, and the runners that its tests run.
build:
	cargo programs
	$(LITELAB) runners build $(CARGO_RUNNERS) $(OTHER_RUNNERS)

# Every stage writes target/stages/NAME.log. The table of all stages, with the skipped tests and the reasons, comes
# last. A failed stage does not stop the others.
test:
	rm -rf target/stages
	-$(MAKE) --no-print-directory --keep-going --jobs $(JOBS) stages
	scripts/summary

# In addition the rarest and slowest tests: a hundred kills of each kind, every timing check five times.
test-all:
	rm -rf target/stages
	-$(MAKE) --no-print-directory --keep-going --jobs $(JOBS) stages stage-rare
	scripts/summary

stages: stage-format stage-unit stage-conformance stage-rust-runners stage-other-runners stage-docs stage-action stage-watch \
    stage-page stage-install

# Packages that apt can install: the servers that litelab compares with, Chromium, perf.
stage-packages:
	@scripts/stage packages scripts/install-packages

stage-core:
	@scripts/stage core nice cargo programs

# Both at the same time: cargo builds its runners one after the other.
stage-cargo-runners: stage-core
	@scripts/stage cargo-runners nice $(LITELAB) runners build $(CARGO_RUNNERS)

stage-language-runners: stage-core
	@scripts/stage language-runners nice $(LITELAB) runners build $(OTHER_RUNNERS)

stage-format:
	@scripts/stage format $(MAKE) --no-print-directory check-format

# Compiled with lints, and with the dependencies of the programs and runners.
stage-tests: stage-cargo-runners
	@scripts/stage tests nice scripts/test-rust --no-run

stage-unit: stage-tests stage-packages stage-language-runners
	@scripts/stage unit scripts/test-rust

stage-conformance: stage-cargo-runners stage-language-runners stage-packages
	@scripts/stage conformance $(LITELAB) runners check

stage-rust-runners: stage-cargo-runners
	@scripts/stage rust-runners scripts/test-runners rust

stage-other-runners: stage-language-runners stage-packages
	@scripts/stage other-runners scripts/test-runners other

stage-docs: stage-cargo-runners stage-language-runners stage-packages
	@scripts/stage docs scripts/test-docs

stage-action: stage-core
	@scripts/stage action scripts/test-action

stage-watch: stage-core
	@scripts/stage watch scripts/test-watch

stage-page: stage-tests stage-core stage-packages
	@scripts/stage page scripts/test-page

# Every package, from the built command, and each of them in an empty folder.
stage-install: stage-core
	@scripts/stage install nice sh -c 'LITELAB=$(LITELAB) scripts/package && scripts/test-install'

stage-rare: stage-unit
	@scripts/stage rare scripts/test-rare

fmt:
	cargo fmt --all
	for runner in $(OWN_LOCK); do (cd runners/$$runner && cargo fmt) || exit 1; done

# `make test` runs the same lints of Rust, because clippy-driver compiles the tests.
lint: check-format
	scripts/lint-words
	scripts/lint-docs
	cargo clippy --workspace --all-targets --locked --features servers -- -D warnings
	scripts/test-runners rust --no-run

check-format:
	cargo fmt --all --check
	for runner in $(OWN_LOCK); do (cd runners/$$runner && cargo fmt --check) || exit 1; done

# Ratios to hand-written loops, measured in pairs.
bench: build
	cargo build --release --locked -p litelab-bench --examples
	cargo run --release --locked -p litelab-bench

clean:
	cargo clean
	rm -rf litelab-runs

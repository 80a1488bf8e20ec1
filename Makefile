# litelab: `make run` shows what SQLite costs on this disk, `make test` checks everything a change needs. Both set up what
# they need on a machine that has the language toolchains.

LITELAB := target/release/litelab
# Rust runners that link another SQLite than the core, each with a lock file of its own.
OWN_LOCK := duroxide sqlx tokio
# Runners that `cargo programs` does not build: those, one whose dependencies ask for other features, and other toolchains.
RUNNERS := $(OWN_LOCK) duroxide-onewriter go node python
# Stages that run at the same time: most of them wait, for timers, servers or a single compiler. What compiles is `nice` to
# what reads a clock.
JOBS ?= 6

.PHONY: build run test test-all lint check-format fmt bench clean stages
.PHONY: stage-packages stage-core stage-runners stage-format stage-tests stage-unit stage-conformance \
    stage-rust-runners stage-other-runners stage-docs stage-action stage-page stage-install stage-rare

# The command with its default runner; no other toolchain is needed, and no server is compiled in.
run:
	cargo build --release --locked -p litelab
	$(LITELAB) run first-look

# `cargo programs` (.cargo/config.toml): the command with servers, and what its tests run besides.
build:
	cargo programs
	$(LITELAB) runners build $(RUNNERS)

# Every stage writes target/stages/NAME.log; the table of them, with what was skipped and why, comes last. A stage that
# fails does not keep the others from running.
test:
	rm -rf target/stages
	-$(MAKE) --no-print-directory --keep-going --jobs $(JOBS) stages
	scripts/summary

# And the rarest and slowest: a hundred kills of each kind, every timing check five times.
test-all:
	rm -rf target/stages
	-$(MAKE) --no-print-directory --keep-going --jobs $(JOBS) stages stage-rare
	scripts/summary

stages: stage-format stage-unit stage-conformance stage-rust-runners stage-other-runners stage-docs stage-action stage-page \
    stage-install

# What apt can install: the servers that litelab compares with, Chromium, perf.
stage-packages:
	@scripts/stage packages scripts/install-packages

stage-core:
	@scripts/stage core nice cargo programs

stage-runners: stage-core
	@scripts/stage runners nice $(LITELAB) runners build $(RUNNERS)

stage-format:
	@scripts/stage format $(MAKE) --no-print-directory check-format

# Compiled, and linted as they are, while the runners are built.
stage-tests:
	@scripts/stage tests nice scripts/test-rust --no-run

stage-unit: stage-tests stage-packages stage-runners
	@scripts/stage unit scripts/test-rust

stage-conformance: stage-runners stage-packages
	@scripts/stage conformance $(LITELAB) runners check

stage-rust-runners: stage-runners
	@scripts/stage rust-runners scripts/test-runners rust

stage-other-runners: stage-runners stage-packages
	@scripts/stage other-runners scripts/test-runners other

stage-docs: stage-runners stage-packages
	@scripts/stage docs scripts/test-docs

stage-action: stage-core
	@scripts/stage action scripts/test-action

stage-page: stage-core stage-packages
	@scripts/stage page scripts/test-page

stage-install: stage-core
	@scripts/stage install nice scripts/test-packages

stage-rare: stage-unit
	@scripts/stage rare scripts/test-rare

fmt:
	cargo fmt --all
	for runner in $(OWN_LOCK); do (cd runners/$$runner && cargo fmt) || exit 1; done

# What `make test` does, too: it lints what it compiles.
lint: check-format
	cargo clippy --workspace --all-targets --locked --features servers -- -D warnings
	scripts/test-runners rust --no-run

check-format:
	cargo fmt --all --check
	for runner in $(OWN_LOCK); do (cd runners/$$runner && cargo fmt --check) || exit 1; done

# Ratios against hand-written loops, measured side by side.
bench: build
	cargo build --release --locked -p litelab-bench --examples
	cargo run --release --locked -p litelab-bench

clean:
	cargo clean
	rm -rf litelab-runs

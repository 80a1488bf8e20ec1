# litelab: `make run` shows what SQLite costs on this disk, `make test` checks everything. Both set up what they need
# on a machine that has the language toolchains.

LITELAB := target/release/litelab

.PHONY: build run test lint packages unit runners bench clean

build:
	cargo build --release --locked -p litelab
	$(LITELAB) runners build

# A runner that cannot be built here must not keep the others from running; its arms are skipped, and that is said.
run:
	cargo build --release --locked -p litelab
	-$(LITELAB) runners build
	$(LITELAB) run first-look

test: packages build lint unit runners
	scripts/test-docs
	scripts/test-action
	scripts/test-page

# The servers that litelab compares with; where they cannot be installed, their tests are skipped.
packages:
	scripts/servers-packages

lint: build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	scripts/lint-runners

# Properties are tried with the same cases each time, so that what was green stays green; to look for others:
# PROPTEST_RNG_SEED=2 PROPTEST_CASES=5000 make unit
unit:
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} cargo test --workspace --locked

# The suite that admits a runner, as it was built, then each runner's own tests, which build it without optimising links.
runners: build
	$(LITELAB) runners check
	scripts/test-runners

# Ratios against hand-written loops, measured side by side.
bench: build
	cargo run --release --locked -p litelab-bench

clean:
	cargo clean
	rm -rf litelab-runs

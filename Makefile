# Everything starts here: `make run` opens the lab, `make test` checks it all. Both set up what they need first.
SETUP := python3 assets/setup/setup.py

# Opens the lab before all is built: see there.
BEHIND := python3 assets/setup/behind.py target/release/build.log

.PHONY: run test setup check lab programs build dist bench gpu-proof pictures recordings lint audit install

# The first time, the screen opens as soon as it can. What runs need is built meanwhile, and a run that comes too early waits for it.
# PATH as it is: a python3 of pyenv changes it, and then cargo would build again what looks for Python on it.
ifeq ($(wildcard target/release/hvd-train),)
run: check
	@$(BEHIND) 2>/dev/null || $(MAKE) --no-print-directory --jobs=2 setup lab
	@$(BEHIND) env PATH="$$PATH" $(MAKE) --no-print-directory programs -- env PATH="$$PATH" target/release/hvd-lab
else
run: build
	@target/release/hvd-lab
endif

setup: check
	@$(SETUP)

# Says at once what this machine lacks, rather than after minutes.
check:
	@command -v python3 >/dev/null || { echo "setup: python3 is not on PATH. Install Python 3.8 or newer."; exit 1; }
	@$(SETUP) --check

# Without make's flags, for its two jobs are not cargo's.
lab:
	@MAKEFLAGS= cargo build --release --locked --bin hvd-lab

# Two builds, so that the lab never links libtorch or MPI. The lab needs nothing of the set-up, which downloads meanwhile.
build: check
	@$(MAKE) --no-print-directory --jobs=2 setup lab
	@$(MAKE) --no-print-directory programs

programs:
	@cargo build --release --locked

# A wheel for pip, and a tarball with the libraries for machines without: target/dist/.
# Built for those who run it: some ten minutes longer than `make build`.
dist: setup
	@cargo build --profile shipped --locked
	@python3 assets/setup/dist.py

# One table of ratios; BENCH='--help' shows what it can be asked for. On a quiet machine: three rounds take half an hour.
bench: build
	@cargo build --release --locked --example bench-allreduce --example bench-images --example bench-convolutions
	@cargo bench --locked --bench ratios -- $(BENCH)

# On a machine with a GPU, 25 minutes at most: see docs/gpus.md. TREE=/path names a built tree, and then nothing is built.
gpu-proof: $(if $(TREE),,build)
	@python3 assets/gpu_proof/gpu_proof.py --tree "$(or $(TREE),.)" $(GPU_PROOF)

# The pictures in the README, of the real program at its own recording; and one of each state, with made-up figures, to look at.
pictures:
	HVD_LAB_PICTURES=write cargo test --locked --test lab pictures_of_the_readme
	HVD_LAB_PICTURES=write cargo test --locked -p hvd-lab --lib pictures_of_every_state
	@echo "every state: target/pictures/index.html"

# The two runs of `hvd-lab demo` with the default settings, and the pictures of them. Only a quiet machine gives fair figures.
DEMO := HVD_LAB_HOME=target/demo target/release/hvd-lab
recordings: build
	@rm -rf target/demo
	@$(DEMO) run --np 1 --steps none --name "one rank, no step"
	@$(DEMO) run --np 2 --steps 1-10 --name "two ranks, all ten steps"
	@! $(DEMO) runs | grep '^\*' || { echo "recordings: nothing was recorded. Try again when the machine is quiet."; exit 1; }
	@$(DEMO) record 1 --anonymous --force --out assets/recordings/np-1-no-steps.hvdrun
	@$(DEMO) record 2 --anonymous --force --out assets/recordings/np-2-all-steps.hvdrun
	@$(MAKE) --no-print-directory pictures

lint: setup
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --workspace --lib

# Not part of the tests: the tool takes minutes to install. deny.toml says what is accepted.
audit:
	@command -v cargo-deny >/dev/null || { echo "audit: cargo-deny is not installed. Run \`cargo install --locked cargo-deny\`, then this again."; exit 1; }
	cargo deny --locked check licenses sources

# What Python loads is built before; the programs that the tests run are built with them. Most tests wait most of the time, and those
# that train take turns: four at once, even on two cores.
test: lint
	cargo build --locked -p hvd-lab-python
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores > 4 ? cores : 4)))} cargo test --locked

install: setup
	cargo install --locked --path src/lab
	cargo install --locked --path src/ranks --force
	cargo build --release --locked -p hvd-lab-python
	install -m 755 target/release/libhvd_lab_python.$(if $(filter Darwin,$(shell uname)),dylib,so) "$$(dirname "$$(command -v hvd-train)")"

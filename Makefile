# make demo        two virtual Sparks: deployed, deployed again, asserted (no Spark at hand, no root once installed)
# make test        the fast tests, then the main job on the virtual pair: a quarter of an hour at most
# make test-lab    the other tests that CI runs, most of them on the virtual pair
# make test-fast   no virtual machines, two to seven minutes
# make faults      every fault and every promise on the virtual pair, and docs/faults.md anew (hours under emulation)
# make mutants     dangerous lines broken one at a time, each found by a fast test
# make mutate      the modules that guard a change broken everywhere, a score for each, and docs/faults.md anew (hours)
# make coverage    which branches the fast tests take
# make bench       sparkrig beside Ansible, stock pyinfra and the floor, and docs/performance.md anew (40 minutes)
# make venv        the virtual environment alone
# make lint        ruff, mypy, import-linter, shellcheck, words of the prose, links of the site
# make site        the pages as a site, in build/site

# the tests start hundreds of processes, and each would compile the project anew
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# a third of the fast tests' time is waiting
WORKERS = $(shell expr $$(nproc) + 1)
OTHERS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sparkrig/benchmarks

.PHONY: help demo test test-lab test-fast faults mutants mutate coverage bench lint site venv docs lock packages clean
.DEFAULT_GOAL := help

help:
	@sed -n '/^# /s/^# //p' Makefile

# pip and apt mostly wait, each for its own downloads
demo:
	@$(MAKE) --no-print-directory --jobs=2 $(READY) packages
	@$(BIN)/python -m lab.demo

test: test-fast packages
	@$(BIN)/pytest -m main tests/lab

test-lab: $(READY) packages
	@scripts/packages systemctl:systemd unshare:util-linux nsenter:util-linux
	@$(BIN)/python -m lab down # idle guests take a quarter of two cores under emulation; they resume in seconds
	@$(BIN)/pytest --numprocesses=$(WORKERS) --dist worksteal -m "slow and not exhaustive" tests/unit tests/plan
	@$(BIN)/pytest -m "not exhaustive and not main" tests/ray tests/lab tests/faults

# what was seen is kept whether it held or not; tests/faults/seen.json is in git
faults: $(READY) packages
	@$(BIN)/pytest --record-faults -m "fault or promise or ray or exhaustive" tests/unit tests/plan tests/ray tests/lab tests/faults; \
	code=$$?; $(BIN)/python -m docs.make && exit $$code

# Ansible and mitogen live in an environment of their own, never in the product's
bench: $(READY) packages $(OTHERS)/.ready
	@$(BIN)/python -m benchmarks

$(OTHERS)/.ready: benchmarks/requirements.lock scripts/venv
	@mkdir -p $(dir $(OTHERS))
	@scripts/venv $(PYTHON) $(OTHERS) benchmarks/requirements.lock
	@touch $@

test-fast: $(READY)
	@scripts/packages ssh:openssh-client sshd:openssh-server visudo:sudo gpg:gpg systemd-analyze:systemd nft:nftables
	@$(BIN)/pytest --numprocesses=$(WORKERS) --dist worksteal -m "not slow" tests/unit tests/plan

mutants: $(READY)
	@$(BIN)/python -m tests.mutations; code=$$?; $(BIN)/python -m docs.make && exit $$code

# MODULES="gid trust" mutates these alone; a run that was broken off goes on where it was (build/mutate)
mutate: $(if $(MODULES),$(READY),mutants)
	@$(BIN)/python -m tests.mutations.mutate $(MODULES); code=$$?; $(BIN)/python -m docs.make && exit $$code

# three tests fail under it: they look at what a new process has loaded
coverage: $(READY)
	@rm -f .coverage .coverage.*
	-@$(BIN)/coverage run -m pytest --numprocesses=$(WORKERS) --dist worksteal -m "not slow" tests/unit tests/plan
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered

venv: $(READY)

lint: $(READY)
	@scripts/packages shellcheck
	@shellcheck scripts/packages scripts/prometheus scripts/venv templates/90-sparkrig-gid templates/serving/*.sh .ci/run \
	  lab/guest/build/switch/init lab/guest/build/switch/make.sh
	@find -H templates/programs -name '*.sh' -exec shellcheck -x -P SCRIPTDIR {} +
	@$(BIN)/python -c 'from sparkrig.network import gid; print("#!/bin/sh", gid.COMMAND)' | shellcheck -
	@$(BIN)/hadolint Containerfile
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin --exclude '^sparkrig/templates/' sparkrig # those programs run on a Spark
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.budgets
	@$(BIN)/python -m scripts.prose
	@$(BIN)/python -m properdocs build --strict --quiet

# what loads from elsewhere, and each link to a page or a heading that is not there, ends it
site: $(READY)
	@$(BIN)/python -m properdocs build --strict --quiet
	@echo build/site/index.html

# docs/settings.md, docs/faults.md and parts of others are made from the code itself
docs: $(READY)
	@$(BIN)/python -m docs.make

$(READY): requirements.lock pyproject.toml scripts/venv
	@scripts/venv $(PYTHON) $(VENV)
	@touch $@

packages:
	@scripts/packages

lock:
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes --python-version 3.11 -o requirements.lock

clean:
	rm -rf $(VENV)

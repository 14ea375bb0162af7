# Everything a person types here. `make` alone lists it. Needs only make, git and Python 3.11 or later.
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV ?= $(firstword $(wildcard $(BIN)/uv) uv)
ITEMS ?= 10000

.PHONY: help setup demo test lint format bench property fuzz soak lock clean

help: ## List what can be made
	@echo "Instant Recall. Type make and one of:"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "The first one sets up $(VENV) by itself. Choose another Python with: make setup PYTHON=python3.12"

setup: $(READY) ## Only set up: a virtual environment with the locked dependencies

demo: $(READY) ## See it work on a small set of real files (30 seconds)
	@$(BIN)/instant-recall demo

test: $(READY) ## Run every test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: $(READY) ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## Put the code in its one format, and mend what can be mended by machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Measure speed (ITEMS=10000)
	$(BIN)/instant-recall bench --items $(ITEMS)
	$(BIN)/python -m pytest -m bench $(ARGS) || test $$? -eq 5

property: $(READY) ## Many random examples, for longer than `make test` gives them
	$(BIN)/python -m pytest -m property $(ARGS) || test $$? -eq 5

fuzz: $(READY) ## Thousands of wrong requests to a real server, for longer than `make test` sends them
	$(BIN)/python -m pytest -m fuzz --timeout 3600 -s $(ARGS) || test $$? -eq 5

soak: $(READY) ## The tests that run for minutes
	$(BIN)/python -m pytest -m soak --timeout 3600 $(ARGS) || test $$? -eq 5

lock: ## Choose the newest allowed version of every dependency anew (needs uv)
	@command -v $(UV) >/dev/null || { echo "uv is needed for this: pipx install uv" >&2; exit 1; }
	@{ echo "# Every dependency with its hash, for all platforms. Made by 'make lock' from pyproject.toml; do not edit."; \
	  $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev --extra eval \
	    --no-emit-index-url --no-emit-find-links --no-header --upgrade pyproject.toml; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock

clean: ## Remove all that make has made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed. Install it, or name it: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up $(VENV) with the locked dependencies. This happens once and takes about a minute."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python's venv module does not work here. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

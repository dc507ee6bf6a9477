# Two commands matter: `make demo` and `make test`. Each sets up what it needs on a machine that has Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check lint types layers torture bench contract clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

demo: $(READY)  ## remember a sample month of conversations and answer from it
	$(BIN)/holdfast demo

test: $(READY)  ## every fast test
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)  ## dependencies point down only
	$(BIN)/lint-imports --no-cache

check: lint types layers test  ## what CI runs

torture: $(READY)  ## 200 kills, 8 processes, 200 erases: minutes, not seconds
	$(BIN)/python -m pytest -m long tests/torture tests/upkeep

bench: $(READY)  ## the figures of docs/performance.md
	$(BIN)/holdfast bench speed --records 100000 --json speed.json

contract: $(READY)  ## write contract/ anew from the typed definitions
	$(BIN)/python -m holdfast.contract contract

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build dist

# Two commands do everything: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint fmt render mutants fuzz conformance clean

demo: $(READY)
	$(BIN)/gemmgen render specs/v8_persistent.toml
	$(BIN)/gemmgen test generated/v8_persistent.py

test: lint
	$(BIN)/gemmgen render --all --check
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/gemmgen fmt --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/gemmgen fmt

render: $(READY)
	$(BIN)/gemmgen render --all

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[run,dev]'
	@touch $@

clean:
	rm -rf $(VENV)

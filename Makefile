# Two commands do everything: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TABLES := --into README.md --into docs/ladders.md --into docs/ladder_tirx.md

.PHONY: help demo test lint fmt render tables conformance mutants fuzz bench-render bench-emulator clean

help:
	@echo "make demo    prove one kernel: render a spec, compile it, run it in the emulator"
	@echo "make test    everything that CI runs"
	@echo "make lint    the quick half of it: format, lint, types, imports, specs, stale files"
	@echo "make fmt     format Python files and specs"
	@echo "make render  write generated/ anew from specs/ and templates/"
	@echo "make tables  prove every kernel anew, and bring the README's tables up to date"
	@echo "make conformance     run kernels that others wrote in the emulator, under every timing policy"
	@echo "make fuzz            draw specs until told to stop: each is refused by name, or equals torch"
	@echo "make mutants         break every rung in every known way: the table of what found it"
	@echo "make bench-render    how long it takes to render a spec, and to render and compile the ladder"
	@echo "make bench-emulator  how many warp instructions a second the emulator runs"
	@echo "make clean   remove the environment"

demo: $(READY)
	$(BIN)/gemmgen render specs/v8_persistent.toml
	$(BIN)/gemmgen test generated/v8_persistent.py

test: lint
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/gemmgen check --all
	$(BIN)/gemmgen fmt --check
	$(BIN)/gemmgen render --all --check

mutants: $(READY)
	PYTHONPATH=tests $(BIN)/python -m mutants

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/gemmgen fmt

render: $(READY)
	$(BIN)/gemmgen render --all
	$(BIN)/gemmgen ladder $(TABLES)

tables: $(READY)
	$(BIN)/gemmgen test generated --json docs/records/emulator.json
	$(BIN)/gemmgen ladder $(TABLES)

conformance: $(READY)
	PYTHONPATH=tests $(BIN)/python -m conformance $(if $(PAGE),--write $(PAGE))

fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m fuzz $(if $(SEED),--seed $(SEED))

bench-render: $(READY)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.render

bench-emulator: $(READY)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.emulator

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "gemmgen needs Python 3.11 or newer, this is %d.%d: try make PYTHON=python3.12" % sys.version_info[:2])'
	@echo "making the environment in $(VENV): CuTe DSL and torch are a few GiB, this takes minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[run,dev,conformance,dask,plot]'
	$(BIN)/python -m compileall -q gemmgen
	@touch $@

clean:
	rm -rf $(VENV)

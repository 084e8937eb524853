# `make demo` and `make test` set everything up by themselves: an environment in .venv, the native
# libraries, the dependencies. PY=python3 uses an interpreter that has all of it already.
PYTHON ?= python3
VENV ?= .venv
STAMP := $(VENV)/.installed
NATIVE := $(shell find src/pyptx/native -name '*.cpp' -o -name '*.cc' -o -name '*.h' -o -name CMakeLists.txt)

ifdef PY
READY :=
else
PY := $(VENV)/bin/python
READY := $(STAMP)
endif

.PHONY: demo test lint test-sanitize gpu-test bench sweep goldens clean

demo: $(READY)
	$(PY) -m pyptx demo

test: lint
	$(PY) -m pytest -n 2 --dist loadfile -m "not gpu and not sweep"

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m pyright --pythonpath $(PY)
	$(dir $(PY))lint-imports --cache-dir .import_linter_cache

gpu-test: $(READY)
	$(PY) -m pytest -m gpu tests/gpu

bench: $(READY)
	$(PY) benchmarks/run.py

sweep: $(READY)
	$(PY) -m pytest -n 2 -m sweep

goldens: $(READY)
	$(PY) -m pytest tests/golden --snapshot-update

$(STAMP): pyproject.toml $(NATIVE)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis

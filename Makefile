# `make demo` and `make test` need nothing but Python (3.11 or newer) and make: both build .venv themselves.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: help demo test test-slow bench bench-quick docs lint clean

help:
	@echo "make demo         set up, then search, train and judge a model on the graph that ships with the package"
	@echo "make test         set up, then lint, types and tests"
	@echo "make test-slow    the tests that need minutes"
	@echo "make bench        the benchmarks (they use the graphs in ERAS_DATA where that is set)"
	@echo "make bench-quick  in minutes: has something become slower than benchmarks/baseline.json?"
	@echo "make docs         build the documentation into site/"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "eras needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv

.venv/.core: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing eras into .venv (about a minute the first time) ..."
	$(PIP) -e '.[fast]'
	@touch $@

.venv/.dev: .venv/.core
	$(PIP) -e '.[dev]'
	@touch $@

demo: .venv/.core
	.venv/bin/eras fit umls --out demo-run --overwrite
	.venv/bin/eras predict demo-run --head virus --relation causes -k 5
	@echo "The model is in demo-run; its card, with all figures, is demo-run/README.md"

lint: .venv/.dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

test: lint
	.venv/bin/pytest -n 2

test-slow: .venv/.dev
	.venv/bin/pytest -m slow

bench: .venv/.core
	.venv/bin/python -m benchmarks

bench-quick: .venv/.core
	.venv/bin/python -m benchmarks.quick

docs: .venv/bin/python
	$(PIP) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

clean:
	rm -rf .venv benchmarks/.peers site demo-run build dist

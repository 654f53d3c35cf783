# `make demo` and `make test` do all their own set-up, in .venv.

PYTHON := $(shell for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
# By uv if it can be had.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(1)

# Folder with the labelled sets of docs/quality.md.
NEARDUP_DATA ?= ../shared/data

# The oldest Python that is supported, if it is here.
OLDEST := $(shell for python in python3.10 $(HOME)/.pyenv/versions/3.10.*/bin/python $(PYTHON); do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$python && break; done)
# What is run with the oldest release of every dependency.
SMOKE := tests/plugin/test_settings.py tests/plugin/test_failures.py tests/plugin/test_items.py tests/index/test_check.py \
	tests/index/test_exactness.py tests/index/test_conformance.py tests/test_detector.py tests/matching/test_sites.py \
	tests/extraction/test_libraries.py
# Tests start hundreds of processes: whatever the environment says, the first keeps what it has compiled for the others.
export PYTHONDONTWRITEBYTECODE :=
# Some tests wait, so there are more processes than processors; a file's tests stay together, since they share servers.
# tests/conftest.py says which files come first.
SPREAD = --dist loadfile --no-loadscope-reorder --numprocesses $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 2)')
# What measures how long something takes.
ALONE := tests/promises/test_event_loop.py

.PHONY: demo demo-cluster demo-spark test test-all test-oldest coverage browser quality bench torture lint types docs dist sbom ci clean

demo: $(VENV)/base
	$(BIN)/python example_project/demo.py $(ARGS)

# Two crawlers that share their requests and their index, on a Redis server that is started for it.
demo-cluster: $(VENV)/cluster
	$(BIN)/python example_project/cluster.py $(ARGS)

# WARC and WET of that network, on a Spark of a master and two workers that are started for it.
demo-spark: $(VENV)/spark $(VENV)/warc
	$(BIN)/python example_project/spark_audit.py

# What a contributor runs all day.
test: $(VENV)/test
	$(BIN)/python -m pytest $(SPREAD) -m 'not slow' --hypothesis-profile quick $(ARGS)

# With kills, bombs, many processes, the browser, Spark, the notebook, libraries for corpora. What measures times runs alone, at the end.
test-all: $(VENV)/test $(VENV)/spark $(VENV)/notebook $(VENV)/beside $(VENV)/corpora browser
	$(BIN)/python -m pytest $(SPREAD) --ignore $(ALONE) $(ARGS)
	$(BIN)/python -m pytest $(ALONE) $(ARGS)

# How much of the package the tests run, in processes that they start, too (pyproject.toml). It is printed; nothing fails by it.
coverage: $(VENV)/test browser
	$(BIN)/python -m pytest $(SPREAD) --ignore $(ALONE) --cov scrapy_neardup \
		--cov-report term:skip-covered $(ARGS)

# A smoke of plugin and index with the lowest release of every dependency that pyproject.toml allows: a floor that is too low shows here.
test-oldest: $(VENV)-oldest/done
	$(VENV)-oldest/bin/python -m pytest $(SPREAD) $(SMOKE) -m 'not slow' --hypothesis-profile quick $(ARGS)

# The report of an audit is tested in a real one.
browser: $(VENV)/test
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v $$name >/dev/null && exit; done; $(BIN)/python -m playwright install chromium

quality: $(VENV)/test
	$(BIN)/python benchmarks/quality.py --data $(NEARDUP_DATA) --write docs/quality.md $(ARGS)

# ARGS=--quick, the default, takes some 4 minutes; ARGS=--full some 20. The machine has to be idle.
bench: $(VENV)/bench
	$(BIN)/python benchmarks/run.py --data $(NEARDUP_DATA) --write docs/performance.md $(ARGS)

# It takes 10 minutes; ARGS='--minutes 300 --write docs/reliability.md' goes on, and puts its table into that page.
torture: $(VENV)/test
	$(BIN)/python -m torture $(ARGS)

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy
	$(BIN)/mypy --package torture
	MYPYPATH=example_project $(BIN)/mypy example_project/demo.py example_project/cluster.py example_project/spark_audit.py

# The documentation as a site, in docs/_build; a broken link between its pages fails.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo 'Open docs/_build/README.html.'

# Wheel and source distribution, and what is wrong with them.
dist: $(VENV)/release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

# What an installation holds, as a bill of materials in build/sbom.json.
sbom: dist
	rm -rf build/installed
	$(PYTHON) -m venv build/installed
	build/installed/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-file build/sbom.json build/installed/bin/python

ci:
	.ci/run

clean:
	rm -rf $(VENV) $(VENV)-oldest docs/_build dist build example_project/out .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One stamp for each set of extras of pyproject.toml, and one for none. A set that holds others makes their stamps, too.
HOLDS_dev := test base
HOLDS_test := base cluster
HOLDS_cluster := base
HOLDS_bench := base
HOLDS_docs := base
HOLDS_release := base

$(VENV)/base: pyproject.toml | $(VENV)/bin/python
	@echo 'Setting up $(VENV): this takes about a minute, once.'
	@$(call install,--editable .)
	@touch $@

$(VENV)/%: pyproject.toml | $(VENV)/bin/python
	@echo 'Setting up $(VENV) for make $(MAKECMDGOALS): this takes a minute or two, once.'
	@$(call install,--editable '.[$*]')
	@touch $@ $(HOLDS_$*:%=$(VENV)/%)

$(VENV)-oldest/done: pyproject.toml
	@echo 'Setting up $(VENV)-oldest: this takes a minute or two, once.'
	@$(OLDEST) -m venv $(VENV)-oldest
	@$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(VENV)-oldest/bin/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct --editable '.[test]'
	@$(VENV)-oldest/bin/python -c 'import platform; from importlib.metadata import version as v; print("oldest:", platform.python_version(), *(f"{name} {v(name)}" for name in ("scrapy", "numpy", "tldextract", "trafilatura", "lmdb", "mmh3")))'
	@touch $@

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo 'Python 3.10 or newer is needed: install it, or name it with make PYTHON=/path/to/python.'; exit 1; }
	@$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV) || { rm -rf $(VENV); \
		echo 'A virtual environment cannot be made: install the venv module (Debian, Ubuntu: apt install python3-venv).'; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv || true

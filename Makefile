# Needs Python 3.11 or newer and make; everything else goes into .venv. A C++ compiler is used where there is one.
SHELL := bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Two workers: the tests of the engine start threads of their own.
WORKERS ?= 2
PYTEST_ARGS ?=

.PHONY: demo test lint native sanitize bench bench-scale clean
.DELETE_ON_ERROR:

demo: $(VENV)/base.stamp $(VENV)/native.stamp
	$(BIN)/python examples/demo.py

# The coverage gate reads the data that pytest wrote; pytest's closing line is printed again, so that it ends the output.
test: $(VENV)/dev.stamp $(VENV)/native.stamp
	@mkdir -p build
	@set -o pipefail; $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report= $(PYTEST_ARGS) | tee build/pytest.log
	$(BIN)/coverage report --fail-under=95
	@tail -n 1 build/pytest.log

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks

# Makes files of 2 GB in a temporary directory, and measures memory and rows per second on them.
bench-scale: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.scale

# The native kernels, beside their wrappers.
native:
	$(PYTHON) native/compile.py

# The tests of the kernels with a library that stops at the first wrong address or undefined operation.
sanitize: $(VENV)/dev.stamp
	cmake -S native -B build/sanitize -DSUFFICE_SANITIZE=ON -DSUFFICE_LIBRARIES=$(CURDIR)/build/sanitize/lib > /dev/null
	cmake --build build/sanitize --parallel $(WORKERS)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	    SUFFICE_NATIVE=$(CURDIR)/build/sanitize/lib $(BIN)/python -m pytest -q tests/kernels

clean:
	rm -rf $(VENV) build dist src/suffice/kernels/lib .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "suffice needs Python 3.11 or newer: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

# A stamp holds the requirements that it was made from, and pip runs only when they change: an installed set needs no
# network, whatever happens to the time stamps or to the settings of the tools.
REQUIREMENTS = $(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); print(p["build-system"], p["project"])'
CURRENT = { [ -f $@ ] && $(REQUIREMENTS) | cmp -s - $@; }
INSTALL = $(CURRENT) || $(PIP) install --quiet --editable
STAMP = $(REQUIREMENTS) > $@

$(VENV)/base.stamp: pyproject.toml | $(BIN)/python
	@$(INSTALL) '.[plot,app]'
	@$(STAMP)

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	@$(INSTALL) '.[dev]'
	@$(STAMP) && cp $@ $(VENV)/base.stamp

# An installation compiles the kernels; this is for sources that changed since.
$(VENV)/native.stamp: $(wildcard native/*.cpp native/*.h) native/CMakeLists.txt | $(VENV)/base.stamp
	@$(BIN)/python native/compile.py
	@touch $@

# One by one: a peer that has no wheel here is skipped, not fatal.
PEERS = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")'

$(VENV)/bench.stamp: pyproject.toml $(VENV)/base.stamp
	@$(CURRENT) || $(PEERS) | while read -r peer; do \
	    $(PIP) install --quiet "$$peer" || echo "bench: $$peer cannot be installed here; it is skipped"; \
	done
	@$(STAMP)

# Everything that can be done with this repository; `make help` lists it.
# `make demo` and `make test` need only Python 3.11+: they install or ask for what else is missing (tools/setup.sh).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

# The first interpreter that is new enough; PYTHON=... overrides it.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$name; exit; fi; \
	done; echo python3)
export PYTHON

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 60
SOAK_MINUTES ?= 10
BENCH_ARGS ?=
MICRO_ARGS ?=
FIGURES ?=

# The clean-clone test compiles the same sources elsewhere: relative paths let ccache recognise them.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

# Environments are keyed by what pyproject.toml asks for: a changed file makes a new stamp, and pip runs again.
settings_hash := $(shell cksum pyproject.toml tools/requirements.py 2>/dev/null | cksum | cut -d' ' -f1)
base_stamp := $(VENV)/.base-$(settings_hash)
dev_stamp := $(VENV)/.dev-$(settings_hash)
installed_stamp := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

cpp_sources := $(shell find cpp third_party -type f \( -name '*.cc' -o -name '*.h' -o -name '*.cmake' -o -name CMakeLists.txt \) 2>/dev/null)
python_sources := $(shell find python -type f \( -name '*.py' -o -name '*.pyi' -o -name py.typed \) 2>/dev/null)
format_sources = $(shell find cpp tests/cpp bench -type f \( -name '*.cc' -o -name '*.h' \) -not -path '*/.*' 2>/dev/null)

.PHONY: help demo test test-cpp test-python test-spark test-spark-faults lint format bench bench-peers bench-spark micro figures asan asan-python tsan fuzz soak prove-order \
	wheel stubs dev venv install build java clean

help:  ## this list
	@sed -n 's/^\([a-z][a-z-]*\)[a-z ]*:.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# --- run ----------------------------------------------------------------------------------------------------------
demo: $(installed_stamp)  ## build, then join two streams for about a minute and show the result
	@$(BIN)/watersmeet demo

test: $(dev_stamp) test-cpp test-python test-spark  ## build, then pass everything: C++ tests, Python tests, Spark tests

test-cpp:  ## the C++ tests alone (GoogleTest, with the core's debug checks)
	@tools/setup.sh build test bench
	@cmake --preset test >/dev/null
	@cmake --build --preset test -j $(JOBS)
	@ctest --preset test -j $(JOBS) --progress

test-python: $(dev_stamp) $(installed_stamp)  ## the Python tests alone, against the installed package
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

test-spark: $(dev_stamp) $(installed_stamp)  ## the Spark tests alone: one session, so one process
	@tools/setup.sh java
	@$(BIN)/python -m pytest tests/spark $(PYTEST_ARGS)

test-spark-faults: $(dev_stamp) $(installed_stamp)  ## the fault tests alone, with more than twenty kills
	@tools/setup.sh java
	@WATERSMEET_FAULTS=1 $(BIN)/python -m pytest tests/spark/test_faults.py $(PYTEST_ARGS)

bench: $(dev_stamp) $(installed_stamp)  ## the scenarios against their peers: a table and bench/results/latest.json
	@tools/setup.sh build
	@$(BIN)/python bench/run.py $(BENCH_ARGS)

bench-peers: $(dev_stamp) java  ## peers that need an environment of their own (Flink, Pathway)
	@$(BIN)/python -m bench.peers

bench-spark: $(dev_stamp) $(installed_stamp) java  ## the Spark joins against Spark's own (a dozen parts of up to four minutes; BENCH_ARGS="equal:native-hdfs --again")
	@$(BIN)/python -m bench.spark $(BENCH_ARGS)

micro:  ## C++ microbenchmarks
	@tools/setup.sh build bench
	@cmake --preset micro >/dev/null
	@cmake --build --preset micro -j $(JOBS)
	@build/micro/bench/micro/watersmeet_micro $(MICRO_ARGS)

figures: $(dev_stamp) $(installed_stamp)  ## the papers' figures with their claims (FIGURES=kang for some of them)
	@$(BIN)/watersmeet figures $(FIGURES)

# sanitized <preset>: configure, build and run the C++ tests with that preset.
define sanitized
tools/setup.sh build test
@cmake --preset $(1) >/dev/null
@cmake --build --preset $(1) -j $(JOBS)
@ctest --preset $(1) -j $(JOBS)
endef

# --- look for mistakes --------------------------------------------------------------------------------------------
lint: $(dev_stamp)  ## ruff, mypy, clang-format, clang-tidy; nothing is changed
	@tools/setup.sh build lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@if [ -n "$(format_sources)" ]; then clang-format --dry-run -Werror $(format_sources); fi
	@cmake --preset tidy >/dev/null
	@cmake --build --preset tidy -j $(JOBS)

format: $(dev_stamp)  ## let ruff and clang-format rewrite the sources
	@tools/setup.sh lint
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@if [ -n "$(format_sources)" ]; then clang-format -i $(format_sources); fi

asan:  ## the C++ tests under AddressSanitizer and UBSan
	@$(call sanitized,asan)

tsan:  ## the C++ tests under ThreadSanitizer
	@$(call sanitized,tsan)

asan-python: $(dev_stamp)  ## the Python join tests over a core built with AddressSanitizer and UBSan
	@tools/setup.sh build
	@BIN=$(BIN) JOBS=$(JOBS) tools/asan_python.sh $(PYTEST_ARGS)

fuzz:  ## every libFuzzer target for FUZZ_SECONDS (60)
	@tools/setup.sh build fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz.sh $(FUZZ_SECONDS)

prove-order: $(dev_stamp) $(installed_stamp)  ## ordered joins over random arrivals: 10^7 results, none lost, repeated or misplaced
	@$(BIN)/python tools/prove_order.py

soak: $(dev_stamp) $(installed_stamp)  ## SOAK_MINUTES (10) under a memory limit at 5 x overload, then a tenth of it exact and level
	@$(BIN)/python tools/soak.py --minutes $(SOAK_MINUTES)
	@$(BIN)/python tools/soak.py --minutes $$(( ($(SOAK_MINUTES) + 9) / 10 )) --exact

# --- build --------------------------------------------------------------------------------------------------------
wheel: $(dev_stamp)  ## a wheel in dist/
	@$(PIP) wheel --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist/*.whl

dev: $(base_stamp)  ## the compiled module beside the sources, for PYTHONPATH=python
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS)

stubs: $(dev_stamp) $(installed_stamp)  ## write python/watersmeet/_core/_native.pyi from the compiled module
	@$(BIN)/python tools/stubs.py

venv: $(dev_stamp)  ## the project's environment with everything for development

install build: $(installed_stamp)  ## build the package and install it into the project's environment

java:  ## Java, for Spark and Flink
	@tools/setup.sh java

clean:  ## remove everything that was built
	rm -rf build dist $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find python -name '*.so' -delete

$(base_stamp):
	@tools/setup.sh build
	@test -x $(BIN)/python || { echo "setup: making $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); }
	@echo "setup: installing what the package needs"
	@$(BIN)/python tools/requirements.py | $(PIP) install -r /dev/stdin
	@rm -f $(VENV)/.base-*
	@touch $@

$(dev_stamp): $(base_stamp)
	@echo "setup: installing what development needs"
	@$(BIN)/python tools/requirements.py dev | $(PIP) install -r /dev/stdin
	@mkdir -p $(VENV)/wheelhouse
	@echo pytest | cat - <($(BIN)/python tools/requirements.py) | $(PIP) download -d $(VENV)/wheelhouse -r /dev/stdin
	@rm -f $(VENV)/.dev-*
	@touch $@

# Without isolation the build folder lives on, so only what changed is compiled again.
$(installed_stamp): $(base_stamp) $(cpp_sources) $(python_sources) CMakeLists.txt pyproject.toml README.md
	@echo "build: compiling and installing watersmeet into $(VENV)"
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PIP) install --no-build-isolation --no-deps --force-reinstall .
	@touch $@

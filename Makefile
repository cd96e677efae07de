# `make` lists what there is. Every target does its own set-up.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
CI_FLAGS := -q --color=no -p no:cacheprovider --durations=15 --durations-min=3
# The installed copy is a farm of links that does not see new files, so their list is a prerequisite.
SOURCES := $(shell find pravega_lab engine widgets -name '*.py' -o -name '*.js' -o -name '*.css' | sort)
FILES := $(shell printf '%s\n' $(SOURCES) | cksum | cut -d' ' -f1)
STAMP := $(VENV)/.installed-$(FILES)

.PHONY: help setup system demo picture test lint types unit spark notebooks browser wheel lab binder binder-steps pins bench clean
help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip "setuptools>=75" wheel

$(STAMP): pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install -q -e ".[dev]" --config-settings editable_mode=strict
	@rm -f $(VENV)/.installed-*; touch $@

setup: $(STAMP)  ## .venv with pravega-lab and everything that developing needs

system:
	@tests/system.sh

demo: setup  ## the main job: 336,776 flights, a stream that splits, Spark killed and restarted, exactly once
	$(VENV)/bin/pravega-lab demo $(DEMO_FLAGS)

picture: setup  ## the picture in README, from a run of the demo around the storm
	$(VENV)/bin/pravega-lab demo --events 6099 --picture docs/img/at-work.svg

# The layout is kept apart from the user's own, and set again only when ours changes.
lab: export JUPYTERLAB_WORKSPACES_DIR := $(abspath $(VENV))/share/pravega-lab/workspaces
lab: setup $(VENV)/.layout  ## JupyterLab, the first tutorial on the left, its views on the right
	$(VENV)/bin/jupyter lab --ServerApp.root_dir=$(CURDIR) $(LAB_FLAGS)

$(VENV)/.layout: binder/workspace.json binder/overrides.json binder/postBuild | $(STAMP)
	@PATH="$(abspath $(VENV))/bin:$$PATH" NB_PYTHON_PREFIX=$(abspath $(VENV)) binder/postBuild
	@touch $@

test: setup system lint types unit spark notebooks browser wheel binder-steps  ## every check
	@echo "make test: all checks passed"

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: setup
	$(VENV)/bin/mypy

# Three at a time on two cores: many tests wait.
unit: setup  ## fast checks: protocol, store, client, simulation, conformance
	$(PY) -m pytest $(CI_FLAGS) -n 3 --dist worksteal -m "not spark and not browser"

spark: setup  ## the Spark connector, with kills and a real cluster
	$(PY) -m pytest $(CI_FLAGS) -m spark

NBVAL := --nbval --nbval-current-env --nbval-sanitize-with=tests/nbval.ini --timeout=600
WITH_SPARK := notebooks/01-quickstart.ipynb notebooks/06-spark-pipelines.ipynb notebooks/10-stop-with-savepoint.ipynb
notebooks: setup  ## every tutorial, by nbval; those with Spark have the machine for themselves
	$(PY) -m pytest $(CI_FLAGS) -p no:xdist $(NBVAL) --nbval-cell-timeout=240 $(WITH_SPARK)
	$(PY) -m pytest $(CI_FLAGS) -n 2 --dist loadfile $(NBVAL) --nbval-cell-timeout=120 \
	  $(filter-out $(WITH_SPARK),$(wildcard notebooks/*.ipynb))

browser: setup system  ## the views in JupyterLab under headless Chromium
	$(PY) -m pytest $(CI_FLAGS) -m browser

wheel: setup  ## the built wheel in an empty environment runs a short demo
	$(PY) tests/wheel_demo.py

binder: setup system  ## what a Binder does: install the pins, start, run every tutorial in 2 GiB without network
	$(PY) tests/binder_prefix.py $(BINDER_FLAGS)

# Its steps with two tutorials; all of them take ten minutes more.
binder-steps:
	$(MAKE) binder BINDER_FLAGS="--only 0[23]"

pins: setup  ## write binder/requirements.txt and the layout anew
	$(PY) binder/pins.py
	$(PY) binder/workspace.py

bench: setup  ## the commands behind docs/performance.md
	@grep -l "^if __name__" benchmarks/*.py

clean:  ## forget the environment and all results
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache

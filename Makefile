# `make` lists what there is. Every target does its own set-up.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
CI_FLAGS := -q --color=no -p no:cacheprovider --durations=15 --durations-min=3
# The installed copy is a farm of links that does not see new files, so their list is a prerequisite.
SOURCES := $(shell find pravega_lab engine widgets -name '*.py' -not -name _version.py | sort)
FILES := $(shell printf '%s\n' $(SOURCES) | cksum | cut -d' ' -f1)
STAMP := $(VENV)/.installed-$(FILES)

.PHONY: help campaign mutants docs site setup system demo picture test check lint types js fast unit pythons spark spark-connect slow real-pravega real-flink secure notebooks browser lite lite-test wheel again \
  installed lab binder pins bench clean
help:  ## this list
	@grep -E '^[a-z -]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# $(call install,PYTHON,WHAT): out of the package cache if it has everything, else with the index. Two minutes less.
# Many processes import the packages at the same time, so they are compiled here.
UV := $(VENV)/bin/uv
UV_INSTALL := $(UV) pip install -q --compile-bytecode --config-settings-package pravega-lab:editable_mode=strict
install = $(UV_INSTALL) --offline --python $(1) $(2) 2>/dev/null || $(UV_INSTALL) --python $(1) $(2)

$(UV):
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip "setuptools>=75" wheel "uv>=0.9,<1"

$(STAMP): pyproject.toml | $(UV)
	export PYTHONWARNINGS=ignore::UserWarning; $(call install,$(PY),-e ".[dev]")
	@rm -f $(VENV)/.installed-*; touch $@

# An editable install does not bundle again. The bundles keep the digest of their sources; make compares times.
VIEWS := $(shell find widgets -name '*.ts' -o -name '*.css' -not -path '*/bundles/*')
BUNDLES := widgets/bundles/sources.sha256
$(BUNDLES): $(VIEWS) package-lock.json build_backend/bundle_views.py | $(STAMP)
	$(PY) build_backend/bundle_views.py

setup: $(STAMP) $(BUNDLES)  ## .venv with pravega-lab and everything that developing needs

# Node comes from the package index; node_modules/ is for linting, type checks and tests.
NODE := $(VENV)/bin/node
NODE_STAMP := node_modules/.installed
$(NODE_STAMP): package-lock.json | $(STAMP)
	$(VENV)/bin/npm ci --ignore-scripts
	@touch $@

# JupyterLite is built in an environment of its own: its extensions are the site's, and no others.
LITE := .venvs/lite
LITE_STAMP := $(LITE)/.installed
$(LITE_STAMP): pyproject.toml build_backend/build_lite.py | $(UV)
	$(PY) -m venv $(LITE)
	$(call install,$(LITE)/bin/python,--group lite)
	$(LITE)/bin/python build_backend/build_lite.py --download $(LITE)/wheels
	@touch $@

system:
	@tests/system.sh

demo: setup  ## the main job: 336,776 flights, a stream that splits, Spark killed and restarted, exactly once
	$(VENV)/bin/pravega-lab demo $(DEMO_FLAGS)

picture: setup  ## the picture in README, from a run of the demo around the storm
	$(VENV)/bin/pravega-lab demo --events 6099 --picture docs/img/at-work.svg

# The layout is kept apart from the user's own, and set again only when ours changes.
lab: export PRAVEGA_LAB_VIEWS := right
lab: export JUPYTERLAB_WORKSPACES_DIR := $(abspath $(VENV))/share/pravega-lab/workspaces
lab: setup $(VENV)/.layout  ## JupyterLab with the first tutorial; views appear on its right
	$(VENV)/bin/jupyter lab --ServerApp.root_dir=$(CURDIR) $(LAB_FLAGS)

$(VENV)/.layout: binder/workspace.json binder/overrides.json binder/postBuild | $(STAMP)
	@PATH="$(abspath $(VENV))/bin:$$PATH" NB_PYTHON_PREFIX=$(abspath $(VENV)) binder/postBuild
	@touch $@

# The long ones first, and `installed` early, because it mostly waits. Two stages run at the same time on two cores;
# a third would only take their time.
STAGES := real-pravega spark unit installed notebooks browser docs types lint js
test: setup system $(NODE_STAMP)  ## every check; the last line says what was skipped
	@$(PY) tests/run_stages.py --name "make test" $(STAGES)

check: setup $(NODE_STAMP)  ## for daily work: lint, types and the fast tests
	@$(PY) tests/run_stages.py --name "make check" fast types lint js

lint: setup $(NODE_STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/zizmor --offline --quiet --persona=pedantic .github
	$(NODE) node_modules/.bin/biome ci

types: setup $(NODE_STAMP)
	$(VENV)/bin/mypy
	$(NODE) node_modules/.bin/tsc

js: setup $(NODE_STAMP)  ## the models and layouts of the views, under Node
	$(NODE) --test --test-reporter=dot "tests/widgets/js/*.test.ts"

# Where pytest writes what it skipped, for the last line of `make test`.
export PRAVEGA_LAB_TEST_REPORTS ?= build/reports
# A second less for each process that imports nbformat, 0.14 s for each that Spark forks, and less garbage collection.
QUICK_PYTHON = PYTHONPATH=$(CURDIR)/tests/quick_start
PYTEST = $(QUICK_PYTHON) $(PY) -m pytest $(CI_FLAGS) -o junit_family=xunit1 --junitxml=$(PRAVEGA_LAB_TEST_REPORTS)/$@.xml
# pytest compiles the tests' assertions once, where it may write: half of its start.
export PYTHONDONTWRITEBYTECODE :=
# nbval is for notebooks alone.
WITHOUT_NBVAL := -p no:nbval

fast: setup
	$(PYTEST) $(WITHOUT_NBVAL) -n 3 --dist worksteal -m "not (slow or spark or browser or tutorials or real_pravega or real_flink)"

# Three at a time on two cores: many tests wait.
unit: setup  ## protocol, store, client, simulation, conformance without a real Pravega
	$(PYTEST) $(WITHOUT_NBVAL) -n 3 --dist worksteal -m "not (spark or browser or tutorials or real_pravega)"

# Spark's JVMs and Python processes live for seconds: they start quickly with these.
QUICK_SPARK = SPARK_SUBMIT_OPTS="$$($(PY) -m tests.spark.jvm)" SPARK_HOME="$$($(PY) -m tests.spark.jvm --home)"

pythons: setup $(NODE_STAMP)  ## the fast tests of protocol, client, store and engine, and journals, on every Python 3.11 to 3.14 found here
	$(PY) tests/pythons.py

# pytest looks only at files and folders that name the marker: to import all tests takes 10 s.
spark: setup  ## the Spark connector, with kills and a real cluster
	$(QUICK_SPARK) $(PYTEST) $(WITHOUT_NBVAL) -m "spark and not tutorials" \
	  $$(grep -rlE 'mark\.spark\b' tests --include=*.py | sed 's,/conftest.py,,')

spark-connect: setup  ## the tests of the connector once more, in a session of a Spark Connect server
	PRAVEGA_LAB_TEST_CONNECT=1 $(QUICK_SPARK) $(PYTEST) $(WITHOUT_NBVAL) -m "spark and not tutorials" tests/connector/spark

again: setup  ## TESTS=file: the tests that a file names, one a line, by themselves
	$(QUICK_SPARK) $(PYTEST) $(WITHOUT_NBVAL) @$(TESTS)

# The released server takes half a core while it runs: more tests at a time end it sooner.
real-pravega: setup  ## the tests against a released Pravega, and with its Java client
	$(PYTEST) $(WITHOUT_NBVAL) -n 6 --dist worksteal -m "real_pravega and not (spark or browser or tutorials)" \
	  $$(grep -rlE 'mark\.real_pravega\b' tests --include=*.py | sed 's,/conftest.py,,')

slow real-flink: setup  ## the tests with that marker; spark and browser are stages of their own
	$(PYTEST) $(WITHOUT_NBVAL) -n 3 --dist worksteal -m "$(subst -,_,$@) and not (spark or browser or tutorials)"

# Left out: a test that speaks to the segment store without TLS, and the restarts, which begin stores of their own.
secure: setup  ## the suites of the official Python and Java clients, over TLS with passwords and short tokens
	PRAVEGA_LAB_SECURE=1 $(PYTEST) $(WITHOUT_NBVAL) tests/conformance/wheel tests/conformance/java/test_client.py \
	  -k "embedded and not restart and not group_is_gone"

NBVAL := --nbval --nbval-current-env --nbval-sanitize-with=tests/notebooks/nbval.ini --timeout=600
RUNS := build/notebook-runs
WITH_SPARK := notebooks/01-quickstart.ipynb notebooks/06-spark-pipelines.ipynb notebooks/10-stop-with-savepoint.ipynb \
  notebooks/13-streaming-and-batch.ipynb notebooks/16-streams-as-tables.ipynb
notebooks: setup  ## every tutorial, by nbval: each runs once, for its stored copy and for one with a changed number
	rm -rf $(RUNS)
	$(QUICK_SPARK) $(PYTEST:$@.xml=$@-spark.xml) -p no:xdist -p tests.notebooks.kernel_runs --keep-runs=$(RUNS) $(NBVAL) \
	  --nbval-cell-timeout=240 $(WITH_SPARK)
	$(PYTEST:$@.xml=$@-others.xml) -n 2 --dist loadfile -p tests.notebooks.kernel_runs --keep-runs=$(RUNS) $(NBVAL) \
	  --nbval-cell-timeout=120 $(filter-out $(WITH_SPARK),$(wildcard notebooks/*.ipynb))
	$(PYTEST) -p tests.notebooks.kernel_runs --reuse-runs=$(RUNS) -m tutorials tests/notebooks/test_notebooks.py

browser: setup system $(NODE_STAMP) $(LITE_STAMP)  ## the views in JupyterLab under headless Chromium
	$(PYTEST) $(WITHOUT_NBVAL) -m browser --ignore=tests/browser/pages/test_site.py tests/browser

SITE := build/site
docs: setup system $(NODE_STAMP) $(LITE_STAMP)  ## the documentation site, in build/site; warnings and broken links are errors
	rm -rf $(SITE)
	$(QUICK_PYTHON) $(PY) -m sphinx -q -E -W --keep-going -b html -d build/doctrees -c docs/site . $(SITE)
	$(PY) build_backend/build_page.py $(SITE)/play
	$(QUICK_PYTHON) $(LITE)/bin/python build_backend/build_lite.py $(LITE)/wheels $(SITE)/lite
	$(PY) docs/site/check_links.py $(SITE)
	PRAVEGA_LAB_SITE=$(SITE) $(PYTEST) $(WITHOUT_NBVAL) tests/browser/pages/test_site.py

site: setup $(NODE_STAMP)  ## the page on which the simulation runs in a browser: static files in build/play
	$(PY) build_backend/build_page.py build/play

lite: setup $(NODE_STAMP) $(LITE_STAMP)  ## the tutorials that run in a browser, in JupyterLite: static files in build/lite
	$(LITE)/bin/python build_backend/build_lite.py $(LITE)/wheels build/lite

lite-test: lite  ## every tutorial of JupyterLite, from its first to its last cell, in headless Chromium
	PRAVEGA_LAB_LITE_ALL=1 $(PYTEST) $(WITHOUT_NBVAL) tests/browser/test_lite.py tests/tutorials/test_in_light.py --durations=0

wheel: setup  ## the built wheel in an empty environment runs a short demo
	$(PY) tests/project/wheel_demo.py

installed: setup system  ## one empty environment: a Binder's steps with two tutorials, then the built wheel
	$(PY) tests/project/binder_prefix.py --only "0[23]" --then-wheel

binder: setup system  ## what a Binder does: install the pins, start, run every tutorial in 2 GiB without network
	$(PY) tests/project/binder_prefix.py $(BINDER_FLAGS)

pins: setup  ## write binder/requirements.txt and the layout again
	$(PY) binder/pins.py
	$(PY) binder/workspace.py

SEEDS ?= 0..99
mutants: setup  ## SAMPLE=N changes of each core, one at a time: do the fast tests and the simulation notice?
	$(PY) -m tests.mutation.meter --sample $(SAMPLE) --write

SAMPLE ?= 100
campaign: setup  ## SEEDS=A..B of every scenario of the simulation on all cores; failures are explained in build/campaign
	$(PY) -m pravega_lab.connector.simulation.campaign $(SEEDS) --write

bench: setup  ## the commands behind docs/performance.md
	@grep -l "^if __name__" benchmarks/*.py

clean:  ## forget the environment and all results
	rm -rf $(VENV) .venvs node_modules build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache

# make demo and make test do all the set-up themselves, in a virtual environment of the project's own.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-all check docs dist newcomer bench bench-published bench-real bench-peers bench-calibration bench-cost reference-real clean

demo: $(VENV)/ready-user
	$(BIN)/steinbox demo --out demo-output

# one thread of linear algebra: matrices are small, and some tests start processes of their own; a module's tests stay
# together where they can, since they share runs
test: $(VENV)/ready-developer
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal --durations 15

test-all: $(VENV)/ready-developer
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "slow or not slow"

check: $(VENV)/ready-developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest README.md docs -n auto --dist loadfile --no-header -q
	$(MAKE) docs

# warnings are errors, and no page may load anything from elsewhere
docs: $(VENV)/ready-developer
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python docs/loads.py site

# what would be released, and whether it is fit to be
dist: .venv-release/ready
	rm -rf dist
	.venv-release/bin/python -m build --quiet
	.venv-release/bin/twine check --strict dist/*
	.venv-release/bin/check-wheel-contents dist/*.whl

# what somebody sees who has nothing but the wheel: it is installed into an empty environment, and everything is tried
newcomer: dist
	tests/stories/newcomer.sh

bench: .venv-bench/ready
	.venv-bench/bin/python benchmarks/svgd_step.py
	.venv-bench/bin/python benchmarks/big_populations.py
	.venv-bench/bin/python benchmarks/stein_approximations.py
	.venv-bench/bin/python benchmarks/agf_accuracy.py

# the suites of four papers: below an hour on two cores; rows that are there already are not run again
bench-published: $(VENV)/ready-user
	$(BIN)/python benchmarks/published/run.py --jobs 2
	$(BIN)/python benchmarks/published/report.py
	$(BIN)/python docs/tables.py

# posteriors of data that ship with packages: the default, a quarter of an hour
bench-real: $(VENV)/ready-developer
	$(BIN)/python benchmarks/published/run.py --suites real --output benchmarks/results/real --seeds 5 --jobs 2
	$(BIN)/python benchmarks/real/real_report.py
	$(BIN)/python docs/tables.py

# other libraries on the same posteriors, each in an environment of its own: five seeds, a minute of processor time at most; hours
bench-peers: $(VENV)/ready-developer
	$(BIN)/python benchmarks/peers/run.py
	$(BIN)/python benchmarks/real/real_report.py
	$(BIN)/python docs/tables.py

# parameters from priors, data from these: does the default find them as often as it says? ten minutes
bench-calibration: $(VENV)/ready-user
	$(BIN)/python benchmarks/calibration/simulation_based.py --jobs 2
	$(BIN)/python benchmarks/calibration/calibration_report.py
	$(BIN)/python docs/tables.py

# which method after a minute, an hour, a day: errors and own seconds on cheap problems, then arithmetic; half an hour
bench-cost: $(VENV)/ready-developer
	$(BIN)/python benchmarks/cost/measure.py
	$(BIN)/python benchmarks/cost/cost_report.py
	$(BIN)/python docs/tables.py

# what both are compared with, by NUTS; half an hour
reference-real: .venv-reference/ready
	.venv-reference/bin/python benchmarks/real/reference.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready-user: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all]"
	touch $@

$(VENV)/ready-developer: $(VENV)/ready-user requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	touch $@

.venv-bench/ready: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e . -r benchmarks/requirements.txt
	touch $@

.venv-reference/ready: benchmarks/real/requirements.txt benchmarks/real/requirements-reference.txt
	$(PYTHON) -m venv .venv-reference
	.venv-reference/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/real/requirements.txt \
	  -r benchmarks/real/requirements-reference.txt
	touch $@

.venv-release/ready: requirements-release.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-release.txt
	touch $@

clean:
	rm -rf $(VENV) .venv-bench .venv-peers .venv-reference .venv-release demo-output dist site

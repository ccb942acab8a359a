# make demo and make test do all the set-up themselves, in a virtual environment of the project's own.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-all check docs dist newcomer bench bench-published clean

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

.venv-release/ready: requirements-release.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-release.txt
	touch $@

clean:
	rm -rf $(VENV) .venv-bench .venv-release demo-output dist site

# `make train` and `make test` work from a bare checkout: each makes .venv first, with the versions of constraints.txt.
PYTHON ?= python3
EXTRAS ?= dev
WORKERS ?= 2
BIN := .venv/bin

.PHONY: train test lint types unit bench bench-ot bench-labels bench-methods wheel clean

train: .venv/ready
	$(BIN)/fewlabels train digits

test: lint types unit

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

unit: .venv/ready
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal --durations 15

bench: .venv/ready
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/training.py

bench-ot: .bench-venv/ready
	.bench-venv/bin/python benchmarks/ot_solvers.py
	.bench-venv/bin/python benchmarks/ot_labels.py
	.bench-venv/bin/python benchmarks/ot_clusters.py

bench-labels: .venv/ready
	$(BIN)/python benchmarks/labels.py
	$(BIN)/python benchmarks/matching.py --data cifar10
	$(BIN)/python benchmarks/matching.py --data svhn

bench-methods: .venv/ready .bench-venv-methods/ready
	$(BIN)/python benchmarks/methods.py
	.bench-venv-methods/bin/python benchmarks/methods.py --only modssc --compile
	$(BIN)/python benchmarks/moons.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/python benchmarks/epoch.py

wheel: .venv/ready
	$(BIN)/python -m build --outdir dist

# The other solvers that bench-ot runs beside ours; nothing else needs them.
.bench-venv/ready: pyproject.toml benchmarks/constraints.txt
	$(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint benchmarks/constraints.txt \
		--editable . torch jax jaxlib ott-jax geomloss POT scikit-learn
	touch $@

# ModSSC, which wants an older numpy than ours.
.bench-venv-methods/ready: pyproject.toml benchmarks/constraints-methods.txt
	$(PYTHON) -m venv .bench-venv-methods
	.bench-venv-methods/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint benchmarks/constraints-methods.txt --editable . modssc
	touch $@

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf .venv .bench-venv .bench-venv-methods build dist .mypy_cache .ruff_cache .hypothesis

# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
EXTRAS := all,peers,dev,docs

.PHONY: setup demo test test-slow test-faults check bench quality docs reference clean chromium axe

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	touch $(STAMP)

# `diptych up` on a sample of emoji; `make demo ARGS=--check` asks the running search a few questions and ends.
demo: setup
	$(BIN)/diptych demo --out runs/demo $(ARGS)

# One thread per process: the tests run side by side, and threads that wait by spinning would fight over the cores.
# `make test COVERAGE=--cov` also counts the lines that ran and fails below the floor in pyproject.toml, as CI does.
test: setup check chromium axe
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow" $(COVERAGE)

test-slow: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "slow and not faults"

# Kills, full disks, flipped bits, hostile clients and lost servers, about twenty minutes; writes docs/results/faults.md.
# `make test-faults ARGS="-k kill"` repeats some attacks and keeps the other rows.
test-faults: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults -m faults --table $(ARGS)

# The tests of the page drive a real browser; where it cannot be installed they are skipped and say so.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) \
	  || echo "chromium cannot be installed here; the browser tests will be skipped"

# What looks for barriers on the page; where npm is not, those tests are skipped and say so.
axe:
	@test -f build/node_modules/axe-core/axe.min.js \
	  || npm install --silent --no-save --no-audit --no-fund --prefix build axe-core@4.10.3 \
	  || echo "axe-core cannot be installed here; its tests will be skipped"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

# Typed queries with judged answers, asked of every encoder and method: an hour or more, kept in runs/quality.
quality: setup
	OMP_NUM_THREADS=2 $(BIN)/python -m benchmarks.quality $(ARGS)

docs: setup
	$(BIN)/mkdocs build --strict

# The pages of docs/reference that are written from the code; a test fails when they are behind it.
reference: setup
	$(BIN)/python -m tools.reference

clean:
	rm -rf build dist site runs .pytest_cache .mypy_cache .ruff_cache

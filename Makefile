# All commands work in a virtual environment, which the first one makes. They need `make` and
# Python >= 3.11.

VENV ?= .venv
export VENV

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## train a small population on connect four and show what it learned (a few minutes)
	@scripts/venv.sh run
	@$(VENV)/bin/arena demo

test: ## the tests (ten minutes on two fast cores, twenty-six on slow ones; no GPU, no screen)
	@scripts/venv.sh test
	@$(VENV)/bin/python -m pytest -q -n 2 --dist worksteal

test-slow: ## the long tests (half an hour on two fast cores, an hour on slow ones)
	@scripts/venv.sh test
	@$(VENV)/bin/python -m pytest -q -n 2 --dist worksteal -m "slow and not gpu" --durations=40 --timeout=1500

check: ## formatting, lint, types, figures, words
	@scripts/venv.sh dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python scripts/figures.py
	$(VENV)/bin/python scripts/prose.py

format: ## rewrite the code in the project's format
	@scripts/venv.sh dev
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

clean: ## remove the virtual environment and caches; trained populations (arena-data) stay
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info pbt/native/*.so api/static/dashboard web/node_modules web/generated
	find pbt arena api tests -name __pycache__ -type d -prune -exec rm -rf {} +

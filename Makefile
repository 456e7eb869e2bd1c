# `make` alone prints the targets. The text after ## is what it prints.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO ?= cargo
PYTHON ?= python3
DYNAMODB_PORT ?= 8000
ONCEHOOK := $(CARGO) run -q --bin oncehook --
MINISTACK := $(CURDIR)/.venv/bin/ministack

.PHONY: help demo test test-dynamodb-local lint check dev build doc

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## watch the seven scenes; FAST=1 leaves out the pauses
	@$(CARGO) run --bin oncehook -- demo

test: .venv/ready ## run all tests, SQS over its real protocol included
	ONCEHOOK_TEST_MINISTACK="$(MINISTACK)" $(CARGO) test --workspace

test-dynamodb-local: ## run all tests on the DynamoDB Local image (Docker; AWS account holders only)
	@command -v docker >/dev/null || { \
	  echo "This target needs Docker. Without it, 'make test' uses the embedded DynamoDB."; exit 1; }
	@echo "Note: the licence of amazon/dynamodb-local is for holders of an AWS account only."
	@id=$$(docker run --rm -d -p 127.0.0.1:$(DYNAMODB_PORT):8000 amazon/dynamodb-local) || { \
	  echo "The image did not start. Is Docker running, and is port $(DYNAMODB_PORT) free (DYNAMODB_PORT=..)?"; exit 1; }; \
	trap 'docker stop "$$id" >/dev/null' EXIT; \
	for _ in {1..60}; do (: </dev/tcp/127.0.0.1/$(DYNAMODB_PORT)) 2>/dev/null && break; sleep 0.5; done; \
	ONCEHOOK_TEST_DYNAMODB=http://localhost:$(DYNAMODB_PORT) $(MAKE) test

lint: ## check format, clippy, and licences if cargo-deny is there
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check; \
	else echo "cargo-deny is not installed: licences and advisories were not checked"; fi

check: ## check oncehook.toml
	@$(ONCEHOOK) check

dev: ## receive webhooks on this machine, port 3000; ARGS="--port 4000" passes options
	@$(ONCEHOOK) dev $(ARGS)

build: ## build the release binaries
	$(CARGO) build --release --workspace

doc: ## build the crates' documentation
	$(CARGO) doc --workspace --no-deps

# A private Python for the tests' SQS. Works with Debian's python3-venv, or with pip alone.
.venv/ready: infra/requirements.txt
	@rm -rf .venv
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || { rm -rf .venv; $(PYTHON) -m venv --without-pip .venv; }
	@if [ -x .venv/bin/pip ]; then pip=(.venv/bin/pip); \
	else pip=($(PYTHON) -m pip --python .venv/bin/python); fi; \
	"$${pip[@]}" install --quiet --disable-pip-version-check -r infra/requirements.txt
	@touch $@

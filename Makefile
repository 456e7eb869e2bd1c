# `make` alone prints the targets. The text after ## is what it prints.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO ?= cargo
PYTHON ?= python3
DYNAMODB_PORT ?= 8000
ONCEHOOK := $(CARGO) run -q --bin oncehook --
MINISTACK := $(CURDIR)/.venv/bin/ministack
RIE = $(CURDIR)/.venv/lib/python3*/site-packages/samcli/local/rapid/aws-lambda-rie-$(LOCAL_ARCH)
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))

# The environment of samconfig.toml that build, deploy, logs and destroy are for.
STAGE ?= test
# SAM, cargo-lambda and zig come from a private environment; cargo is your own.
TOOLS := $(CURDIR)/.tools
SAM := PATH="$(TOOLS)/bin:$$PATH" SAM_CLI_TELEMETRY=0 sam
STAGE_PYTHON := $(TOOLS)/bin/python

.PHONY: help demo test e2e browser-test receiver-test interop bench fuzz chaos test-dynamodb-local lint check providers dev binaries doc \
  tools validate account check-stage build deploy logs destroy docker local-build local-aws invoke start-api sam-local

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## watch the seven scenes; FAST=1 leaves out the pauses
	@$(CARGO) run --bin oncehook -- demo

test: .venv/ready ## run all tests: SQS over its real protocol, the functions under Lambda's emulator
	ONCEHOOK_TEST_MINISTACK="$(MINISTACK)" ONCEHOOK_TEST_RIE="$$(echo $(RIE))" $(CARGO) test --workspace

e2e: .venv/ready ## deploy the template with the real binaries to an emulated AWS and use it; no Docker, no account
	@mkdir -p $(TARGET)/e2e
	@cat oncehook.toml tests/e2e/rules.toml >$(TARGET)/e2e/new.toml
	@cmp -s $(TARGET)/e2e/new.toml $(TARGET)/e2e/oncehook.toml || cp $(TARGET)/e2e/new.toml $(TARGET)/e2e/oncehook.toml
	ONCEHOOK_CONFIG=$(TARGET)/e2e/oncehook.toml $(CARGO) build --bins
	@.venv/bin/python -B tests/e2e --template template.yaml --binaries $(TARGET)/debug --config $(TARGET)/e2e/oncehook.toml

browser-test: .venv/ready ## try the page of `oncehook dev` in Chromium; pictures of its screens in target/browser/
	@$(CARGO) build --bin oncehook
	@.venv/bin/python -B tests/browser --binary $(TARGET)/debug/oncehook --pictures $(TARGET)/browser

receiver-test: tests/receiver/.venv/ready ## try the README's receiver, word for word, with a real Postgres
	@$(CARGO) build --bin oncehook
	@tests/receiver/.venv/bin/python -B tests/receiver --binary $(TARGET)/debug/oncehook

tests/receiver/.venv/ready: tests/receiver/requirements.txt
	@$(call python_environment,tests/receiver/.venv,tests/receiver/requirements.txt)

interop: interop/.venv/ready interop/node_modules/ready ## compare signatures with the providers' official SDKs; needs Node 20 or newer
	$(CARGO) build --bin oncehook
	@interop/.venv/bin/python -B interop/run.py --oncehook $(TARGET)/debug/oncehook

interop/.venv/ready: interop/requirements.txt
	@$(call python_environment,interop/.venv,interop/requirements.txt)

interop/node_modules/ready: interop/package-lock.json
	@command -v npm >/dev/null || { echo "The SDKs for Node need Node.js 20 or newer with npm (Debian: apt-get install nodejs npm)."; exit 1; }
	@cd interop && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

# The store is built apart, so that it adds no features to what the functions are built with.
# The short run takes debug binaries, so that it builds nothing that the tests did not, and says which peer it leaves out.
bench: .venv/ready $(if $(FAST),,bench/.venv/ready bench/peers/node/node_modules/ready) ## measure against floors and peers; FAST=1 checks counts only
	$(CARGO) build --locked --bins $(if $(FAST),--workspace,--release -p oncehook-bench-floor -p oncehook-ingest -p oncehook-drain -p oncehook-sweep)
	$(if $(FAST),,$(CARGO) build --locked --release --bins -p oncehook-bench)
	@$(PYTHON) -B bench/run.py --emulator "$$(echo $(RIE))" --binaries $(TARGET)/$(if $(FAST),debug --fast --output $(TARGET)/bench,release) $(ARGS)

bench/.venv/ready: bench/requirements.txt
	@$(call python_environment,bench/.venv,bench/requirements.txt)

bench/peers/node/node_modules/ready: bench/peers/node/package-lock.json
	@command -v npm >/dev/null || { echo "The peer for Node needs Node.js 20 or newer with npm (Debian: apt-get install nodejs npm)."; exit 1; }
	@cd bench/peers/node && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

fuzz: ## look for requests that break verification, 60 seconds or SECONDS=..; needs a C++ compiler
	@FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_TARGET_DIR=$(TARGET)/fuzz CARGO="$(CARGO)" fuzz/run.sh

chaos: ## ten thousand bad days of the real handlers, and every way to break them noticed; HISTORIES=.. or SEED=.. for one
	@$(CARGO) test -q --profile chaos -p oncehook-chaos --test chaos --no-run
	@$(if $(SEED),:,$(CHAOS) --sabotage)
	@$(CHAOS) $(if $(SEED),--seed $(SEED),--histories $(or $(HISTORIES),10000))

CHAOS := $(CARGO) test -q --profile chaos -p oncehook-chaos --test chaos --

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

check: ## check oncehook.toml and template.yaml; STRICT=1 takes warnings for errors
	@$(ONCEHOOK) check $(if $(STRICT),--strict)

providers: ## write docs/providers.md anew from the table of providers
	@$(ONCEHOOK) sources --markdown > docs/providers.md

dev: ## receive webhooks on this machine, port 3000; ARGS="--port 4000" passes options
	@$(ONCEHOOK) dev $(ARGS)

binaries: ## build the release binaries for this machine
	$(CARGO) build --release --workspace

doc: ## build the crates' documentation
	$(CARGO) doc --workspace --no-deps

# --- Deployment. STAGE=live takes the other environment of samconfig.toml; ARGS="..." goes to sam. ---

tools: .tools/ready ## install SAM, cargo-lambda, zig and cfn-lint into .tools/

validate: .tools/ready ## check the template with SAM and cfn-lint; needs no account
	AWS_DEFAULT_REGION="$${AWS_DEFAULT_REGION:-us-east-1}" $(SAM) validate --lint
	$(TOOLS)/bin/cfn-lint template.yaml

build: check-stage ## build the functions for Lambda, for arm64 unless STAGE or ARCHITECTURE=x86_64 says otherwise
	$(SAM) build --config-env $(STAGE) \
	  --parameter-overrides Architecture=$(or $(ARCHITECTURE),$$($(STAGE_PYTHON) infra/stage.py architecture $(STAGE)))
	@$(STAGE_PYTHON) infra/stage.py sizes .aws-sam/build

deploy: account build ## check, build and deploy the stack of STAGE; asks before it changes anything
	$(SAM) deploy --config-env $(STAGE) $(ARGS)

logs: account ## follow the functions' logs; ARGS="--name Ingest" for one function
	$(SAM) logs --config-env $(STAGE) --tail $(ARGS)

destroy: account ## delete the stack of STAGE; its tables, bodies and secrets stay
	@$(STAGE_PYTHON) infra/stage.py kept $(STAGE)
	$(SAM) delete --config-env $(STAGE) $(ARGS)

check-stage: .tools/ready
	@$(STAGE_PYTHON) infra/stage.py check $(STAGE) $(ONCEHOOK) check

account: .tools/ready
	@$(STAGE_PYTHON) infra/stage.py account $(STAGE)

# --- The functions in Lambda's containers, on this machine. docs/deployment.md says how they reach a database. ---

invoke: docker ## run a function on an event: EVENT=applied, EVENT=batch, EVENT="applied --id evt_2"; needs `make local-aws`
	@test -n "$(EVENT)" || { echo "Which event? make invoke EVENT=NAME"; $(ONCEHOOK) event --list; exit 1; }
	@$(MAKE) --no-print-directory local-build
	@$(ONCEHOOK) event $(EVENT) | infra/local-sam.sh invoke $(or $(TAKEN_BY_$(firstword $(EVENT))),Ingest) -e - $(ARGS)

TAKEN_BY_batch := Drain
TAKEN_BY_poison := Drain
TAKEN_BY_sweep := Sweep

start-api: docker local-build ## serve the API on port 3001 from Lambda's containers; needs `make local-aws`
	@infra/local-sam.sh start-api --port 3001 $(ARGS)

sam-local: docker local-build .venv/ready ## run every event of events/ in Lambda's containers, then the API with curl
	@MINISTACK="$(MINISTACK)" TOOLS="$(TOOLS)" ONCEHOOK="$(ONCEHOOK)" infra/local-aws.sh infra/sam-local.sh

local-aws: .venv/ready .tools/ready ## DynamoDB and SQS for `make invoke` and `make start-api`, port 4566, until Ctrl-C
	@MINISTACK="$(MINISTACK)" TOOLS="$(TOOLS)" infra/local-aws.sh

# Built for this machine's own processor: Docker needs no emulation. In a folder of its own, so that it is never deployed.
LOCAL_ARCH := $(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64)
LOCAL_BUILD := .aws-sam/local

local-build: check .tools/ready
	@AWS_DEFAULT_REGION=us-east-1 $(SAM) build --build-dir $(LOCAL_BUILD) --parameter-overrides Architecture=$(LOCAL_ARCH)
	@$(STAGE_PYTHON) infra/local.py template $(LOCAL_BUILD)
	@$(STAGE_PYTHON) infra/stage.py sizes $(LOCAL_BUILD)

docker:
	@command -v docker >/dev/null || { echo "This target runs Lambda's own containers and needs Docker: install Docker \
	Engine, Docker Desktop or Colima. Without it, 'make dev' and 'make test' run the same handlers."; exit 1; }
	@docker info >/dev/null 2>&1 || { echo "Docker is installed, but its engine does not answer: start it (Linux: sudo \
	systemctl start docker, and your user in the group docker), then try again. Without it, 'make dev' and 'make test' run \
	the same handlers."; exit 1; }

# --- Private Pythons: .venv for the tests' SQS, .tools for deployment. With Debian's python3-venv, or with pip alone. ---

.venv/ready: infra/requirements.txt infra/requirements-rie.txt
	@$(call python_environment,.venv,infra/requirements.txt,--no-deps -r infra/requirements-rie.txt)

.tools/ready: infra/requirements-deploy.txt
	@echo "Installing SAM, cargo-lambda, zig and cfn-lint into .tools/ (800 MB, once) .."
	@$(call python_environment,.tools,infra/requirements-deploy.txt)

define python_environment
rm -rf $(1); \
$(PYTHON) -m venv $(1) >/dev/null 2>&1 || { rm -rf $(1); $(PYTHON) -m venv --without-pip $(1); }; \
if [ -x $(1)/bin/pip ]; then pip=($(1)/bin/pip); else pip=($(PYTHON) -m pip --python $(1)/bin/python); fi; \
"$${pip[@]}" install --quiet --disable-pip-version-check -r $(2); \
$(if $(3),"$${pip[@]}" install --quiet --disable-pip-version-check $(3);) \
touch $(1)/ready
endef

# Three commands matter: `make demo`, `make quick` and `make test`. Each sets up what it needs on a machine that has Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two test processes on two cores: more threads in each would only wait for each other.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: demo quick test test-postgres test-citus check lint types layers torture surfaces browser bench conformance test-claude-code test-frameworks contract reference clean

$(READY): pyproject.toml bench/pyproject.toml models/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,models]' --editable ./bench --editable ./models
	touch $(READY)

demo: $(READY)  ## remember a sample month of conversations and answer from it
	$(BIN)/holdfast demo

# The core behaviour of every package: on SQLite, without slow tests, with few examples of each property.
QUICK := tests/text tests/log/test_history.py tests/log/test_ingest.py tests/store/test_store_errors.py \
	tests/store/test_older_versions.py tests/models/test_static.py tests/models/test_breaker.py \
	tests/index/test_segments.py tests/gate/test_salience.py tests/gate/test_durability.py \
	tests/rules/test_booster.py tests/admit/test_admission.py tests/admit/test_floor.py \
	tests/admit/test_merge.py tests/search/test_search.py tests/search/test_when.py \
	tests/context/test_assemble.py tests/context/test_budget.py tests/context/test_render.py \
	tests/compact/test_run.py tests/insight/test_history.py tests/insight/test_lookup.py \
	tests/worker/test_batches.py tests/worker/test_gathering.py tests/upkeep/test_erase.py \
	tests/upkeep/test_transfer.py tests/upkeep/test_doctor.py tests/probe/test_probes.py \
	tests/cli/test_memory_verbs.py tests/cli/test_ingest.py tests/serve/test_rpc_protocol.py \
	tests/serve/http/test_http_verbs.py tests/serve/mcp/test_mcp_tools.py tests/test_memory.py \
	tests/test_structure.py tests/test_settings.py

quick: $(READY)  ## the core behaviour of every package, on two cores: less than a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not long' -k 'not postgres' --hypothesis-profile quick $(QUICK)

test: $(READY)  ## every fast test, on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Every test that speaks of behaviour, on PostgreSQL.
ON_POSTGRES := HOLDFAST_TEST_ENGINE=postgres $(BIN)/python -m pytest -n 2 --dist worksteal tests/test_memory_machine.py \
	tests/postgres tests/admit tests/compact tests/context tests/gate tests/index tests/insight tests/log tests/rules \
	tests/search tests/store/test_threads.py tests/test_aio.py tests/test_memory.py tests/upkeep tests/worker

test-postgres: $(READY)  ## on two servers of its own, or on the one of HOLDFAST_TEST_POSTGRES: minutes
	$(ON_POSTGRES)

test-citus: $(READY)  ## on a Citus cluster: HOLDFAST_TEST_CITUS is its coordinator's address, for a superuser
	@test -n "$$HOLDFAST_TEST_CITUS" || { echo "set HOLDFAST_TEST_CITUS=postgresql://superuser@coordinator/database (one with the nodes added)"; exit 2; }
	$(ON_POSTGRES)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)  ## dependencies point down only
	$(BIN)/lint-imports --no-cache

check: lint types layers test  ## what CI runs

torture: $(READY)  ## 200 kills, 8 processes, 200 erases, 60 lives cut anywhere: minutes, not seconds
	$(BIN)/python -m pytest -o faulthandler_timeout=1800 -m long tests/torture tests/upkeep tests/worker

surfaces: $(READY)  ## every path of the OpenAPI document 300 times, and a small load: minutes, not seconds
	$(BIN)/python -m pytest -m long tests/serve/http tests/bench/test_serve_bench.py

bench: $(READY)  ## the figures of docs/evidence/performance.md
	$(BIN)/holdfast bench speed --records 100000 --json speed.json
	$(BIN)/holdfast bench serve --seconds 60 --processes 2 --json serve.json

browser: $(READY)  ## the inspector in chromium with 0, 1 and 50,000 records, and its pictures: minutes, not seconds
	HOLDFAST_PICTURES=docs/images $(BIN)/python -m pytest -m long -s tests/browser

conformance: $(READY)  ## the MCP server before the inspector and the conformance suite of npm (needs npm)
	$(BIN)/python tests/conformance/run_conformance.py

test-claude-code: $(READY)  ## Claude Code itself, connected, before a scripted endpoint on loopback (needs npm, 350 MB)
	$(BIN)/python tests/conformance/run_claude_code.py

test-frameworks: $(READY)  ## the importers before what LangGraph's stores and mem0 write (installs both, 250 MB)
	$(BIN)/python tests/conformance/run_frameworks.py

contract: $(READY)  ## write contract/ anew from the typed definitions
	$(BIN)/python -m holdfast_bench.contract contract

reference: $(READY)  ## write the generated parts of docs/reference anew
	$(BIN)/python -m holdfast_bench.reference docs/reference

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build dist

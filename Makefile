# One way in: every target creates what it needs. PYTHON chooses the interpreter, VENV the place of the environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: help demo test test-fast check figures bench-serve bench-speed bench-ray serve screenshot pictures format faults fuzz reference notebook docs wheel smoke clean
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

$(VENV)/.fit: pyproject.toml constraints.txt  # what fitting and scoring need, and nothing else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[fit]"
	@touch $@

$(VENV)/.installed: $(VENV)/.fit  # what development needs
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[bench,peers,serve,ray,tables,report,spacy,mcp,dev,docs]"
	@touch $@

demo: $(VENV)/.fit  ## fit on the example corpus, find the messages that do not belong, say how well it went
	mkdir -p $(DEMO)
	$(BIN)/difa find examples/support/normal.txt examples/support/test.jsonl --out $(DEMO)/scores.jsonl --report $(DEMO)/report.html
	$(BIN)/difa fit examples/support/normal.txt --out $(DEMO)/model
	$(BIN)/difa evaluate $(DEMO)/model examples/support/test.jsonl --fpr 0.05
	@echo
	@echo 'Now open $(DEMO)/report.html, and try: $(BIN)/difa explain $(DEMO)/model "Is the wpdlkrt garden bench in stock?"'

test: $(VENV)/.installed  ## run all tests, in three processes (JOBS=3): some wait much of their time
	$(BIN)/python -m pytest -rs --durations=25 -n $(or $(JOBS),3) --dist worksteal

test-fast: $(VENV)/.installed  ## run the tests that take no time: no Ray, no browser, no killed processes, no real model
	$(BIN)/python -m pytest -m "not slow" -n $(or $(JOBS),2) --dist worksteal

check: $(VENV)/.installed  ## lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

figures: $(VENV)/.installed  ## measure all methods on the benchmark sets (DIFA_DATA, or ../shared/data)
	$(BIN)/difa bench table --out build/bench --seeds 42
	$(BIN)/difa bench table --out build/bench --seeds 0,1,2,3,4
	$(BIN)/difa bench ablation --out build/bench
	$(BIN)/difa bench efficiency --out build/bench
	$(BIN)/difa bench contamination --out build/bench
	$(BIN)/difa bench sparsity --out build/bench
	$(BIN)/difa bench feed --out build/bench
	$(BIN)/difa bench examples --out build/bench
	$(BIN)/difa bench report build/bench --into docs/benchmark-tables.md

$(DEMO)/model/config.json: $(VENV)/.fit
	$(BIN)/difa fit examples/support/normal.txt --out $(DEMO)/model

bench-ray: $(VENV)/.installed $(DEMO)/model/config.json  ## measure two workers beside one, some three minutes
	$(BIN)/python benchmarks/workers.py $(DEMO)/model

bench-serve: $(VENV)/.installed $(DEMO)/model/config.json  ## measure the service on loopback, some five minutes
	$(BIN)/python benchmarks/serve.py $(DEMO)/model

bench-speed: $(VENV)/.installed  ## measure the speed of scoring (DIFA_DATA, or ../shared/data), some five minutes
	$(BIN)/difa bench speed --out build/speed

serve: $(VENV)/.installed $(DEMO)/model/config.json  ## serve the example model at http://127.0.0.1:8000/
	$(BIN)/difa serve $(DEMO)/model

screenshot: $(VENV)/.installed $(DEMO)/model/config.json  ## take docs/images/page.png
	$(BIN)/python examples/support/screenshot.py $(DEMO)/model

pictures: $(VENV)/.installed $(DEMO)/model/config.json  ## draw the pictures of docs/concepts.md
	$(BIN)/python tools/concept_pictures.py $(DEMO)/model

format: $(VENV)/.installed  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

faults: $(VENV)/.installed  ## kill fits, saves, runs of scoring (FAULTS=500) and services (60), fill a real disk (60), and look for losses
	$(BIN)/python tools/faults.py --faults $(or $(FAULTS),500)
	$(BIN)/python tools/faults_disk.py
	$(BIN)/python tools/faults_serve.py

fuzz: $(VENV)/.installed  ## try random and hostile texts, files, model folders and requests (MINUTES=5 each), and look for breaches
	$(BIN)/python tools/fuzz.py --minutes $(or $(MINUTES),5)
	$(BIN)/python tools/fuzz_http.py --minutes $(or $(MINUTES),5)

reference: $(VENV)/.installed  ## write docs/settings.md and docs/commands.md from the code
	$(BIN)/python tools/reference.py

notebook: $(VENV)/.installed  ## run docs/tutorial.ipynb, keep its outputs and write docs/tutorial.md from it
	$(BIN)/python tools/notebook.py

docs: $(VENV)/.installed  ## build the documentation; python -m http.server -d build/site shows it, with search
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

wheel: $(VENV)/.installed  ## build the wheel and the source archive into dist/
	$(BIN)/python -m build --outdir dist

smoke: wheel  ## install the wheel in a clean environment, then fit, score and explain with it
	PYTHON=$(PYTHON) tools/smoke.sh dist

clean:  ## remove the environment and everything built
	rm -rf $(VENV) build

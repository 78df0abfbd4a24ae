# turboquant: `make help` lists what there is to do. Works with GNU make 3.81 (macOS) and newer.
SHELL = /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help chat serve test fuzz fuzz-kernels load ordeals lab export readme site check-site check-lab dist reference clean

# What is typed after `make chat` goes to the program through the environment, read by neither make nor the shell: quotes,
# dollars and apostrophes in PROMPT arrive as they are. Only what is typed counts, not a variable that happens to be set.
typed = $(if $(filter command,$(firstword $(origin $(1)))),$(value $(1)))
unexport PROMPT MODEL KV ARGS BLAS NB FLAGS
export TQ_PROMPT := $(call typed,PROMPT)
export TQ_MODEL := $(call typed,MODEL)
export TQ_KV := $(call typed,KV)
export TQ_ARGS := $(call typed,ARGS)
export TQ_NB := $(call typed,NB)
export TQ_FLAGS := $(call typed,FLAGS)
ifneq ($(call typed,BLAS),)
export TURBOQUANT_BLAS := $(call typed,BLAS)
endif
extras = $(if $(filter mkl,$(call typed,BLAS)),mkl)
export PYTHON

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r a b; do printf '%-20s %s\n' "$$a" "$$b"; done

# The program has said what was wrong with what was typed (2), or was stopped by Ctrl-C (130): to a person at a terminal make
# adds no `Error 2` of its own. Scripts get the exit code.
leave = rc=$$?; case $$rc in 2|130) [ ! -t 0 ] || [ ! -t 2 ] || exit 0;; esac; exit $$rc

# `set -m` makes the chat a job of its own: Ctrl-C reaches it and not make.
chat: ## talk to a model; PROMPT="..." answers once; also MODEL=, KV=, BLAS=mkl, ARGS="--temp 0.7 ..."
	@.ci/venv.sh chat $(extras)
	@set --; \
	[ -z "$$TQ_MODEL" ] || set -- "$$@" "--model=$$TQ_MODEL"; \
	[ -z "$$TQ_KV" ] || set -- "$$@" "--kv=$$TQ_KV"; \
	[ -z "$$TQ_PROMPT" ] || set -- "$$@" "--prompt=$$TQ_PROMPT"; \
	eval "set -- \"\$$@\" $$TQ_ARGS"; \
	if [ -t 0 ]; then set -m; fi; \
	.venv/bin/turboquant-chat "$$@"; $(leave)

serve: ## an OpenAI-compatible server on this machine; MODEL=, KV=, ARGS="--port 8000 ..."
	@.ci/venv.sh chat $(extras)
	@set --; \
	[ -z "$$TQ_MODEL" ] || set -- "$$@" "--model=$$TQ_MODEL"; \
	[ -z "$$TQ_KV" ] || set -- "$$@" "--kv=$$TQ_KV"; \
	eval "set -- \"\$$@\" $$TQ_ARGS"; \
	if [ -t 0 ]; then set -m; fi; \
	.venv/bin/turboquant-serve "$$@"; $(leave)

test: ## run every notebook and the hygiene checks; NB=06a or NB="nbs/01*.ipynb" for some, FLAGS="slow weights" for those cells too
	@rm -f .venv/summary
	@.ci/venv.sh chat dev $(extras)
	@eval "set -- $$TQ_NB"; .venv/bin/python .ci/tests.py --flags "$$TQ_FLAGS" "$$@"; $(leave)

fuzz: ## thousands of random programs on the caches, the C++ text under sanitizers; ARGS="--examples 5000 --seed 1"
	@.ci/venv.sh chat dev $(extras)
	@eval "set -- $$TQ_ARGS"; .venv/bin/python -m turboquant.fuzz fuzz "$$@"; $(leave)

fuzz-kernels: ## 2,000 random attention calls here and 100 in the Metal simulator, against float64; ARGS="--cases 100 --simulator 10"
	@.ci/venv.sh chat dev $(extras)
	@eval "set -- $$TQ_ARGS"; .venv/bin/turboquant-bench fuzz "$$@"; $(leave)

load: ## sixteen streams on the server for ten minutes; ARGS="--seconds 60 --streams 4"
	@.ci/venv.sh chat dev $(extras)
	@eval "set -- $$TQ_ARGS"; .venv/bin/python -m turboquant.fuzz load "$$@"; $(leave)

ordeals: ## killed saves, full disks, broken files, rude clients
	@.ci/venv.sh chat dev $(extras)
	@eval "set -- $$TQ_ARGS"; .venv/bin/python -m turboquant.fuzz ordeals "$$@"; $(leave)

lab: ## JupyterLab at the first chapter, or another: NB=05; ARGS="--no-browser --port 9000" goes to Jupyter
	@.ci/venv.sh chat dev $(extras)
	@eval "set -- $$TQ_ARGS"; .venv/bin/python .ci/lab.py "$$@"; $(leave)

export: ## write the modules from the notebooks, clean the notebooks, fold their solutions, render README.md
	@.ci/venv.sh dev
	@.venv/bin/nbdev_export && .venv/bin/nbdev_clean && .venv/bin/python .ci/fold.py && .venv/bin/python .ci/readme.py

readme: ## README.md from nbs/index.ipynb
	@.ci/venv.sh dev
	@.venv/bin/python .ci/readme.py

site: ## the book as a website in _docs; QUARTO=1 renders it with Quarto instead of smalldocs
	@.ci/venv.sh dev
	@.venv/bin/python -W ignore .ci/build_site.py $(if $(call typed,QUARTO),--quarto)

check-site: ## headless Chromium over every page of _docs; ARGS="packing.html --shots shots" for some, with pictures
	@.ci/venv.sh dev
	@eval "set -- $$TQ_ARGS"; .venv/bin/python .ci/check_site.py "$$@"; $(leave)

check-lab: ## JupyterLab in headless Chromium, about a minute: chapter 01 (or NB=03) opens folded and runs, and its slider moves the figure
	@.ci/venv.sh dev
	@eval "set -- $$TQ_NB"; .venv/bin/python .ci/check_lab.py "$$@"; $(leave)

dist: ## sdist and wheel in dist/
	@.ci/venv.sh dev
	@rm -rf dist build && .venv/bin/python -m pip --disable-pip-version-check -q install build==1.6.1 && .venv/bin/python -m build -q

reference: ## run transformers' Gemma 4, in an environment of its own (1.5 GB), and store its logits for chapter 12
	@.ci/venv.sh dev
	@.venv/bin/python .ci/reference.py

clean: ## remove .venv and everything built
	rm -rf .venv .venv-reference build dist _docs _proc _site_src *.egg-info
	find . -name __pycache__ -o -name .ipynb_checkpoints | xargs rm -rf

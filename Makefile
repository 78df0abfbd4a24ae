# turboquant: `make help` lists what there is to do. Works with GNU make 3.81 (macOS) and newer.
SHELL = /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help chat test lab export readme site dist clean

# What a user types goes to the programs through the environment, read by neither make nor the shell:
# quotes, dollars and apostrophes in PROMPT arrive as they are.
unexport PROMPT MODEL KV BLAS PYTHON
export TQ_PROMPT := $(value PROMPT)
export TQ_MODEL := $(value MODEL)
export TQ_KV := $(value KV)
ifneq ($(value PYTHON),)
export PYTHON := $(value PYTHON)
endif
ifneq ($(value BLAS),)
export TURBOQUANT_BLAS := $(value BLAS)
endif
extras = $(if $(filter mkl,$(value BLAS)),mkl)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r a b; do printf '%-14s %s\n' "$$a" "$$b"; done

chat: ## talk to a model; PROMPT="..." answers once; also MODEL=, KV=, BLAS=mkl, ARGS="--temp 0.7 ..."
	@.ci/venv.sh chat $(extras)
	@set --; \
	[ -z "$$TQ_MODEL" ] || set -- "$$@" --model "$$TQ_MODEL"; \
	[ -z "$$TQ_KV" ] || set -- "$$@" --kv "$$TQ_KV"; \
	[ -z "$$TQ_PROMPT" ] || set -- "$$@" --prompt "$$TQ_PROMPT"; \
	exec .venv/bin/turboquant-chat "$$@" $(ARGS)

test: ## run every notebook and the hygiene checks; NB="nbs/01*.ipynb" for some, FLAGS="slow weights" to run those cells too
	@rm -f .venv/summary
	@.ci/venv.sh chat dev $(extras)
	@.venv/bin/python .ci/tests.py --flags "$(FLAGS)" $(NB)

lab: ## JupyterLab on the notebooks
	@.ci/venv.sh chat dev $(extras)
	@cd nbs && exec ../.venv/bin/jupyter lab $(ARGS)

export: ## write the modules from the notebooks, clean the notebooks, render README.md
	@.ci/venv.sh dev
	@.venv/bin/nbdev_export && .venv/bin/nbdev_clean && .venv/bin/python .ci/readme.py

readme: ## README.md from nbs/index.ipynb
	@.ci/venv.sh dev
	@.venv/bin/python .ci/readme.py

site: ## the book as a website in _docs, without Quarto
	@.ci/venv.sh dev
	@.venv/bin/python .ci/build_site.py

dist: ## sdist and wheel in dist/
	@.ci/venv.sh dev
	@rm -rf dist build && .venv/bin/python -m pip --disable-pip-version-check -q install build && .venv/bin/python -m build -q

clean: ## remove .venv and everything built
	rm -rf .venv build dist _docs _proc _site_src *.egg-info
	find . -name __pycache__ -o -name .ipynb_checkpoints | xargs rm -rf

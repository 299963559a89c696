# Run `make` to see what it can do.

VENV ?= .venv
# The Python to make the environment with; unset, the first fitting one is taken.
PYTHON ?=
# The extras of pyproject.toml to install, kept by an environment once it is made.
EXTRAS ?= $(shell cat $(VENV)/.extras 2>/dev/null || echo torchtext,dev)
# More packages for the environment, such as torch==2.13.0; kept likewise.
PACKAGES ?= $(shell cat $(VENV)/.packages 2>/dev/null)
# Handed to the command that a target runs.
ARGS ?=

RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --disable-pip-version-check
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
# What ends the three trainings that the tour shows; where it is missing, they are run.
TOUR_RUNS := $(patsubst %,runs/tour/%/test/results.json,additive dot multi_head)
comma := ,
space := $() $()

.PHONY: help env train tour test test-slow check format clean FORCE

help: ## print this list
	@echo 'usage: make TARGET [NAME=VALUE ...]'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s  %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo 'examples:'
	@echo '  make env PYTHON=python3.11        name the Python to use'
	@echo '  make env EXTRAS=dev               do without torchtext (any torch from 2.3, Python from 3.10)'
	@echo '  make train ARGS="data=multi30k"   choose and override settings'
	@echo '  make test ARGS="-k makefile -x"   hand options to pytest'

env: $(READY) ## make the environment in .venv, where it is missing or out of date
	@echo "$(VENV) is ready ($$($(RUN) --version), $(EXTRAS)); to have it made anew, remove it"

train: $(READY) ## train a model; settings in ARGS
	$(RUN) scripts/train.py $(ARGS)

tour: $(TOUR_RUNS) ## write docs/tour; first trains three small models, once
	$(RUN) scripts/tour.py checkpoints=[$(subst $(space),$(comma),$(^:/test/results.json=/best))] $(ARGS)

runs/tour/%/test/results.json: | $(READY)
	if [ -d runs/tour/$*/last ]; then $(RUN) scripts/train.py resume=runs/tour/$*; \
	else $(RUN) scripts/train.py run_dir=runs/tour/$* model/attention=$* tokenizer=word training.max_epochs=4; fi

test: $(READY) ## run the tests, but for the slow ones; pytest's options in ARGS
	$(RUN) -m pytest $(ARGS)

test-slow: $(READY) ## run the slow tests, which take minutes
	$(RUN) -m pytest -m slow $(ARGS)

check: $(READY) ## check format, lint and types
	$(RUN) -m ruff format --check
	$(RUN) -m ruff check
	$(RUN) -m mypy

format: $(READY) ## apply the standard format and the safe fixes
	$(RUN) -m ruff check --fix-only --quiet
	$(RUN) -m ruff format

clean: ## remove caches and build leftovers (environments, data and runs stay)
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is whole when its last step has written the name of this folder into it. So one
# cut short in the making, one whose Python is gone, and one moved along with its folder are made
# anew; a whole one that is older than pyproject.toml, or that was made with other extras or packages
# than those asked for, is brought up to date.
WHOLE := $(shell test -x $(RUN) && cat $(READY) 2>/dev/null)
WITH := $(shell cat $(VENV)/.extras $(VENV)/.packages 2>/dev/null)
ifneq ($(WHOLE) $(strip $(WITH)),$(CURDIR) $(strip $(EXTRAS) $(PACKAGES)))
$(READY): FORCE
endif

$(READY): pyproject.toml
	@fail() { echo "error: $$1" >&2; exit 1; }; \
	if [ '$(WHOLE)' = '$(CURDIR)' ]; then \
	    echo "Bringing $(VENV) up to date with pyproject.toml."; \
	else \
	    $(FIND_PYTHON); \
	    if [ -e $(VENV) ] && [ ! -e $(VENV)/pyvenv.cfg ]; then \
	        fail "$(VENV) exists, but is no Python environment; remove it, or name another: make env VENV=.venv-2"; \
	    fi; \
	    echo "Making $(VENV) with $$python ($$version), for $(EXTRAS)."; \
	    echo "This takes some minutes and, on Linux, downloads about 3 GB, most of it CUDA for torch."; \
	    "$$python" -m venv --clear $(VENV) || fail "$$python could not make $(VENV)"; \
	fi; \
	rm -f $@; \
	$(PIP) --quiet 'pip>=22' && $(PIP) --editable '.[$(EXTRAS)]' $(PACKAGES) || \
	    fail "pip could not install everything (its words stand above); 'make env' tries again"; \
	echo '$(EXTRAS)' > $(VENV)/.extras; \
	echo '$(PACKAGES)' > $(VENV)/.packages; \
	echo '$(CURDIR)' > $@

ifneq ($(findstring torchtext,$(EXTRAS)),)
VERSIONS := 3.10, 3.11 or 3.12 (torchtext 0.18 has no build for others)
REMEDY := install one, name it (make env PYTHON=python3.11), or do without torchtext (make env EXTRAS=dev)
FITS := (3, 10) <= sys.version_info < (3, 13)
else
VERSIONS := 3.10 or newer
REMEDY := install one, or name it (make env PYTHON=python3.11)
FITS := (3, 10) <= sys.version_info
endif

# Sets `python` and `version`, or ends with one line. A candidate counts only if it runs (a pyenv
# shim may not) and can make environments (Debian keeps that in a package of its own).
define FIND_PYTHON
python=; found=; bare=; \
for candidate in $(if $(PYTHON),'$(PYTHON)',python3.11 python3.12 python3.10 python3 python); do \
    ask() { "$$candidate" -c "import sys; $$1" </dev/null 2>/dev/null; }; \
    version=$$(ask 'print("%d.%d.%d" % sys.version_info[:3])') || continue; \
    case ", $$found," in *", $$version,"*) ;; *) found="$$found$${found:+, }$$version" ;; esac; \
    [ "$$(ask 'print($(FITS))')" = True ] || continue; \
    if ask 'import ensurepip, venv'; then python=$$candidate; break; fi; \
    bare="$$candidate ($$version)"; \
done; \
if [ -z "$$python" ] && [ -n "$$bare" ]; then \
    fail "$$bare lacks the venv module; install it (Debian, Ubuntu: apt install python3-venv)"; \
elif [ -z "$$python" ]; then \
    fail "needs Python $(VERSIONS), but found $${found:-$(if $(PYTHON),that $(PYTHON) does not run,none)}; $(REMEDY)"; \
fi
endef

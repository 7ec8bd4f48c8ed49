# Two commands matter: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
DEMO ?= demo

.PHONY: demo test test-all test-plain test-torch minecraft minecraft-viewer test-minecraft lint types bench chromium egl clean lock

demo: $(VENV)/.base egl
	$(BIN)/worldgauge collect loopnav --out $(DEMO)/data --settlements 2 --ranges 5,15 --per-combination 1 \
	  --size 256x144 --workers $(WORKERS)
	$(BIN)/worldgauge run loopnav --data $(DEMO)/data --references --out $(DEMO)/runs --workers $(WORKERS)
	$(BIN)/worldgauge report $(DEMO)/runs --out $(DEMO)/report.html
	$(BIN)/worldgauge collect target --out $(DEMO)/target/data --scenes 2 --per-scene 1 --size 480x270 --workers $(WORKERS)
	$(BIN)/worldgauge run target --data $(DEMO)/target/data --model truth --model render --model ahead --model freeze \
	  --set fps=12 --out $(DEMO)/target/runs --workers $(WORKERS)
	$(BIN)/worldgauge report $(DEMO)/target/runs --out $(DEMO)/target/report.html
	$(BIN)/worldgauge collect mind --out $(DEMO)/mind/data --mem 3 --action-space 1 --mirror 1 --train 0 --frames 108 \
	  --size 256x144 --workers $(WORKERS)
	$(BIN)/worldgauge run mind --data $(DEMO)/mind/data --model memory --model noise \
	  --set poses=exact --out $(DEMO)/mind/runs --workers $(WORKERS)
	$(BIN)/worldgauge report $(DEMO)/mind/runs --out $(DEMO)/mind/report.html
	$(BIN)/worldgauge collect closedloop --out $(DEMO)/closedloop/data --scenes 2 --recognition 4 --navigation 4 --questions 4 \
	  --manipulation 4 --size 512x288 --workers $(WORKERS)
	$(BIN)/worldgauge run closedloop --data $(DEMO)/closedloop/data --model oracle --model warp --model freeze \
	  --set view_px=160 --set panorama_px=512 --out $(DEMO)/closedloop/runs --workers $(WORKERS)
	$(BIN)/worldgauge report $(DEMO)/closedloop/runs --out $(DEMO)/closedloop/report.html
	$(BIN)/worldgauge collect build --out $(DEMO)/build/data --structures 12 --stimuli 2 --commonsense 16 --workers $(WORKERS)
	$(BIN)/worldgauge run build --data $(DEMO)/build/data --references --out $(DEMO)/build/runs --workers $(WORKERS)
	$(BIN)/worldgauge report $(DEMO)/build/runs --out $(DEMO)/build/report.html

test: $(VENV)/.dev $(VENV)/.other chromium egl
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m "not slow"

test-all: $(VENV)/.dev $(VENV)/.other chromium egl test-torch
	$(BIN)/pytest -n $(WORKERS) --dist loadfile
	OMP_NUM_THREADS=1 $(VENV)/torch/bin/python -m pytest -n $(WORKERS) --dist loadfile -m slow tests/perception/networks

# What a plain install can do: an environment without any extra, and nothing of this folder on its path.
test-plain: $(VENV)/.dev $(VENV)/plain/.made
	WORLDGAUGE_PLAIN=$(abspath $(VENV))/plain/bin/python $(BIN)/pytest -n $(WORKERS) tests/test_plain_install.py

# Networks and adapters with random weights of the published form, in an environment that has torch.
test-torch: $(VENV)/torch/.made
	OMP_NUM_THREADS=1 $(VENV)/torch/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" \
	  tests/perception/networks tests/weights tests/models/adapters tests/perception/decoders/adapters tests/suites/closedloop/manipulation/adapters

# Node packages of the game's physics, planner and server, into the user's cache; Node itself where there is none.
minecraft: $(VENV)/.base
	$(BIN)/python -c "from worldgauge.worlds.minecraft.install import find_node; find_node()" 2>/dev/null \
	|| $(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[minecraft]'
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[structures]'
	$(BIN)/worldgauge minecraft install

# The renderer of the published frames: it compiles parts of itself.
minecraft-viewer: minecraft
	$(BIN)/worldgauge minecraft install --viewer

test-minecraft: $(VENV)/.dev minecraft
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m "minecraft and not slow" tests/worlds/minecraft

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The page tests drive a real browser; without one they skip and say so.
chromium:
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	|| echo "no Chromium and no way to install it here: browser tests will skip"

# The arm's table is drawn by Mesa in software, without a screen.
egl:
	@ldconfig -p 2>/dev/null | grep -q 'libEGL_mesa' || ls /usr/lib/*/libEGL_mesa.so* >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libegl1 libgl1-mesa-dri >/dev/null; } \
	|| echo "no EGL and no way to install it here (Debian: libegl1 libgl1-mesa-dri): the table with the arm cannot be drawn"

$(VENV)/.base: pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[manipulation,policies,sfm]'
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]'
	touch $@

# A model's own environment, for the tests: another numpy than ours allows, and an older Python where there is one.
$(VENV)/.other: $(VENV)/.dev
	rm -rf $(VENV)/other
	for python in python3.8 $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.8*/bin/python python3.9 python3.10 $(PYTHON); do \
	  $$python -c 'import ensurepip' 2>/dev/null && $$python -m venv $(VENV)/other && break; done
	$(VENV)/other/bin/python -m pip install --quiet --only-binary :all: 'numpy<2' \
	|| { echo "no numpy < 2 for any Python here: the tests of another environment will skip"; rm -rf $(VENV)/other; }
	touch $@

$(VENV)/plain/.made: pyproject.toml requirements.lock $(shell find src -name '*.py')
	test -x $(VENV)/plain/bin/python || $(PYTHON) -m venv $(VENV)/plain
	$(VENV)/plain/bin/python -m pip install --quiet --constraint requirements.lock .
	touch $@

# torch first and pinned, so that nothing that wants it brings another.
$(VENV)/torch/.made: $(VENV)/.base
	rm -rf $(VENV)/torch
	$(PYTHON) -m venv $(VENV)/torch
	$(VENV)/torch/bin/python -m pip install --quiet torch==2.13.0
	$(VENV)/torch/bin/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]' diffusers==0.42.1 transformers==5.23.0 safetensors
	touch $@

# Versions that are known to work together; refresh with `make lock` in a clean environment.
lock:
	$(BIN)/python -m pip freeze --exclude-editable --exclude worldgauge > requirements.lock

clean:
	rm -rf $(VENV) $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis

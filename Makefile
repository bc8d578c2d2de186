# make demo    build, and run every example kernel and a transformer block of them beside torch; draws demo.png
# make train   build, and train a small transformer on our operators, and the same in torch; draws training.png
# make test    build, and run the tests, but those that take minutes
# make test-all   build, and run all tests: with a build of the source distribution and hundreds of Wave kernels; then asan,
#              tsan and fuzz
# make test-wave   compile hundreds of Wave kernels, and compare each with torch
# make test-wave-lang WAVE_SOURCE=path   run wave-lang's own tests, of a checkout of iree-org/wave at v3.9.1 or at ceaa2b57, on CPU
#              tensors
# make test-iree-turbine TURBINE_SOURCE=path   run iree-turbine's tests of its runtime and operators, of a checkout at
#              v3.9.0, on ours
# make test-triton TRITON_SOURCE=path   run Triton's own tests, of a checkout of triton-lang/triton at v3.9.0, on an emulated GPU
# make test-inductor PYTORCH_SOURCE=path   run PyTorch's own tests of Inductor, of a checkout at the release that is installed, on
#              Triton kernels for an emulated GPU
# make test-pyhip PYHIP_SOURCE=path   run PyHIP's tests, of a checkout of tingqli/pyhip, on an emulated GPU (docs/pyhip.md says what it needs)
# make test-flydsl FLYDSL_SOURCE=path   run FlyDSL's tests of its language, of a checkout of ROCm/FlyDSL, on an emulated GPU
# make test-tinygrad TINYGRAD_SOURCE=path   run the tests of RDNA3's instructions that a checkout of tinygrad/tinygrad has
# make campaign-hecbench HECBENCH_SOURCE=path   build and run programs of zjin-lcf/HeCBench on the emulator
# make campaign-aiter AITER_SOURCE=path   count the instructions of ROCm/aiter's hand-written code objects that run, launch
#              its kernels beside torch, and write benchmarks/results/aiter.json and docs/emulator.md: twenty minutes
# make campaign-random   try random kernels for all processors against the host, in waves of either size, campaign_programs of
#              each (30), and write benchmarks/results/random_kernels.json and docs/figures.md
# make campaign-hip-tests HIP_TESTS_SOURCE=path HIP_TESTS_BUILD=path   run HIP's own tests, of a checkout of ROCm/hip-tests and the
#              folder where they were built, on the emulator: hours. hip_tests_options="memory graph" says which folders
# make campaign-rocm-tests   run a sample of the tests of ROCm's libraries, which Debian has as packages, on the emulator: an hour.
#              ROCM_ROOT=path is a system in a folder, rocm_tests_options="librocrand1-tests --sample 50" says what runs
# make campaign-fuzz   make fuzz, whose runs are added to benchmarks/results/fuzz.json and docs/figures.md
# make figures measure what docs/ quotes, write it to benchmarks/results, and the tables of docs/ from there
# make bench   measure the emulator, kept sources, a model of many launches and, where there is an NVIDIA GPU, launches and modules
# make lint    ruff, mypy, clang-format
# make fuzz    a minute each of fuzzing: code objects read, code objects launched, streams of instructions (needs clang with
#              libFuzzer); random kernels against the host (needs clang-22)
# make tsan   launch kernels from several threads and streams under ThreadSanitizer
# make asan   the same under AddressSanitizer and UndefinedBehaviorSanitizer, and the emulator's tests in Python
# make mutants   break the product in MUTANTS small ways, one at a time, and report what the tests do not notice: hours
# make wave    install the Wave compiler, for the tests that rebuild the example kernels with it
# make triton  install Triton, for the tests that run its kernels
# make flydsl  install FlyDSL (270 MB), for the test that runs a kernel of it
# make sycl    install Intel's SYCL runtime and its device for CPUs (1.5 GB), for the tests of Intel's code
# make wheels  make the wheel for all releases of torch and all Pythons in dist/, and try it in empty environments: first a
#              quarter of an hour, and some gigabytes for torch's wheels. wheel_environments= says which: PYTHON=TORCH ...
# make wheel   make the wheel for the torch that is installed, and try it outside the tree
# make docs    the documentation as a site, in build/site
# make clean   remove what was built, .venv included
#
# DEVICE  where the demo and the training run: cpu, cuda, cuda:1; by default the CPU, for the demo also a GPU that the
#         Wave kernels fit
# TARGET  for the demo: another AMD processor than gfx942, whose code the emulator runs; needs clang
# TORCH   what pip installs where the environment has no torch
# test_processes   that run the tests side by side: 3, which keep two cores busy: many wait for what they start
# WAVE_PYTHON   of `make test-wave-lang`, for sources after 3.9.1: the Python of an environment that has what they need
# wave_tests   of `make test-wave-lang`: files, folders or ids of tests; by default all
# wave_target  of `make test-wave-lang`: the processor; by default gfx942
# wave_sample  of `make test-wave-lang`: so many cases of each test function, drawn at random, each time the same; by default all
# wave_timeout of `make test-wave-lang`: seconds after which a test is stopped; by default 600
# triton_tests   of `make test-triton`: files, folders or ids of tests, relative to python/ of the checkout; by default
#         test/unit/language test/unit/runtime
# triton_sample   of `make test-triton`: so many tests, drawn at random, each time the same; by default all
# triton_target   of `make test-triton`: the processor; by default gfx942
# inductor_sample   of `make test-inductor`: so many tests; by default 300. triton_target says the processor
# turbine_tests   of `make test-iree-turbine`: the same; by default tests/runtime tests/ops
# flydsl_tests   of `make test-flydsl`: by default tests/extension/coop tests/language tests/system
# tinygrad_tests   of `make test-tinygrad`: by default test/amd/hw; others run through HIP, for which tinygrad wants libamd_comgr
# hecbench_options   of `make campaign-hecbench`: options of benchmarks/run_hecbench.py, and names of programs
# RECORD  of make test-triton, test-inductor, test-wave-lang, test-pyhip, test-flydsl, test-tinygrad: 1 writes what came of the run into
#         benchmarks/results, and the tables of docs/ from there
# MUTANTS   how many `make mutants` draws: 200
# VENV    the environment; one that exists is used as it is
# PYTHON  the interpreter that makes it

PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV ?= .venv
CLANGXX ?= $(firstword $(foreach name,clang++-22 clang++-19 clang++,$(shell command -v $(name))) clang++)
FUZZ_SECONDS ?= 60
MUTANTS ?= 200

python := $(VENV)/bin/python
tests ?= tests
test_processes ?= 3
export PYTHONPATH := $(CURDIR)
# Hundreds of processes import the same files: where it is set, each compiles them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: build demo train test test-all test-wave test-wave-lang test-iree-turbine test-triton test-inductor test-pyhip test-flydsl test-tinygrad campaign-hecbench campaign-aiter campaign-random campaign-hip-tests campaign-rocm-tests campaign-fuzz figures bench lint fuzz tsan asan asan-python mutants wave triton flydsl sycl wheels wheel docs clean

build: $(VENV)/.wave-runtime-ready
	@$(python) tools/build_package.py build/log

demo: build
	@$(python) examples/transformer.py $(if $(DEVICE),--device $(DEVICE)) $(if $(TARGET),--target $(TARGET))

train: build
	@$(python) examples/train_tiny_transformer.py --compare $(if $(DEVICE),--device $(DEVICE))

# A file's tests share what its fixtures make, so they stay in one process; files go out in their order, the longest first.
test: build $(VENV)/.wave-runtime-dev
	$(python) -m pytest -n $(test_processes) --dist loadfile --no-loadscope-reorder $(tests)

test-all: wave triton build $(VENV)/.wave-runtime-dev
	$(python) -m pytest -n $(test_processes) --dist loadfile --no-loadscope-reorder -m '' $(tests)
	$(MAKE) asan tsan fuzz

test-wave: wave build $(VENV)/.wave-runtime-dev
	$(python) -m pytest tests/wave -m ''

# Before a command that runs another project's tests in the root of its checkout: a file of benchmarks/results, and the run's name.
recorded = $(if $(RECORD),'$(abspath $(python))' '$(CURDIR)/tools/record_suite.py' '$(CURDIR)/benchmarks/results/$(1).json' '$(strip $(2))' . --)
drawn = $(if $(1), $(1) drawn)

# Either version. The one after 3.9.1 is compiled with another IREE, in an environment that has what it needs besides.
wave_is_next := $(wildcard $(WAVE_SOURCE)/third_party/ixsimpl)
wave_python := $(abspath $(if $(wave_is_next),$(WAVE_PYTHON),$(python)))

test-wave-lang: wave build $(VENV)/.wave-runtime-dev
	@test -d '$(WAVE_SOURCE)/tests/kernel' || { echo "WAVE_SOURCE=path names a checkout of iree-org/wave"; exit 1; }
	@test -x '$(wave_python)' || { echo "Wave's sources after 3.9.1 want WAVE_PYTHON=path: the Python of an environment with the \
	packages of requirements-wave-next.txt, torch, and ixsimpl, which Wave's own setup builds"; exit 1; }
	cd '$(WAVE_SOURCE)' && PYTHONPATH='$(CURDIR)' \
	  $(call recorded,wave_lang$(if $(wave_is_next),_next)_tests,$(or $(wave_target),gfx942) $(wave_tests)$(call drawn,$(wave_sample))) \
	  '$(wave_python)' -m pytest -p wave_runtime.wave_lang.pytest --run-e2e \
	  $(addprefix --wave-emulate=,$(wave_target)) $(addprefix --sample-each=,$(wave_sample)) -o timeout=$(or $(wave_timeout),600) \
	  --known-failures='$(CURDIR)/tests/upstream/known_failures$(if $(wave_is_next),_next).txt' \
	  $(or $(wave_tests),tests/kernel$(if $(wave_is_next),,/wave))

test-iree-turbine: wave build $(VENV)/.wave-runtime-dev
	@test -d '$(TURBINE_SOURCE)/tests/runtime' || \
	  { echo "TURBINE_SOURCE=path names a checkout of iree-org/iree-turbine"; exit 1; }
	$(python) -m pip install --quiet parameterized decorator
	cd '$(TURBINE_SOURCE)' && PYTHONPATH='$(CURDIR):$(CURDIR)/tests/upstream:$(abspath $(TURBINE_SOURCE))' \
	  '$(abspath $(python))' -m pytest -p turbine_plugin $(or $(turbine_tests),tests/runtime tests/ops)

# With a limit of time for each, since one may hang, and exact sums, since references are close.
test-triton: triton build $(VENV)/.wave-runtime-dev
	@test -d '$(TRITON_SOURCE)/python/test/unit' || { echo "TRITON_SOURCE=path names a checkout of triton-lang/triton"; exit 1; }
	$(python) -m pip install --quiet scipy expecttest cloudpickle
	cd '$(TRITON_SOURCE)' && TRITON_DEFAULT_FP_FUSION=1 WAVE_RUNTIME_MFMA=exact \
	  $(call recorded,triton_tests,$(or $(triton_target),gfx942) $(triton_tests)$(call drawn,$(triton_sample))) \
	  '$(abspath $(python))' -m pytest -p wave_runtime.pytest \
	  --wave-emulate=$(or $(triton_target),gfx942) --known-failures='$(CURDIR)/tests/with_triton/known_failures.txt' \
	  --rootdir='$(abspath $(TRITON_SOURCE))' -o timeout=300 $(addprefix --sample=,$(triton_sample)) \
	  $(addprefix python/,$(or $(triton_tests),test/unit/language test/unit/runtime))

# Not in the checkout's root, whose torch is not built; and without its conftest.py, which is for its own runner.
test-inductor: triton build $(VENV)/.wave-runtime-dev
	@test -f '$(PYTORCH_SOURCE)/test/inductor/test_torchinductor.py' || { echo "PYTORCH_SOURCE=path names a checkout of pytorch"; exit 1; }
	$(python) -m pip install --quiet expecttest
	cd '$(PYTORCH_SOURCE)/test' && TRITON_DEFAULT_FP_FUSION=1 \
	  $(call recorded,inductor_tests,$(or $(triton_target),gfx942) $(or $(inductor_sample),300) drawn) \
	  '$(abspath $(python))' -m pytest -c /dev/null --noconftest \
	  -p wave_runtime.pytest --wave-emulate=$(or $(triton_target),gfx942) --wave-inductor \
	  --known-failures='$(CURDIR)/tests/with_triton/known_failures_of_inductor.txt' --rootdir='$(abspath $(PYTORCH_SOURCE))' \
	  -o timeout=300 --sample=$(or $(inductor_sample),300) -k CpuTests inductor/test_torchinductor.py

# Its own pytest.ini has pytest load all modules by itself: so the plugin is to begin the emulation. test_gemm takes minutes a case.
test-pyhip: build $(VENV)/.wave-runtime-dev
	@test -d '$(PYHIP_SOURCE)/tests/core' || { echo "PYHIP_SOURCE=path names a checkout of tingqli/pyhip"; exit 1; }
	cd '$(PYHIP_SOURCE)' && $(call recorded,pyhip_tests,$(or $(triton_target),gfx942)) \
	  '$(abspath $(python))' -m wave_runtime emulate --target $(or $(triton_target),gfx942) -- '$(abspath $(python))' -m pytest \
	  -p wave_runtime.pytest --wave-emulate=$(or $(triton_target),gfx942) --ignore-glob='*test_gemm*' tests/core

# It looks for a linker below ROCM_PATH, and for device libraries, which Triton's wheel has.
test-flydsl: flydsl triton build $(VENV)/.wave-runtime-dev
	@test -d '$(FLYDSL_SOURCE)/tests/language' || { echo "FLYDSL_SOURCE=path names a checkout of ROCm/FlyDSL"; exit 1; }
	@mkdir -p build/flydsl/llvm/bin build/flydsl/amdgcn
	@ln -sf "$$(command -v ld.lld-22 || command -v ld.lld)" build/flydsl/llvm/bin/ld.lld
	@ln -sfn "$$($(python) -c 'from triton.backends import amd; print(*amd.__path__)')/lib" build/flydsl/amdgcn/bitcode
	@$(python) -m wave_emulator link build/flydsl/lib
	cd '$(FLYDSL_SOURCE)' && ROCM_PATH='$(CURDIR)/build/flydsl' FLYDSL_GPU_ARCH=$(or $(triton_target),gfx942) \
	  LD_LIBRARY_PATH='$(CURDIR)/build/flydsl/lib' $(call recorded,flydsl_tests,$(or $(triton_target),gfx942) $(flydsl_tests)) \
	  '$(abspath $(python))' -m wave_runtime emulate --target $(or $(triton_target),gfx942) -- '$(abspath $(python))' -m pytest \
	  -m 'not large_shape' $(or $(flydsl_tests),tests/extension/coop tests/language tests/system)

# What is written for CDNA loads its arguments with s0 added to the address, which only tinygrad's own emulator ignores.
test-tinygrad: build $(VENV)/.wave-runtime-dev
	@test -d '$(TINYGRAD_SOURCE)/test/amd/hw' || { echo "TINYGRAD_SOURCE=path names a checkout of tinygrad/tinygrad"; exit 1; }
	@$(python) -m wave_emulator link build/tinygrad/lib
	cd '$(TINYGRAD_SOURCE)' && DEV=HIP ROCM_PATH='$(CURDIR)/build/tinygrad' WAVE_RUNTIME_EMULATOR_PROCESSOR=$(or $(triton_target),gfx1151) \
	  PYTHONPATH='$(CURDIR):$(CURDIR)/tests/with_tinygrad:$(abspath $(TINYGRAD_SOURCE))' \
	  $(call recorded,tinygrad_tests,$(or $(triton_target),gfx1151) $(tinygrad_tests)) \
	  '$(abspath $(python))' -m pytest -p tinygrad_plugin --rdna3=$(or $(triton_target),gfx1151) --ignore-glob='*cdna*' \
	  -o timeout=300 $(or $(tinygrad_tests),test/amd/hw)

campaign-hecbench: build
	@test -d '$(HECBENCH_SOURCE)/src' || { echo "HECBENCH_SOURCE=path names a checkout of zjin-lcf/HeCBench"; exit 1; }
	cd '$(HECBENCH_SOURCE)' && '$(abspath $(python))' '$(CURDIR)/tools/record_suite.py' '$(CURDIR)/benchmarks/results/hecbench.json' \
	  '$(strip $(or $(triton_target),gfx942) $(hecbench_options))' . -- '$(abspath $(python))' '$(CURDIR)/benchmarks/run_hecbench.py' src \
	  $(hecbench_options)

campaign-aiter: build $(VENV)/.wave-runtime-dev
	@test -d '$(AITER_SOURCE)/hsa' || { echo "AITER_SOURCE=path names a checkout of ROCm/aiter"; exit 1; }
	$(python) tests/aiter/campaign.py '$(AITER_SOURCE)' --json benchmarks/results/aiter.json; $(python) tools/generate_figures.py

random_kernels = PYTHONPATH='$(CURDIR):$(CURDIR)/tests' $(python) tests/emulator/test_random_kernels.py

campaign-random: build $(VENV)/.wave-runtime-dev
	$(random_kernels) --target all --first 1000 \
	  --count $(or $(campaign_programs),30) --processes $(or $(test_processes),2) \
	  --json benchmarks/results/random_kernels.json; $(python) tools/generate_figures.py

campaign-hip-tests: build $(VENV)/.wave-runtime-dev
	@test -d '$(HIP_TESTS_BUILD)/catch_tests' || { echo "HIP_TESTS_BUILD=path names the folder where ROCm/hip-tests was built"; exit 1; }
	$(python) benchmarks/run_hip_tests.py '$(HIP_TESTS_SOURCE)' '$(HIP_TESTS_BUILD)' \
	  --json benchmarks/results/hip_tests.json $(hip_tests_options)
	$(python) tools/generate_figures.py

campaign-rocm-tests: build $(VENV)/.wave-runtime-dev
	$(python) benchmarks/run_rocm_tests.py --root '$(or $(ROCM_ROOT),/)' --json benchmarks/results/rocm_tests.json $(rocm_tests_options)
	$(python) tools/generate_figures.py

campaign-fuzz:
	$(MAKE) fuzz FUZZ_RESULTS=benchmarks/results/fuzz.json
	$(python) tools/generate_figures.py

# What can be measured here: the last two need an NVIDIA GPU.
figures: triton sycl build
	$(python) benchmarks/bench_compile.py --json benchmarks/results/compile.json
	$(python) benchmarks/bench_sanitize.py --json benchmarks/results/sanitize.json
	$(python) benchmarks/bench_sycl.py --json benchmarks/results/sycl.json
	$(python) benchmarks/bench_triton.py --json benchmarks/results/triton.json
	$(python) benchmarks/bench_emulator.py --json benchmarks/results/emulator$(if $(filter 16,$(shell nproc)),_16_cores).json
	$(python) tools/measure_math.py --json benchmarks/results/math.json
	if $(python) -c 'import sys, torch; sys.exit(not torch.version.cuda or not torch.cuda.is_available())'; then \
	  $(python) benchmarks/bench_launch.py --json benchmarks/results/launch.json && \
	  $(python) benchmarks/bench_model.py --json benchmarks/results/model.json; fi
	$(python) tools/generate_figures.py

bench: triton build
	$(python) benchmarks/bench_emulator.py --json build/bench_emulator.json --plot build/bench_emulator.png
	$(python) benchmarks/bench_lanes.py --json build/bench_lanes.json
	$(python) benchmarks/bench_sanitize.py --json build/bench_sanitize.json
	$(python) benchmarks/bench_compile.py --json build/bench_compile.json
	$(python) benchmarks/bench_launch.py --json build/bench_launch.json --plot build/bench_launch.png
	$(python) benchmarks/bench_model.py --json build/bench_model.json --plot build/bench_model.png
	$(python) benchmarks/bench_modules.py --json build/bench_modules.json
	$(python) benchmarks/bench_triton.py --json build/bench_triton.json

lint: build $(VENV)/.wave-runtime-dev
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy
	$(python) -m mypy.stubtest --allowlist tests/stubtest_allowlist.txt wave_runtime._C
	git ls-files -- '*.h' '*.hpp' '*.inl' 'tests/cpp/*.c' '*.cpp' | xargs $(VENV)/bin/clang-format --dry-run -Werror

# The emulator and its HIP library with a program that uses them, in one: a sanitizer must see all of it.
sanitized := $(wildcard $(patsubst %,csrc/%/*.cpp,base code_object emulator emulator/isa hip_emulator)) \
  $(filter-out tests/cpp/hip_types_test.cpp,$(wildcard tests/cpp/hip_*_test.cpp))
headers := $(shell find csrc tests/cpp -name '*.h' -o -name '*.in[cl]')
sanitized_tests := tests/emulator tests/code_object tests/isa tests/test_load.py tests/test_run.py tests/test_arguments.py \
  tests/test_accesses.py tests/test_compare.py tests/test_geometry.py tests/test_operator.py \
  tests/test_hip_emulator.py::test_program
sanitized_flags := -std=c++20 -g -O1 -DWAVE_WITHOUT_TAIL_CALLS -ffp-contract=off -Icsrc -Itests/cpp

build/tsan/%.o: %.cpp $(headers)
	@mkdir -p $(@D)
	$(CXX) $(sanitized_flags) -fsanitize=thread -c -o $@ $<

build/asan/%.o: %.cpp $(headers)
	@mkdir -p $(@D)
	$(CXX) $(sanitized_flags) -fsanitize=address,undefined -fno-sanitize-recover=all -c -o $@ $<

build/tsan/test: $(sanitized:%.cpp=build/tsan/%.o)
	$(CXX) -fsanitize=thread -rdynamic -o $@ $^ -ldl

build/asan/test: $(sanitized:%.cpp=build/asan/%.o)
	$(CXX) -fsanitize=address,undefined -rdynamic -o $@ $^ -ldl

# Sources are compiled one by one, since the emulator's take minutes.
fuzzed := $(wildcard $(patsubst %,csrc/%/*.cpp,base code_object emulator emulator/isa))
fuzz_flags := -fno-sanitize-address-use-odr-indicator  # which clang gives to templates, too, once in each file
# FUZZ_RESULTS names a file to which each run is appended.
fuzz_run = UBSAN_OPTIONS=halt_on_error=1 $(if $(FUZZ_RESULTS),$(python) tools/record_fuzzing.py $(FUZZ_RESULTS) '$(2)' --) \
  $(1) -max_total_time=$(FUZZ_SECONDS) -timeout=30 -rss_limit_mb=2048 \
  -print_final_stats=1 -artifact_prefix=build/fuzz/$(notdir $(1))-

build/fuzz/%.o: %.cpp $(headers)
	@mkdir -p $(@D)
	$(CLANGXX) $(sanitized_flags) $(fuzz_flags) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

.SECONDARY: $(fuzzed:%.cpp=build/fuzz/%.o)
build/fuzz/%: build/fuzz/tests/cpp/%_fuzz.o $(fuzzed:%.cpp=build/fuzz/%.o)
	$(CLANGXX) -fsanitize=fuzzer,address,undefined -o $@ $^ -ldl

fuzz: build/fuzz/code_object build/fuzz/emulator build $(VENV)/.wave-runtime-dev
	@mkdir -p build/fuzz/corpus build/fuzz/streams build/fuzz/launches
	$(call fuzz_run,build/fuzz/code_object,damaged code objects: read) build/fuzz/corpus tests/code_object/corpus tests/code_object/nvidia
	$(call fuzz_run,build/fuzz/emulator,random instructions: launched) -max_len=202 -len_control=0 build/fuzz/streams
	$(call fuzz_run,build/fuzz/emulator,damaged code objects: launched) build/fuzz/launches tests/emulator/kernels tests/conformance
	$(random_kernels) --seconds $(FUZZ_SECONDS)

# The package, for the tests in Python. vptr would ask for type information that torch's libraries do not export.
build/asan/package/.built: export CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=vptr
build/asan/package/.built: export CXXFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=vptr
build/asan/package/.built: export LDFLAGS := -fsanitize=address,undefined
build/asan/package/.built: $(headers) $(shell find csrc -name '*.cpp') setup.py emulator/CMakeLists.txt | build
	@mkdir -p build/asan
	PATH='$(abspath $(VENV))/bin':"$$PATH" cmake -G Ninja -S . -B build/asan/cmake -DCMAKE_BUILD_TYPE=Debug \
	  -DPython_EXECUTABLE='$(abspath $(python))' -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=build/asan/package >build/asan/log
	PATH='$(abspath $(VENV))/bin':"$$PATH" cmake --build build/asan/cmake >>build/asan/log
	touch $@

# GCC 13 looks for uses of frames that have ended, too, where it misaligns vectors of 64 bytes (13.3 does).
asan: export ASAN_OPTIONS := detect_stack_use_after_return=0
tsan asan: %: build/%/test | build $(VENV)/.wave-runtime-dev
	WAVE_RUNTIME_TEST_PROGRAM=$< $(python) -m pytest tests/test_hip_emulator.py

# Python is not instrumented, so that the sanitizers' libraries must be loaded before it. What it never frees are no leaks.
asan: asan-python
asan-python: export ASAN_OPTIONS := detect_leaks=0:detect_stack_use_after_return=0
asan-python: build/asan/package/.built $(VENV)/.wave-runtime-dev
	LD_PRELOAD='$(foreach name,asan ubsan stdc++,$(shell $(CXX) -print-file-name=lib$(name).so))' \
	  UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=build/asan/package $(VENV)/bin/pytest --capture=sys $(sanitized_tests)

mutants: build $(VENV)/.wave-runtime-dev
	$(python) tools/mutate.py --count $(MUTANTS) --json build/mutants.json

wave: $(VENV)/.wave-runtime-ready
	$(python) -m pip install --quiet --no-deps -r requirements-wave.txt

triton: $(VENV)/.wave-runtime-ready
	$(python) -m pip install --quiet --no-deps -r requirements-triton.txt

flydsl: $(VENV)/.wave-runtime-ready
	$(python) -m pip install --quiet --no-deps -r requirements-flydsl.txt

sycl: $(VENV)/.wave-runtime-ready
	$(python) -m pip install --quiet -r requirements-sycl.txt

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.wave-runtime-ready
	$(python) -m pip install --quiet -r requirements-docs.txt
	$(python) -m mkdocs build --strict --quiet
	@echo "The documentation: build/site/index.html. With a search: $(python) -m http.server -d build/site"

wheel_environments ?= $(foreach release,2.10.0 2.13.0 newest,$(PYTHON)=$(release))

$(VENV)/.wave-runtime-wheels: requirements-wheels.txt | $(VENV)/.wave-runtime-dev
	@$(python) -m pip install --quiet -r requirements-wheels.txt
	@touch $@

wheels: $(VENV)/.wave-runtime-wheels
	$(python) tools/make_wheel.py $(if $(wheel_releases),--torch $(wheel_releases),--json benchmarks/results/wheel_sizes.json)
	$(python) tools/check_wheel.py --json benchmarks/results/wheels.json dist $(wheel_environments); status=$$?; \
	  $(python) tools/generate_figures.py; exit $$status

wheel: $(VENV)/.wave-runtime-wheels
	$(python) tools/make_wheel.py --here
	$(python) tools/check_wheel.py dist here

clean:
	rm -rf build dist *.egg-info .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis wave_emulator/*.so wave_runtime/torch_* demo.png training.png
	find . -name __pycache__ -not -path './.git/*' -exec rm -rf {} +

$(python):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or later is needed"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, os, sysconfig; os.stat(sysconfig.get_paths()["include"] + "/Python.h")' || \
	  { echo "$(PYTHON) lacks venv or the headers: install python3-venv and python3-dev, or set PYTHON"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.wave-runtime-ready: requirements-build.txt | $(python)
	@$(python) -c 'import torch' 2>/dev/null || { echo "Installing $(TORCH)"; $(python) -m pip install --quiet '$(TORCH)'; }
	@echo "Installing what building needs (requirements-build.txt)"
	@$(python) -m pip install --quiet -r requirements-build.txt
	@touch $@

$(VENV)/.wave-runtime-dev: requirements-dev.txt | $(VENV)/.wave-runtime-ready
	@echo "Installing what testing and linting need (requirements-dev.txt)"
	@$(python) -m pip install --quiet -r requirements-dev.txt
	@touch $@

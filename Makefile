# SPDX-License-Identifier: Apache-2.0
# Short names for the presets. `make run` and `make test` work on a fresh Debian 12 or Ubuntu 24.04.

JOBS ?= $(shell nproc)
BERTH := build/host/berth
EXAMPLE := build/example/cluster.json
EXAMPLE_SPEC := examples/cluster.yaml
RUN_ARGS ?=
# BERTH_WERROR=ON in the environment makes warnings errors, as .ci/run does.
CONFIGURE_ARGS := $(if $(BERTH_WERROR),-DBERTH_WERROR=$(BERTH_WERROR))

.PHONY: help run test bench asan ubsan tsan fuzz lint format clean dependencies

help:
	@echo 'make run     install what is missing, build, place the example cluster and print the report'
	@echo '             (RUN_ARGS="-o json" adds options of berth schedule)'
	@echo 'make test    the same set-up, then every test'
	@echo 'make bench   build the benchmarks (build/bench)'
	@echo 'make asan | ubsan | tsan    the tests under that sanitizer'
	@echo 'make fuzz    build the fuzz targets and run each for a few seconds'
	@echo 'make lint    formatting, clang-tidy, include direction, pages'
	@echo 'make format  clang-format on every tracked C++ file'
	@echo 'make clean   remove build/'

run:
	scripts/install_dependencies.sh build
	cmake --preset host -DBERTH_TESTS=OFF $(CONFIGURE_ARGS)
	cmake --build --preset host --target berth -j $(JOBS)
	@$(MAKE) --no-print-directory $(EXAMPLE)
	$(BERTH) schedule -f $(EXAMPLE) $(RUN_ARGS)

# Made by the program just built; made anew when the spec or the program is younger.
$(EXAMPLE): $(EXAMPLE_SPEC) $(BERTH)
	@mkdir -p $(@D)
	$(BERTH) generate --spec $(EXAMPLE_SPEC) --seed 1 -o $@

test:
	scripts/install_dependencies.sh build test
	cmake --preset host -DBERTH_TESTS=ON $(CONFIGURE_ARGS)
	cmake --build --preset host -j $(JOBS)
	ctest --preset host -j $(JOBS)

bench:
	scripts/install_dependencies.sh build bench
	cmake --preset bench
	cmake --build --preset bench -j $(JOBS)

tsan: build/tsan-tbb/lib/cmake/TBB/TBBConfig.cmake

build/tsan-tbb/lib/cmake/TBB/TBBConfig.cmake:
	scripts/install_dependencies.sh build
	scripts/build_instrumented_tbb.sh

asan ubsan tsan:
	scripts/install_dependencies.sh build test
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)
	ctest --preset $@ -j $(JOBS)

fuzz:
	scripts/install_dependencies.sh build fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	ctest --preset fuzz -L fuzz

lint:
	scripts/install_dependencies.sh build test lint
	cmake --preset host -DBERTH_TESTS=ON
	scripts/lint.sh format includes sources docs tidy

format:
	scripts/install_dependencies.sh lint
	scripts/lint.sh reformat

clean:
	rm -rf build

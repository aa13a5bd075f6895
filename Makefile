# SPDX-License-Identifier: Apache-2.0
# Short names for the presets. `make run` and `make test` work on a fresh Debian 12 or Ubuntu 24.04.

JOBS ?= $(shell nproc)
BERTH := build/host/berth
EXAMPLE := build/example/cluster.json
EXAMPLE_SPEC := examples/cluster.yaml
RUN_ARGS ?=
PREFIX ?= /usr/local
# BERTH_WERROR=ON in the environment makes warnings errors, and BERTH_UNITY=8 compiles eight sources as one, as .ci/run does.
CONFIGURE_ARGS := $(if $(BERTH_WERROR),-DBERTH_WERROR=$(BERTH_WERROR)) $(if $(BERTH_UNITY),-DBERTH_UNITY=$(BERTH_UNITY))

# make oracle: how many clusters, from which seed, against which release of kube-scheduler (1.35, 1.36 or both)
CLUSTERS ?= 2000
SEED ?= 1
RELEASE ?= both
RELEASES := $(if $(filter both,$(RELEASE)),1.35 1.36,$(RELEASE))
ORACLES := $(foreach release,$(RELEASES),--oracle $(release)=build/oracle/oracle-$(release))

# make oracle-histories, make oracle-queue: how many histories of each release; make oracle-runs: how many runs
HISTORIES ?= 1000
RUNS ?= 1000

comma := ,
space := $(subst ,, )

# make hostile: how many random mutations, from which SEED, and how many run side by side
INPUTS ?= 1000

.PHONY: help run reference abi python-test install test images arm64 cuda cuda-test hostile live live-build live-program live-list live-bench live-upstream live-upstream-perf bench asan ubsan tsan fuzz lint format clean dependencies \
        program oracle oracle-histories oracle-runs oracle-schedule oracle-batches oracle-preemption oracle-embed oracle-queue oracle-branches golden bench-engine bench-embed bench-embed-peer bench-plugin bench-peer go-long \
        bench-peer-preemption bench-peer-perf perf oracle-1.35 \
        oracle-1.36 oracle-queue-1.35 oracle-queue-1.36 peer

help:
	@echo 'make run     install missing packages, build, place the example cluster and print the report'
	@echo '             (RUN_ARGS="-o json" adds options of berth schedule)'
	@echo 'make install    build, then install under PREFIX (/usr/local); DESTDIR is respected'
	@echo 'make test    the same setup, then all tests'
	@echo 'make cuda    build the program with the CUDA backend (build/cuda/berth); downloads nvcc when none is found'
	@echo 'make cuda-test    build it with its tests and run them'
	@echo 'make python-test build the wheel of the Python package and test it; downloads pinned wheels'
	@echo 'make oracle  compare with upstream kube-scheduler on random clusters; needs Go'
	@echo '             (CLUSTERS=2000 SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make oracle-histories   the same between random events (HISTORIES=1000 SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make oracle-runs     whole runs of the scheduling loop, with preemption (RUNS=1000 SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make oracle-schedule the evictions of berth schedule (RUNS=1000 SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make oracle-batches  opportunistic batching (--batching kube-1.35, HISTORIES=1000 SEED=1)'
	@echo 'make oracle-preemption   the victims of pods that fit nowhere (CLUSTERS=2000 SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make oracle-embed    what libberth answers in forks of forks (CLUSTERS=2000 SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make oracle-queue    compare the scheduling queue with upstream'"'"'s on random histories; needs Go'
	@echo '             (HISTORIES=1000 of each release, SEED=1 RELEASE=1.35|1.36|both)'
	@echo 'make golden  record the answers of upstream kube-scheduler again (tests/golden); needs Go'
	@echo 'make live    run berth scheduler against a real API server, controllers and etcd (docs/live.md); needs Go'
	@echo '             (SCHEDULER=kube runs kube-scheduler instead, CHECKS=L-012,L-040 some checks)'
	@echo 'make live-bench  binds a second, latency, CPU and memory beside kube-scheduler and a client that only binds'
	@echo '             (BENCH_ARGS="--nodes 500 --workloads basic")'
	@echo 'make live-upstream  the integration tests of upstream'"'"'s scheduler with Berth as their scheduler'
	@echo '             (SCHEDULER=kube, UPSTREAM_ARGS="scheduler/taint")'
	@echo 'make live-upstream-perf  the benchmarks of upstream'"'"'s scheduler with kube-scheduler and Berth in turn'
	@echo '             (UPSTREAM_PERF_ARGS="misc --workloads SchedulingBasic --table FILE.md")'
	@echo 'make live-build  build those programs: build/live'
	@echo 'make hostile run the program on bad input of every kind (INPUTS=1000 random mutations, SEED=1)'
	@echo 'make bench   build the benchmarks (build/bench)'
	@echo 'make bench-engine   what events cost an engine (5,000 nodes, 1,000 Deployments)'
	@echo 'make bench-embed    what calls of libberth cost, through berth.h, on the same cluster'
	@echo 'make bench-embed-peer   the same questions through berth.h and through upstream'"'"'s framework; needs Go'
	@echo 'make go-long    the random tests of go/ with full counts (GO_HISTORIES=10000 GO_CLUSTERS=200 SEED=1); needs Go'
	@echo 'make bench-plugin   examples/plugin beside the same rule built in; CLUSTER=FILE, a cluster with pods of Deployments app-N'
	@echo 'make bench-peer   compare the speed of Berth and upstream kube-scheduler on the same files; needs Go'
	@echo 'make bench-peer-preemption   the same for preemption'
	@echo 'make bench-peer-perf   the same for workloads of scheduler_perf'
	@echo 'make perf    run the workload files of upstream'"'"'s scheduler_perf and compare with its thresholds; needs Go'
	@echo '             (PERF_ARGS="--label performance" adds options of berth perf)'
	@echo 'make reference   the reference of libberth: build/reference/html'
	@echo 'make abi     take over a change of the headers of libberth as its binary interface (tests/capi/libberth.abi)'
	@echo 'make images  build both container images and run the program in each; needs no daemon and no registry'
	@echo 'make arm64   cross-compile for arm64 and run tests under qemu-user'
	@echo 'make asan | ubsan | tsan    the tests under that sanitizer'
	@echo 'make fuzz    build the fuzz targets and run each (FUZZ_SECONDS=10)'
	@echo 'make lint    formatting, clang-tidy, includes, sources, docs'
	@echo 'make format  clang-format on every tracked C++ file'
	@echo 'make clean   remove build/'

program:
	scripts/install_dependencies.sh build
	cmake --preset host -DBERTH_TESTS=OFF $(CONFIGURE_ARGS)
	cmake --build --preset host --target berth -j $(JOBS)

run: program
	@$(MAKE) --no-print-directory $(EXAMPLE)
	$(BERTH) schedule -f $(EXAMPLE) $(RUN_ARGS)

# Written by the program just built; written again when the spec or the program is newer.
$(EXAMPLE): $(EXAMPLE_SPEC) $(BERTH)
	@mkdir -p $(@D)
	$(BERTH) generate --spec $(EXAMPLE_SPEC) --seed 1 -o $@

# The files of an installation do not name PREFIX: the tree can be moved afterwards.
install: program
	cmake --build build/host --target berth_library berth_archive -j $(JOBS)
	cmake --install build/host --prefix "$(PREFIX)"

reference:
	scripts/install_dependencies.sh reference
	doxygen docs/reference/Doxyfile

# The package berth (python/): its wheel, tested in an environment of its own.
python-test:
	scripts/install_dependencies.sh build test python
	scripts/install_python.sh
	cmake --preset host $(CONFIGURE_ARGS)
	cmake --build --preset host -j $(JOBS) --target berth_library
	ctest --preset host -L '^python$$' --output-on-failure

abi:
	scripts/install_dependencies.sh reference
	BERTH_SOURCE=. python3 tests/capi/abi_test.py --write

test:
	scripts/install_dependencies.sh build test
	cmake --preset host -DBERTH_TESTS=ON $(CONFIGURE_ARGS)
	cmake --build --preset host -j $(JOBS)
	ctest --preset host -j $(JOBS)

cuda:
	scripts/install_dependencies.sh build
	scripts/install_cuda.sh
	cmake --preset cuda -DBERTH_TESTS=OFF $(CONFIGURE_ARGS)
	cmake --build --preset cuda -j $(JOBS)

# The tests that are not about CUDA are those of make test, and are left to it.
cuda-test:
	scripts/install_dependencies.sh build test
	scripts/install_cuda.sh
	cmake --preset cuda -DBERTH_TESTS=ON $(CONFIGURE_ARGS)
	cmake --build --preset cuda --target berth berth_cuda_tests -j $(JOBS)
	ctest --preset cuda -L cuda -j $(JOBS)

oracle: program $(RELEASES:%=oracle-%)
	scripts/oracle_compare.py --berth $(BERTH) $(ORACLES) --clusters $(CLUSTERS) --seed $(SEED) --jobs $(JOBS) --coverage

oracle-preemption: program $(RELEASES:%=oracle-%)
	scripts/oracle_preemption.py --berth $(BERTH) $(ORACLES) --clusters $(CLUSTERS) --seed $(SEED) --jobs $(JOBS)

# The programs that write histories are tests.
write-%:
	scripts/install_dependencies.sh build test
	cmake --preset host -DBERTH_TESTS=ON $(CONFIGURE_ARGS)
	cmake --build --preset host --target berth write_$* -j $(JOBS)

oracle-histories: write-history $(RELEASES:%=oracle-%)
	scripts/oracle_histories.py --berth $(BERTH) --histories-program build/host/tests/histories/write_history $(ORACLES) \
	  --histories $(HISTORIES) --seed $(SEED) --jobs $(JOBS)

oracle-embed: write-embedding $(RELEASES:%=oracle-%)
	scripts/oracle_embed.py --berth $(BERTH) --embedding-program build/host/tests/histories/write_embedding $(ORACLES) \
	  --clusters $(CLUSTERS) --seed $(SEED) --jobs $(JOBS)

oracle-runs: write-run $(RELEASES:%=oracle-%)
	scripts/oracle_runs.py --berth $(BERTH) --runs-program build/host/tests/histories/write_run $(ORACLES) \
	  --runs $(RUNS) --seed $(SEED) --jobs $(JOBS)

# The evictions of `berth schedule`; `make oracle` compares its runs without them.
oracle-schedule: write-schedule $(RELEASES:%=oracle-%)
	scripts/oracle_runs.py --berth $(BERTH) --runs-program build/host/tests/histories/write_schedule $(ORACLES) \
	  --runs $(RUNS) --seed $(SEED) --jobs $(JOBS)

oracle-batches: write-run oracle-1.35
	scripts/oracle_batches.py --berth $(BERTH) --runs-program build/host/tests/histories/write_run \
	  --oracle 1.35=build/oracle/oracle-1.35 --histories $(HISTORIES) --seed $(SEED) --jobs $(JOBS)

golden: program oracle-1.35 oracle-1.36
	scripts/oracle_golden.py --berth $(BERTH) --oracle 1.35=build/oracle/oracle-1.35 --oracle 1.36=build/oracle/oracle-1.36 \
	  --jobs $(JOBS)

oracle-1.35:
	@mkdir -p build/oracle
	cd tests/oracle && go build -o ../../build/oracle/$@ .

oracle-1.36:
	@mkdir -p build/oracle
	cd tests/oracle && go build -modfile v1.36/go.mod -tags v1_36 -o ../../build/oracle/$@ .

oracle-queue-1.35 oracle-queue-1.36:
	tests/oracle/queue/build.sh $(@:oracle-queue-%=%)

oracle-queue: $(RELEASES:%=oracle-queue-%)
	scripts/install_dependencies.sh build test
	cmake --preset host -DBERTH_TESTS=ON $(CONFIGURE_ARGS)
	cmake --build --preset host --target queue_replay -j $(JOBS)
	set -e; for release in $(RELEASES); do \
	  build/oracle/oracle-queue-$$release -histories $(HISTORIES) -seed $(SEED) > build/oracle/queue-$$release.jsonl; done
	cat $(RELEASES:%=build/oracle/queue-%.jsonl) | build/host/tests/queue_replay/queue_replay

# The same program with Go's coverage of the plugins' packages (and its own, without which Go writes none).
PLUGIN_PACKAGES := nodeunschedulable nodename tainttoleration nodeaffinity nodeports noderesources imagelocality \
                   podtopologyspread interpodaffinity schedulinggates nodedeclaredfeatures helper volumebinding \
                   volumerestrictions volumezone nodevolumelimits
oracle-branches: program
	@mkdir -p build/oracle
	cd tests/oracle && go build -cover -o ../../build/oracle/oracle-cover -coverpkg=berth.dev/tests/oracle$(subst $() ,,\
	  $(PLUGIN_PACKAGES:%=$(comma)k8s.io/kubernetes/pkg/scheduler/framework/plugins/%)) .
	scripts/oracle_branches.py --berth $(BERTH) --oracle build/oracle/oracle-cover

# docs/live.md
SCHEDULER ?= berth
CHECKS ?=
CHANGES ?= 10000
live-build:
	tests/live/build.sh both

live-program:
	@mkdir -p build/live
	cd tests/live && go build -trimpath -o ../../build/live/live .

live-list: live-program
	@build/live/live --list

# kube-scheduler needs no Berth: the checks themselves are tested with it.
live: $(if $(filter berth,$(SCHEDULER)),program) live-build live-program
	scripts/install_dependencies.sh live
	build/live/live --scheduler $(SCHEDULER) --berth $(BERTH) --checks "$(CHECKS)" --changes $(CHANGES)

# yardstick, bind-only, kube-scheduler and Berth in turn; BENCH_ARGS="--nodes 500 --workloads basic --candidates yardstick,berth"
BENCH_ARGS ?=
live-bench: program live-build live-program
	build/live/live --bench --berth $(BERTH) $(BENCH_ARGS)

# upstream's own integration tests; UPSTREAM_ARGS="scheduler/preemption --run TestPreemption" runs some
UPSTREAM_ARGS ?=
live-upstream: $(if $(filter berth,$(SCHEDULER)),program) live-build
	tests/live/upstream.py --scheduler "$(if $(filter berth,$(SCHEDULER)),$(BERTH) scheduler,build/live/bin/kube-scheduler)" $(UPSTREAM_ARGS)

# upstream's own benchmarks, with kube-scheduler and with Berth
UPSTREAM_PERF_ARGS ?=
live-upstream-perf: program live-build
	tests/live/upstream_perf.py --berth $(BERTH) $(UPSTREAM_PERF_ARGS)

hostile: program
	tests/hostile/hostile.py --berth $(BERTH) --inputs $(INPUTS) --seed $(SEED) --jobs $(JOBS)

peer:
	@mkdir -p build/oracle
	cd bench/peer && go build -o ../../build/oracle/$@ .

bench-peer: program peer
	bench/peer/compare.py --berth $(BERTH) --peer build/oracle/peer

# PREEMPTION_ARGS: of bench/preemption_cluster.py
PREEMPTION_ARGS ?= --nominated 0
bench-peer-preemption: program peer
	bench/peer/preemption.py --berth $(BERTH) --peer build/oracle/peer -- $(PREEMPTION_ARGS)

# The 12 files of the module that tests/oracle names: docs/perf.md.
PERF_ARGS ?=
PEER_SECONDS ?= 10
PERF_FILES ?= $$(find "$$(cd tests/oracle && go list -m -f '{{.Dir}}' k8s.io/kubernetes)/test/integration/scheduler_perf" \
    -name performance-config.yaml | sort)
perf: program
	cd tests/oracle && go mod download k8s.io/kubernetes
	$(BERTH) perf --config $(PERF_FILES) --rate-factor 100 $(PERF_ARGS)

# The table of docs/benchmarks.md: both rate factors, and upstream's algorithm on the same nodes and pods.
bench-peer-perf: program peer
	cd tests/oracle && go mod download k8s.io/kubernetes
	bench/peer/perf.py --berth $(BERTH) --peer build/oracle/peer --seconds $(PEER_SECONDS) -- --config $(PERF_FILES) $(PERF_ARGS)

bench:
	scripts/install_dependencies.sh build bench
	cmake --preset bench
	cmake --build --preset bench -j $(JOBS)

# What events cost an engine: docs/benchmarks.md.
bench-engine:
	scripts/install_dependencies.sh build bench
	cmake --preset bench
	cmake --build --preset bench --target bench_engine -j $(JOBS)
	build/bench/bench/bench_engine

# What calls of libberth cost: docs/embedding.md.
bench-embed:
	scripts/install_dependencies.sh build bench
	cmake --preset bench
	cmake --build --preset bench --target bench_embed -j $(JOBS)
	build/bench/bench/bench_embed

bench-embed-peer: peer
	scripts/install_dependencies.sh build bench
	cmake --preset bench
	cmake --build --preset bench --target bench_embed_peer -j $(JOBS)
	bench/peer/embed.py --berth build/bench/bench/bench_embed_peer --peer build/oracle/peer

# The random tests of go/ with their full counts: docs/go.md.
GO_HISTORIES ?= 10000
GO_CLUSTERS ?= 200
go-long:
	scripts/install_dependencies.sh build
	cmake --preset host $(CONFIGURE_ARGS)
	cmake --build --preset host --target berth_library berth_archive -j $(JOBS)
	cmake --install build/host --component library --prefix build/go-prefix
	tests/go/go_module.py go/adapters/informer --prefix build/go-prefix -- -run Random -histories $(GO_HISTORIES) -seed $(SEED)
	tests/go/go_module.py go/adapters/descheduler --prefix build/go-prefix -- -run Refuses -clusters 1000 -seed $(SEED)
	tests/go/go_module.py go/adapters/scheduler --prefix build/go-prefix -- -run 'DoesTheSame|HintsBy' -clusters $(GO_CLUSTERS) -seed $(SEED)
	tests/go/go_module.py go/adapters/scheduler --prefix build/go-prefix -- -modfile v1.36/go.mod -tags v1_36 \
	  -run 'DoesTheSame|HintsBy' -clusters $(GO_CLUSTERS) -seed $(SEED)

bench-plugin:
	scripts/install_dependencies.sh build bench
	cmake --preset bench
	cmake --build --preset bench --target bench_plugin -j $(JOBS)
	build/bench/bench/bench_plugin $(CLUSTER)

tsan: build/tsan-tbb/lib/cmake/TBB/TBBConfig.cmake

build/tsan-tbb/lib/cmake/TBB/TBBConfig.cmake:
	scripts/install_dependencies.sh build
	scripts/build_instrumented_tbb.sh

asan ubsan tsan:
	scripts/install_dependencies.sh build test
	cmake --preset $@ $(CONFIGURE_ARGS)
	cmake --build --preset $@ -j $(JOBS)
	ctest --preset $@ -j $(JOBS)

FUZZ_SECONDS ?= 10
fuzz:
	scripts/install_dependencies.sh build test fuzz
	cmake --preset fuzz -DBERTH_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CONFIGURE_ARGS)
	cmake --build --preset fuzz -j $(JOBS)
	ctest --preset fuzz -L fuzz

# scripts/build_images.sh says what is needed and what becomes of it.
images:
	scripts/install_dependencies.sh images
	scripts/build_images.sh

# On one processor, because oneTBB hangs under qemu-user with more than one thread; each engine then has one. All unit and
# contract tests, which are small; docs/testing.md says what is left out.
ARM64_TESTS ?= -L '^(unit|contract)$$'
arm64:
	scripts/install_dependencies.sh build test arm64
	scripts/build_arm64_sysroot.sh
	cmake --preset arm64 -DBERTH_TESTS=ON $(CONFIGURE_ARGS)
	cmake --build --preset arm64 -j $(JOBS)
	taskset --cpu-list 0 ctest --preset arm64 $(ARM64_TESTS)
	ctest --preset arm64 -R '^packaging.install$$'

lint:
	scripts/install_dependencies.sh build test bench lint
	cmake --preset host -DBERTH_TESTS=ON
	scripts/lint.sh format includes sources docs tidy

format:
	scripts/install_dependencies.sh lint
	scripts/lint.sh reformat

clean:
	rm -rf build

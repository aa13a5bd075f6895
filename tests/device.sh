#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds, tests and measures Berth on a machine with an NVIDIA GPU, and writes one result as JSON
# (docs/schemas/device-result.schema.json). Uses no network. See docs/device.md.
#
#   tests/device.sh [options]
#   tests/device.sh --pack-deps DIR   on a machine with a network: collect the libraries, for --deps elsewhere
#
#   --deps DIR        libraries that --pack-deps collected, a folder or a tar file; without it the system's
#   --steps LIST      of build,tests,sanitizers,bench; default build,tests,bench
#   --sanitizers      adds the sanitizers: memcheck, racecheck, initcheck and synccheck over the device tests
#   --quick           a tenth of the nodes and pods in every workload
#   --workloads LIST  only these, by the names of the table below
#   --backends LIST   default cpu,cuda
#   --jobs N          of the build and of the tests; default one per core
#   --keep            continue the previous run of the same commit: its steps stay in the result
#   --out FILE        the result; default build/device/result.json
#   --run DIR         folder for the output of the steps; default build/device/run
#
# Needs nvcc (CUDACXX, the PATH, /usr/local/cuda, or the one of scripts/install_cuda.sh), cmake, a C++20 compiler and
# python3. Without .git, BERTH_COMMIT is the commit. Every step has a limit in seconds. The result is always written.
# Exit status: 0 when every step passed, 1 when one failed, 2 for an invalid command line.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
build=$PWD/build/device
run=$build/run

# name, runs of each backend, limit in seconds of one backend; run in this order, small workloads first
workload_table="
classes-256      3  300
spread-apart     3  600
equal-million    3  600
distinct-100k    2  600
distinct-million 1 1500"

deps='' steps=build,tests,bench quick=no workloads='' backends=cpu,cuda keep=no
child=''  # the process of the step under way
jobs=$(nproc)
out=$build/result.json

usage_error() {
  echo "device.sh: $1 (tests/device.sh --help)" >&2
  exit 2
}

absolute() {
  case "$1" in /*) echo "$1" ;; *) echo "$here/$1" ;; esac
}

# The words of a comma list, each of which must be one of $3.
check_list() {
  local word
  for word in ${2//,/ }; do
    [[ " $3 " == *" $word "* ]] || usage_error "$1: got '$word', expected some of: $3"
  done
}

parse() {
  local names
  names=$(awk 'NF { printf "%s%s", separator, $1; separator = " " }' <<< "$workload_table")
  while [ $# -gt 0 ]; do
    case "$1" in
      --sanitizers) steps+=,sanitizers ;;
      --quick) quick=yes ;;
      --keep) keep=yes ;;
      --help) sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' tests/device.sh; exit 0 ;;
      --deps | --steps | --workloads | --backends | --jobs | --out | --run | --pack-deps)
        [ $# -gt 1 ] || usage_error "$1 needs a value"
        case "$1" in
          --deps) deps=$(absolute "$2") ;;
          --steps) steps=$2; check_list "$1" "$2" "build tests sanitizers bench" ;;
          --workloads) workloads=$2; check_list "$1" "$2" "$names" ;;
          --backends) backends=$2; check_list "$1" "$2" "reference cpu cuda" ;;
          --jobs) jobs=$2; [[ $2 =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs: got '$2', expected a number" ;;
          --out) out=$(absolute "$2") ;;
          --run) run=$(absolute "$2") ;;
          --pack-deps) exec tests/device/pack_dependencies.sh "$(absolute "$2")" ;;
        esac
        shift ;;
      *) usage_error "unknown option '$1'" ;;
    esac
    shift
  done
  [ -z "$deps" ] || [ -e "$deps" ] || usage_error "--deps: there is no $deps"
}

wants() {
  [[ ",$steps," == *",$1,"* ]]
}

# record NAME STATUS SECONDS LIMIT MESSAGE: one line of the result. A later line of the same name replaces an earlier one.
record() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$(tr '\t\n' '  ' <<< "$5" | cut -c1-300)" >> "$run/steps.tsv"
  if [ "$2" = passed ]; then
    echo "== $1: passed, $3 s"
  else
    echo "== $1: $2: $5"
  fi
}

# The first error of cmake or of a compiler with the next line, or else the last line.
reason_in() {
  awk 'NF { last = $0 }
       /^CMake Error|error:|fatal:/ { reason = $0; getline; reason = reason " " $0; exit }
       END { print reason ? reason : last }' "$1"
}

# step NAME LIMIT COMMAND...: runs it and records the result; false when it failed. Its output goes to
# $run/NAME.log, or with a leading `--stdout FILE` its standard output goes there.
step() {
  local stdout='' name limit log begin=$SECONDS code=0
  if [ "$1" = --stdout ]; then stdout=$2; shift 2; fi
  name=$1 limit=$2 log=$run/$1.log
  shift 2
  echo "== $name"
  # In the background and waited for, so that this script handles a signal at once.
  timeout --kill-after=20 "$limit" "$@" > "${stdout:-$log}" 2> "$log.errors" &
  child=$!
  wait "$child" || code=$?
  child=''
  cat "$log.errors" >> "$log"
  rm "$log.errors"
  case $code in
    0) record "$name" passed $((SECONDS - begin)) "$limit" "" ;;
    124 | 137)
      record "$name" timedOut $((SECONDS - begin)) "$limit" "stopped after $limit s; $run/$name.log" ;;
    *)
      tail -n 40 "$log"
      record "$name" failed $((SECONDS - begin)) "$limit" "exit status $code: $(reason_in "$log")" ;;
  esac
  [ $code -eq 0 ]
}

find_nvcc() {
  local candidate
  if [ -n "${CUDACXX:-}" ]; then
    command -v "$CUDACXX" && return
    echo "no nvcc: CUDACXX is $CUDACXX" >&2
    return 1
  fi
  for candidate in nvcc /usr/local/cuda/bin/nvcc "$PWD/build/cuda-toolkit/nvidia/cu13/bin/nvcc"; do
    command -v "$candidate" && return
  done
  echo "no nvcc: not in CUDACXX, on the PATH, in /usr/local/cuda or in build/cuda-toolkit" >&2
  return 1
}

find_tools() {
  local tool compiler
  CUDACXX=$(find_nvcc 2> "$run/tools.log") || { record tools failed 0 0 "$(cat "$run/tools.log")"; return 1; }
  export CUDACXX
  for tool in cmake ctest "${CXX:-g++}"; do
    command -v "$tool" >/dev/null || { record tools failed 0 0 "no $tool on the PATH"; return 1; }
  done
  compiler=$("${CXX:-g++}" --version | head -n 1)
  {
    printf 'nvcc\t%s\n' "$("$CUDACXX" --version | sed -n 's/.*release.*, V//p')"
    printf 'compiler\t%s\n' "$compiler"
    printf 'cmake\t%s\n' "$(cmake --version | sed -n 's/^cmake version //p')"
    printf 'driver\t%s\n' "$(driver_version)"
  } > "$run/versions.tsv"
  sed 's/\t/: /' "$run/versions.tsv"
  record tools passed 0 0 ""
}

driver_version() {
  if ! nvidia-smi --query-gpu=driver_version --format=csv,noheader --id=0 2>/dev/null; then
    sed -nE '1s/.* ([0-9]+\.[0-9.]+) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null || true
  fi
}

# Reports the device and checks that it runs what this nvcc builds.
find_device() {
  step probe-build 180 "$CUDACXX" -O1 -o "$run/probe" tests/device/probe.cu &&
    step --stdout "$run/gpu.json" device 120 "$run/probe" && cat "$run/gpu.json"
}

# Sets configure_options and the environment for packed libraries, or names those that the system lacks.
find_dependencies() {
  local package missing=() libraries mark
  configure_options=()
  if [ -n "$deps" ]; then
    if [ -f "$deps" ]; then
      rm -rf "$build/deps" && mkdir -p "$build/deps"
      tar -xf "$deps" -C "$build/deps" || { record dependencies failed 0 0 "tar cannot read $deps"; return 1; }
      deps=$build/deps
    fi
    mark=$(find "$deps" -maxdepth 3 -name berth-dependencies.txt -print -quit)
    [ -n "$mark" ] || { record dependencies failed 0 0 "$deps was not made by --pack-deps"; return 1; }
    deps=$(dirname "$(readlink -f "$mark")")
    libraries=$(find "$deps/usr/lib" -maxdepth 1 -name '*-linux-*' -print -quit)
    # Old tags: the path to packed libraries also applies to the libraries that they need.
    configure_options=("-DCMAKE_PREFIX_PATH=$deps/usr" "-DCMAKE_LIBRARY_PATH=$libraries"
                       "-DPKG_CONFIG_EXECUTABLE=$deps/bin/pkg-config"
                       "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags")
    export PKG_CONFIG_PATH=$libraries/pkgconfig:$deps/usr/lib/pkgconfig:$deps/usr/share/pkgconfig
    export PATH=$PATH:$deps/usr/bin  # ninja, where the system has none
  elif command -v dpkg-query >/dev/null; then
    for package in $(scripts/install_dependencies.sh --list build test | grep -E -- '(-dev|^pkg-config)$'); do
      [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
      record dependencies failed 0 0 "not installed (--deps DIR brings them without a network): ${missing[*]}"
      return 1
    fi
  fi
  command -v ninja >/dev/null || configure_options+=(-G "Unix Makefiles")
  record dependencies passed 0 0 ""
}

build_all() {
  find_dependencies &&
    step configure 300 cmake --preset cuda -B "$build" "${configure_options[@]}" &&
    step build 1800 cmake --build "$build" -j "$jobs"
}

list_tests() {
  step --stdout "$run/tests.json" test-list 300 ctest --test-dir "$build" --show-only=json-v1
}

# On a device machine no device test may be skipped.
run_tests() {
  list_tests || return 1
  step tests 2400 env BERTH_REQUIRE_DEVICE=1 ctest --test-dir "$build" -L '^(contract|golden|property|cuda)$' -j "$jobs" \
    --no-tests=error --output-on-failure --output-junit "$run/tests.xml" || true
  step test-labels 60 python3 tests/device/ctest_files.py "$run" || true
}

run_sanitizers() {
  local tool sanitizer
  sanitizer=$(PATH=$PATH:$(dirname "$CUDACXX"):$(dirname "$CUDACXX")/../compute-sanitizer \
    command -v compute-sanitizer) || {
    record sanitizers failed 0 0 "no compute-sanitizer on the PATH or beside $CUDACXX"
    return 1
  }
  list_tests || return 1
  for tool in memcheck racecheck initcheck synccheck; do
    step "sanitizer-$tool" 1800 env BERTH_REQUIRE_DEVICE=1 \
      python3 tests/device/sanitize.py --sanitizer "$sanitizer" --tool "$tool" "$run" || true
  done
}

# A tenth of a spec: `count`, `pending` and `variants` on separate lines lose a zero.
a_tenth() {
  sed -E 's/^( *(count|pending|variants): [0-9]+)0$/\1/' "$1"
}

# Each backend is a separate process with its own limit: a slow CPU run does not lose the GPU's figures.
run_bench() {
  local name repeat limit backend spec
  mkdir -p "$run/specs"
  while read -r name repeat limit; do
    [ -n "$name" ] || continue
    [ -z "$workloads" ] || [[ ",$workloads," == *",$name,"* ]] || continue
    spec=bench/workloads/device/$name.yaml
    [ -e "$spec" ] || spec=bench/workloads/$name.yaml
    if [ $quick = yes ]; then
      a_tenth "$spec" > "$run/specs/$name.yaml"
    else
      cp "$spec" "$run/specs/$name.yaml"
    fi
    for backend in ${backends//,/ }; do
      rm -f "$run/bench-$name-$backend.json"
      step --stdout "$run/bench-$name-$backend.json" "bench-$name-$backend" "$limit" \
        "$build/berth" bench --spec "$run/specs/$name.yaml" --spec-seed 1 --backends "$backend" --repeat "$repeat" -o json || true
    done
  done <<< "$workload_table"
}

commit() {
  git -c safe.directory="$PWD" rev-parse HEAD 2>/dev/null || echo "${BERTH_COMMIT:-unknown}"
}

dirty() {
  [ -z "$(git -c safe.directory="$PWD" status --porcelain 2>/dev/null)" ] && echo no || echo yes
}

begin_run() {
  if [ $keep = yes ]; then
    [ "$(cat "$run/commit" 2>/dev/null)" = "$(commit)" ] || usage_error "--keep: $run holds no run of this commit"
    [ "$(cat "$run/quick")" = $quick ] || usage_error "--keep: the run before had another --quick"
    sed -i -e '/^interrupted\t/d' -e '/^[^\t]*\tskipped\t/d' "$run/steps.tsv"
  else
    rm -rf "$run"
  fi
  mkdir -p "$run"
  commit > "$run/commit"
  dirty > "$run/dirty"
  echo $quick > "$run/quick"
}

write_result() {
  python3 tests/device/result.py "$run" --out "$out"
}

# After a signal or an error of this script: the current step is ended, and the result says so.
end_early() {
  trap - EXIT INT TERM HUP
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  record interrupted failed 0 0 "tests/device.sh did not come to its end"
  write_result || true
  exit 1
}

skip_steps() {
  local group
  for group in build tests sanitizers bench; do
    ! wants "$group" || record "$group" skipped 0 0 "$1"
  done
}

main() {
  parse "$@"
  command -v python3 >/dev/null || usage_error "this needs python3"
  begin_run
  trap end_early EXIT INT TERM HUP
  if ! find_tools || ! find_device; then
    skip_steps "no machine to run it on"
  elif wants build && ! build_all; then
    steps=${steps//build/}
    skip_steps "the build failed"
  else
    ! wants tests || run_tests || true
    ! wants sanitizers || run_sanitizers || true
    ! wants bench || run_bench
  fi
  trap - EXIT INT TERM HUP
  write_result
}

main "$@"

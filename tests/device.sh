#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests and measures Berth on a machine with an NVIDIA GPU, and writes one result as JSON
# (docs/schemas/device-result.schema.json). Uses no network. See docs/device.md.
#
#   tests/device.sh [options]                build here, test and measure
#   tests/device.sh --bundle FILE [options]  test and measure what --pack built elsewhere; compiles nothing
#   tests/device.sh --pack FILE [options]    build, and pack into one file what --bundle needs; needs no GPU
#   tests/device.sh --pack-deps DIR          collect the libraries for --deps; needs apt and a network
#
#   --programs DIR    a build folder with the programs: builds nothing, but --pack brings them up to date
#   --arch N          of the GPU, as 90: machine code for it alone; default what cmake/cuda.cmake says
#   --deps DIR        libraries that --pack-deps collected, a folder or a tar file; without it the system's
#   --steps LIST      of build,tests,quick,sanitizers,bench; default all, sanitizers with a bundle alone
#   --sanitizers      adds the sanitizers: memcheck, racecheck, synccheck and initcheck over a few device tests
#   --quick           no bench: the workloads only with a tenth of the nodes and pods
#   --workloads LIST  only these, by the names of the table below
#   --backends LIST   default cpu,cuda; with a bundle cuda
#   --teams LIST      contract and property tests run once more with each as BERTH_COMMIT_TEAM; default block,cluster,grid
#   --property-cases N  drawn in each property test; default 100
#   --seconds N       of the whole run: a step gets what is left, and what no longer fits is skipped
#   --expect FILE     a result of --backends cpu: the answers of the workloads must be those
#   --jobs N          of the build and of the tests; default one per core
#   --keep            continue the previous run of the same commit: its steps stay in the result
#   --out FILE        the result; default build/device/result.json, or $OUT/result.json
#   --run DIR         folder for the output of the steps; default build/device/run
#
# Without a bundle it needs nvcc (CUDACXX, the PATH, /usr/local/cuda, or the one of scripts/install_cuda.sh), cmake, a C++20
# compiler; always python3. Without .git, BERTH_COMMIT is the commit. Every step has a limit in seconds. The result is
# written after each step. With OUT in the environment, and neither --out nor --run, $OUT takes result.json, steps.log and
# run.tar.gz. Exit status: 0 when every step passed, 1 when one failed, 2 for an invalid command line.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
build=$PWD/build/device
run=$build/run

# name, runs of each backend, limit in seconds of one backend: a tenth, and in full; run in this order, small workloads first
workload_table="
classes-256      3  60  300
spread-apart     3  60  600
equal-million    3  60  600
distinct-100k    2  60  600
distinct-million 1  60 1500"

deps='' steps='' sanitizers=no quick=no workloads='' backends='' keep=no pack='' bundle='' programs='' arch='' budget=''
teams=block,cluster,grid property_cases=100 expect=''
child=''  # the process of the step under way
jobs=$(nproc)
out=$build/result.json
sink=''        # the folder OUT, where it takes what the run leaves
libraries=''   # of the bundle, for the programs
rehearsal=${BERTH_REHEARSAL:-}  # the emulated device in place of one, to prove this script without a GPU
test_backend=cuda${rehearsal:+_emulated}

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

check_number() {
  [[ $2 =~ ^[1-9][0-9]*$ ]] || usage_error "$1: got '$2', expected a number"
}

# shellcheck source=tests/device/build.sh
. tests/device/build.sh

parse() {
  local names out_given=no
  names=$(awk 'NF { printf "%s%s", separator, $1; separator = " " }' <<< "$workload_table")
  while [ $# -gt 0 ]; do
    case "$1" in
      --sanitizers) sanitizers=yes ;;
      --quick) quick=yes ;;
      --keep) keep=yes ;;
      --help) sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' tests/device.sh; exit 0 ;;
      --deps | --steps | --workloads | --backends | --jobs | --out | --run | --pack-deps | --pack | --bundle | --programs | \
        --arch | --teams | --property-cases | --seconds | --expect)
        [ $# -gt 1 ] || usage_error "$1 needs a value"
        case "$1" in
          --deps) deps=$(absolute "$2") ;;
          --steps) steps=$2; check_list "$1" "$2" "build tests quick sanitizers bench" ;;
          --workloads) workloads=$2; check_list "$1" "$2" "$names" ;;
          --backends) backends=$2; check_list "$1" "$2" "reference cpu cuda" ;;
          --teams) teams=$2; check_list "$1" "$2" "block cluster grid" ;;
          --jobs) jobs=$2; check_number "$1" "$2" ;;
          --property-cases) property_cases=$2; check_number "$1" "$2" ;;
          --seconds) budget=$2; check_number "$1" "$2" ;;
          --arch) arch=$2; check_number "$1" "$2" ;;
          --out) out=$(absolute "$2") out_given=yes ;;
          --run) run=$(absolute "$2") out_given=yes ;;
          --pack) pack=$(absolute "$2") ;;
          --bundle) bundle=$(absolute "$2") ;;
          --programs) programs=$(absolute "$2") ;;
          --expect) expect=$(absolute "$2") ;;
          --pack-deps) exec tests/device/pack_dependencies.sh "$(absolute "$2")" ;;
        esac
        shift ;;
      *) usage_error "unknown option '$1'" ;;
    esac
    shift
  done
  local option
  for option in deps bundle programs expect; do
    [ -z "${!option}" ] || [ -e "${!option}" ] || usage_error "--$option: there is no ${!option}"
  done
  [ -z "$bundle" ] || [ -z "$programs$deps$pack" ] || usage_error "--bundle goes with none of --programs, --deps, --pack"
  if [ -n "$pack" ]; then
    build=$PWD/build/device-pack
    [ $out_given = yes ] || run=$build/run
  elif [ -n "${OUT:-}" ] && [ $out_given = no ]; then
    sink=$(absolute "$OUT") out=$sink/result.json
    mkdir -p "$sink"
  fi
  choose_steps
}

choose_steps() {
  if [ -n "$bundle" ]; then
    backends=${backends:-cuda} steps=${steps:-tests,quick,sanitizers,bench}
  else
    backends=${backends:-cpu,cuda} steps=${steps:-build,tests,quick,bench}
  fi
  if [ -n "$bundle$programs" ]; then steps=${steps//build/}; fi
  if [ $quick = yes ]; then steps=${steps//bench/quick}; fi
  if [ $sanitizers = yes ]; then steps+=,sanitizers; fi
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
  write_result --quiet || true
}

# The seconds that --seconds leaves, less those that this script needs for its end.
seconds_left() {
  echo $((budget - SECONDS - 3))
}

# The first error of cmake or of a compiler with the next line, or else the last line.
reason_in() {
  awk 'NF { last = $0 }
       /^REASON: / { reason = substr($0, 9); exit }
       /^CMake Error|error:|fatal:/ { reason = $0; getline; reason = reason " " $0; exit }
       END { print reason ? reason : last }' "$1"
}

# step NAME LIMIT COMMAND...: runs it and records the result; false when it failed or there is no time left for it. Its
# output goes to $run/NAME.log, or with a leading `--stdout FILE` its standard output goes there.
step() {
  local stdout='' name limit log begin=$SECONDS code=0 why=''
  if [ "$1" = --stdout ]; then stdout=$2; shift 2; fi
  name=$1 limit=$2 log=$run/$1.log
  shift 2
  if [ -n "$budget" ] && [ "$(seconds_left)" -lt "$limit" ]; then
    limit=$(seconds_left) why=", all that --seconds $budget left"
    if [ "$limit" -lt 5 ]; then
      record "$name" skipped 0 0 "no time left of --seconds $budget"
      return 1
    fi
  fi
  echo "== $name"
  # In the background and waited for, so that this script handles a signal at once.
  BERTH_STEP_SECONDS=$limit timeout --kill-after=10 "$limit" "$@" > "${stdout:-$log}" 2> "$log.errors" &
  child=$!
  wait "$child" || code=$?
  child=''
  cat "$log.errors" >> "$log"
  rm "$log.errors"
  take_log "$name" "$log"
  case $code in
    0) record "$name" passed $((SECONDS - begin)) "$limit" "" ;;
    124 | 137)
      record "$name" timedOut $((SECONDS - begin)) "$limit" "stopped after $limit s$why; $run/$name.log" ;;
    *)
      tail -n 20 "$log" | cut -c1-400
      record "$name" failed $((SECONDS - begin)) "$limit" "exit status $code: $(reason_in "$log")" ;;
  esac
  [ $code -eq 0 ]
}

# Where OUT takes the run, the end of every log is in one file there, also when the run is killed.
take_log() {
  [ -n "$sink" ] || return 0
  { echo "==== $1"; tail -c 200000 "$2"; echo; } >> "$sink/steps.log"
}

driver_version() {
  if ! nvidia-smi --query-gpu=driver_version --format=csv,noheader --id=0 2>/dev/null; then
    sed -nE '1s/.* ([0-9]+\.[0-9.]+) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null || true
  fi
}

needs_device() {
  wants tests || wants sanitizers || { [[ ",$backends," == *,cuda,* ]] && { wants quick || wants bench; }; }
}

# Reports the device and checks that it runs what nvcc built.
find_device() {
  needs_device || return 0
  if [ -n "$rehearsal" ]; then
    record device skipped 0 0 "a rehearsal: the emulated device takes its place"
    return 0
  fi
  if [ -z "$bundle" ]; then
    build_probe "$run/probe" && step --stdout "$run/gpu.json" device 120 "$run/probe" && cat "$run/gpu.json"
  else
    step --stdout "$run/gpu.json" device 120 env LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
      "$programs/probe" && cat "$run/gpu.json"
  fi
}

# Unpacks the bundle and says what is known of its making.
open_bundle() {
  programs=$build/bundle libraries=$build/bundle/lib
  step --stdout "$run/bundle.json" bundle 120 python3 tests/device/bundle.py unpack "$bundle" "$programs" || return 1
  printf 'driver\t%s\n' "$(driver_version)" > "$run/versions.tsv"
  cat "$run/bundle.json"
}

# suite NAME SUITE LIMIT TEAM [OPTIONS of run_tests.py]: a step of tests. On a device machine no device test may be skipped.
suite() {
  local name=$1 suite=$2 limit=$3 team=$4
  shift 4
  step "$name" "$limit" python3 tests/device/run_tests.py "$run" --name "$name" --suite "$suite" --programs "$programs" \
    --libraries "$libraries" --backend "$test_backend" --team "$team" --jobs "$jobs" \
    --property-cases "$property_cases" "$@" || true
}

# A process that says nothing for --case-seconds hangs: a case of the contract takes milliseconds, one of golden_test reads all
# verdicts of a release. The tests of cuda/ look at the device's free memory, so they are alone with it.
run_tests() {
  local team
  suite tests-cuda cuda 60 '' --case-seconds 20 --jobs 1
  suite tests-contract contract 100 '' --case-seconds 20
  suite tests-teams teams 60 '' --case-seconds 20
  for team in ${teams//,/ }; do suite "tests-contract-$team" contract 45 "$team" --case-seconds 20; done
  suite tests-golden golden 90 '' --case-seconds 80
  suite tests-property property 60 '' --case-seconds 30
  for team in ${teams//,/ }; do suite "tests-property-$team" property 45 "$team" --case-seconds 30; done
}

find_sanitizer() {
  local folder
  for folder in "$(dirname "${CUDACXX:-/usr/local/cuda/bin/nvcc}")" /usr/local/cuda/bin; do
    PATH=$PATH:$folder:$folder/../compute-sanitizer command -v compute-sanitizer && return
  done
  return 1
}

# Calls that fail are no finding of memcheck: tests provoke some, and look at the others themselves.
run_sanitizers() {
  local tool sanitizer options
  sanitizer=$(find_sanitizer) || {
    record sanitizers "$([ -n "$rehearsal" ] && echo skipped || echo failed)" 0 0 "no compute-sanitizer on the PATH or beside nvcc"
    return 0
  }
  for tool in memcheck racecheck synccheck initcheck; do
    options=()
    [ $tool != memcheck ] || options=(--report-api-errors no)
    suite "sanitizer-$tool" sanitizer 120 '' --tool $tool --property-cases 2 --case-seconds 45 \
      -- "$sanitizer" --tool $tool --error-exitcode 86 "${options[@]}"
  done
}

# A tenth of a spec: `count`, `pending` and `variants` on separate lines lose a zero.
a_tenth() {
  sed -E 's/^( *(count|pending|variants): [0-9]+)0$/\1/' "$1"
}

# run_bench quick|bench. Each backend is a separate process with its own limit: a slow CPU run does not lose the GPU's figures.
run_bench() {
  local name repeat quick_limit limit backend spec row
  mkdir -p "$run/specs"
  while read -r name repeat quick_limit limit; do
    [ -n "$name" ] || continue
    [ -z "$workloads" ] || [[ ",$workloads," == *",$name,"* ]] || continue
    spec=bench/workloads/device/$name.yaml row=$name
    [ -e "$spec" ] || spec=bench/workloads/$name.yaml
    if [ "$1" = quick ]; then
      row=quick-$name limit=$quick_limit
      a_tenth "$spec" > "$run/specs/$row.yaml"
    else
      cp "$spec" "$run/specs/$row.yaml"
    fi
    for backend in ${backends//,/ }; do
      rm -f "$run/bench-$row-$backend.json"
      step --stdout "$run/bench-$row-$backend.json" "bench-$row-$backend" "$limit" \
        env LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$programs/berth" bench \
        --spec "$run/specs/$row.yaml" --spec-seed 1 --backends "$backend" --repeat "$repeat" -o json || true
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
    sed -i -e '/^interrupted\t/d' -e '/^[^\t]*\tskipped\t/d' "$run/steps.tsv"
  else
    rm -rf "$run"
  fi
  mkdir -p "$run"
  commit > "$run/commit"
  dirty > "$run/dirty"
  echo $quick > "$run/quick"
  echo "${rehearsal:+yes}" > "$run/rehearsal"
  [ -z "$sink" ] || rm -f "$sink/steps.log"
}

write_result() {
  [ -z "$pack" ] || return 0
  python3 tests/device/result.py "$run" --out "$out" ${expect:+--expect "$expect"} "$@"
}

# What the steps left, beside the result. A file above 16 MiB does not come back from every device machine.
archive_run() {
  [ -n "$sink" ] || return 0
  tar -czf "$sink/run.tar.gz" -C "$run" .
  if [ "$(stat -c %s "$sink/run.tar.gz")" -gt 16000000 ]; then rm "$sink/run.tar.gz"; fi
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
  for group in build tests quick sanitizers bench; do
    ! wants "$group" || record "$group" skipped 0 0 "$1"
  done
}

main() {
  parse "$@"
  command -v python3 >/dev/null || usage_error "this needs python3"
  begin_run
  trap end_early EXIT INT TERM HUP
  if [ -n "$pack" ]; then
    local code=0
    make_bundle || code=1
    trap - EXIT INT TERM HUP
    return $code
  fi
  if ! { if [ -n "$bundle" ]; then open_bundle; else find_tools; fi; } || ! find_device; then
    skip_steps "no machine to run it on"
  elif wants build && ! build_all; then
    steps=${steps//build/}
    skip_steps "the build failed"
  else
    programs=${programs:-$build}
    ! wants tests || run_tests
    ! wants quick || run_bench quick
    ! wants sanitizers || run_sanitizers
    ! wants bench || run_bench bench
  fi
  trap - EXIT INT TERM HUP
  archive_run
  write_result
}

main "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the named checks: scripts/lint.sh [format] [includes] [sources] [docs] [tidy] [docker] [reformat]
#   format    clang-format would change nothing in tracked and new C++ files, and gofmt, where it is found, nothing in Go files
#   includes, sources, docs    the scripts in this folder; sources also runs shellcheck, docs also check_citations.py
#   tidy      clang-tidy on the C++ files that differ from BERTH_TIDY_BASE: a commit, or "none" for all files. The default is
#             the commit in .ci/tidy-base, the last one whose files were all checked. A header is read through a source that
#             includes it. Sources that include CUDA's headers, and device code, are read where a CUDA toolkit is found
#             (make cuda installs one), fuzz targets once build/fuzz is configured (make fuzz); otherwise a line says how many
#             were left out, and with BERTH_TIDY_COMPLETE=1 that is a failure. BERTH_TIDY_ANALYZER=1 adds the static analyzer,
#             which takes twice the time of all other checks.
#   docker    hadolint on the images; Debian does not package it, docker/README.md explains how to install it
#   reformat  rewrites files with clang-format
# Every check runs; the exit status is 1 when one of them found a problem.
set -euo pipefail
cd "$(dirname "$0")/.."

cxx_files() {
  git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' '*.c' '*.cu' '*.cuh' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done
}

changed_files() {
  local base=${BERTH_TIDY_BASE:-$(cat .ci/tidy-base)}
  if git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
    git diff --name-only --diff-filter=d "$base"
    git ls-files --others --exclude-standard
  else
    cxx_files
  fi
}

# The source through which clang-tidy reads header $1: that of the same stem, else one that includes it, else one that
# includes a header that does, and so on. Of several, a C++ source comes before device code.
source_of_header() {
  local stem=${1%.*} seen=" $1 " wave=("$1") next header suffix
  for suffix in cpp cu; do
    if [ -e "$stem.$suffix" ]; then
      echo "$stem.$suffix"
      return
    fi
  done
  while [ ${#wave[@]} -gt 0 ]; do
    next=()
    local users=() user
    for header in "${wave[@]}"; do
      mapfile -t -O "${#users[@]}" users < <(
        git grep -lF --untracked "#include \"$header\"" -- '*.cpp' '*.cu' '*.h' '*.cuh' || true)
    done
    for suffix in cpp cu; do
      for user in "${users[@]}"; do
        if [[ $user == *.$suffix ]]; then
          echo "$user"
          return
        fi
      done
    done
    for user in "${users[@]}"; do
      [[ $seen == *" $user "* ]] || next+=("$user")
      seen+="$user "
    done
    wave=("${next[@]}")
  done
}

# The sources through which the changed files below the source folders are read.
tidy_files() {
  changed_files | grep -E '^(host|plugins|batching|cuda|tests|bench)/.*\.(cpp|h|cu|cuh)$' |
    while read -r file; do
      if [[ $file == *.h || $file == *.cuh ]]; then source_of_header "$file"; else echo "$file"; fi
    done | sort -u
}

run_tidy() {
  local checks=
  [ "${BERTH_TIDY_ANALYZER:-0}" = 1 ] || checks='--checks=-clang-analyzer-*'
  xargs -P "$(nproc)" -I '{}' clang-tidy-19 --quiet ${checks:+"$checks"} '{}' "$@"
}

# tidy_with BUILD FILE...: clang-tidy with the compile commands of that build folder.
tidy_with() {
  local build=$1
  shift
  [ $# -gt 0 ] || return 0
  echo "clang-tidy: $# files with $build"
  printf '%s\n' "$@" | run_tidy --extra-arg=-Wno-unknown-warning-option -p "$build"
}

# tidy_device_code FILE...: device code as clang reads it for the host, without nvcc. Clang 19 includes two headers that CUDA
# 13 no longer has; empty ones take their place. Branches for the device alone (__CUDA_ARCH__) are not read: for the device
# clang 19 needs libdevice in a form that CUDA 13 no longer has. Compilers other than nvcc see clusters of blocks where
# _CG_CLUSTER_INTRINSICS_AVAILABLE is defined.
tidy_device_code() {
  local toolkit empty=$PWD/build/tidy-cuda
  [ $# -gt 0 ] || return 0
  toolkit=$(sed -n 's|^CMAKE_CUDA_COMPILER:[A-Z]*=\(.*\)/bin/nvcc$|\1|p' build/cuda/CMakeCache.txt)
  mkdir -p "$empty"
  touch "$empty/texture_fetch_functions.h" "$empty/curand_mtgp32_kernel.h"
  echo "clang-tidy: $# files of device code with $toolkit"
  printf '%s\n' "$@" | run_tidy -- -std=c++20 -x cuda --cuda-host-only --cuda-path="$toolkit" -nocudalib \
    -Wno-unknown-cuda-version -isystem "$toolkit/include/cccl" -idirafter "$empty" -I. \
    -D_CG_CLUSTER_INTRINSICS_AVAILABLE
}

# left_out COUNT WHAT WHY: says so; fails where everything has to be read.
left_out() {
  [ "$1" -gt 0 ] || return 0
  echo "clang-tidy: left out $1 $2: $3"
  [ "${BERTH_TIDY_COMPLETE:-0}" != 1 ]
}

check_format() {
  cxx_files | xargs -r clang-format-19 --dry-run -Werror
  check_gofmt
}

# go vet runs with the tests labelled go, which have the library that it needs.
check_gofmt() {
  local wrong
  command -v gofmt >/dev/null || return 0
  wrong=$(git ls-files --cached --others --exclude-standard -- '*.go' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done | xargs -r gofmt -l)
  [ -z "$wrong" ] || { echo "gofmt would change:"; echo "$wrong"; return 1; }
}

check_shell() {
  { git ls-files --cached --others --exclude-standard -- '*.sh'; printf "%s\n" .ci/run .ci/nightly; } |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
    xargs -r shellcheck --severity=warning
}

check_docker() {
  PATH=$PATH:$PWD/build/lint-tools/bin hadolint docker/*.Dockerfile
}

check_tidy() {
  local all host fuzz cuda device problems=0
  mapfile -t all < <(tidy_files)
  files_of() { printf '%s\n' "${all[@]}" | grep -E "$@" || true; }
  # In no build: the sources of the project in tests/packaging.
  mapfile -t host < <(files_of -v '^$|^(cuda|tests/(unit/cuda|fuzz|packaging/subproject))/|\.cu$')
  mapfile -t fuzz < <(files_of '^tests/fuzz/')
  mapfile -t cuda < <(files_of '^(cuda|tests/unit/cuda)/.*\.cpp$')
  mapfile -t device < <(files_of '\.cu$')
  cmake --preset ci-clang >/dev/null
  tidy_with build/ci-clang "${host[@]}" || problems=1
  if [ -e build/fuzz/compile_commands.json ]; then
    tidy_with build/fuzz "${fuzz[@]}" || problems=1
  else
    left_out ${#fuzz[@]} "fuzz targets" "build/fuzz is not configured (make fuzz)" || problems=1
  fi
  # `make cuda` configures that folder without tests.
  if [ $((${#cuda[@]} + ${#device[@]})) -eq 0 ]; then
    :
  elif cmake --preset cuda -DBERTH_TESTS=ON >/dev/null 2>&1; then
    tidy_with build/cuda "${cuda[@]}" || problems=1
    tidy_device_code "${device[@]}" || problems=1
  else
    left_out $((${#cuda[@]} + ${#device[@]})) "files that need CUDA's headers" "no toolkit was found (make cuda)" || problems=1
  fi
  return $problems
}

status=0
for check in "$@"; do
  echo "== $check"
  case "$check" in
    format)   check_format || status=1 ;;
    includes) python3 scripts/check_includes.py || status=1 ;;
    sources)  python3 scripts/check_sources.py || status=1
              python3 scripts/check_dependencies.py || status=1
              check_shell || status=1 ;;
    docs)     python3 scripts/check_docs.py || status=1
              python3 scripts/check_citations.py || status=1 ;;
    tidy)     check_tidy || status=1 ;;
    docker)   check_docker || status=1 ;;
    reformat) cxx_files | xargs -r clang-format-19 -i ;;
    *)        echo "lint: unknown check '$check'" >&2; exit 2 ;;
  esac
done
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the named checks: scripts/lint.sh [format] [includes] [sources] [docs] [tidy] [docker] [reformat]
#   format    clang-format would change nothing in tracked and new C++ files
#   includes, sources, docs    the scripts in this folder; sources also runs shellcheck, docs also check_citations.py
#   tidy      clang-tidy on the library and program files that differ from BERTH_TIDY_BASE: a commit, or "none" for all
#             files. The default is the commit in .ci/tidy-base, the last one whose files were all checked. Files of cuda/
#             are read once build/cuda is configured (make cuda). BERTH_TIDY_ANALYZER=1 adds the static analyzer, which takes
#             twice the time of all other checks.
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

# The sources to check below the folders $1 (alternatives of a regular expression). A changed header selects the source of
# the same stem. Tests and .cu files are excluded: clang 19 does not know the headers of CUDA 13.
tidy_files() {
  changed_files | grep -E "^($1)/.*\\.(cpp|h)$" | sed 's/\.h$/.cpp/' | sort -u |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done
}

# tidy_with BUILD FILE...: clang-tidy with the compile commands of that build folder.
tidy_with() {
  local build=$1 checks=
  shift
  [ $# -gt 0 ] || return 0
  [ "${BERTH_TIDY_ANALYZER:-0}" = 1 ] || checks='--checks=-clang-analyzer-*'
  echo "clang-tidy: $# files with $build${checks:+, without the static analyzer}"
  printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 clang-tidy-19 --quiet --extra-arg=-Wno-unknown-warning-option ${checks:+"$checks"} -p "$build"
}

check_format() {
  cxx_files | xargs -r clang-format-19 --dry-run -Werror
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
  local host cuda problems=0
  mapfile -t host < <(tidy_files 'host|plugins|batching')
  mapfile -t cuda < <(tidy_files cuda)
  [ -e build/ci-clang/compile_commands.json ] || cmake --preset ci-clang >/dev/null
  tidy_with build/ci-clang "${host[@]}" || problems=1
  if [ -e build/cuda/compile_commands.json ]; then
    tidy_with build/cuda "${cuda[@]}" || problems=1
  elif [ ${#cuda[@]} -gt 0 ]; then
    echo "clang-tidy: left out ${#cuda[@]} files of cuda/: build/cuda is not configured (make cuda)"
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

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the named checks: scripts/lint.sh [format] [includes] [sources] [docs] [tidy] [docker] [reformat]
#   format    clang-format would change nothing in tracked and new C++ files
#   includes, sources, docs    the scripts in this folder; sources also runs shellcheck, docs also check_citations.py
#   tidy      clang-tidy on the C++ files that differ from BERTH_TIDY_BASE: a commit, or "none" for all files. The default is
#             the commit in .ci/tidy-base, the last one whose files were all checked. A header is read through a source that
#             includes it. Files of cuda/ are read once build/cuda is configured (make cuda), fuzz targets once build/fuzz is
#             (make fuzz). BERTH_TIDY_ANALYZER=1 adds the static analyzer, which takes twice the time of all other checks.
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
# includes a header that does, and so on.
source_of_header() {
  local stem=${1%.h} seen=" $1 " wave=("$1") next header
  if [ -e "$stem.cpp" ]; then
    echo "$stem.cpp"
    return
  fi
  while [ ${#wave[@]} -gt 0 ]; do
    next=()
    for header in "${wave[@]}"; do
      local users user
      users=$(git grep -lF --untracked "#include \"$header\"" -- '*.cpp' '*.h' || true)
      for user in $users; do
        if [[ $user == *.cpp ]]; then
          echo "$user"
          return
        fi
        [[ $seen == *" $user "* ]] || next+=("$user")
        seen+="$user "
      done
    done
    wave=("${next[@]}")
  done
}

# The sources to check below the folders $1 (alternatives of a regular expression). .cu files and what only they include
# are excluded: clang 19 does not know the headers of CUDA 13.
tidy_files() {
  changed_files | grep -E "^($1)/.*\\.(cpp|h)$" |
    while read -r file; do
      if [[ $file == *.h ]]; then source_of_header "$file"; else echo "$file"; fi
    done | sort -u
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
  local host fuzz cuda problems=0
  # Not in build/ci-clang: sources that need nvcc, and fuzz targets. In no build: those of the project in tests/packaging.
  local left_out='^(cuda|tests/(unit/cuda|fuzz|packaging/subproject))/'
  mapfile -t host < <(tidy_files 'host|plugins|batching|tests|bench' | grep -vE "$left_out")
  mapfile -t fuzz < <(tidy_files tests/fuzz)
  mapfile -t cuda < <(tidy_files 'cuda|tests/unit/cuda' | grep -E '^cuda/')
  cmake --preset ci-clang >/dev/null
  tidy_with build/ci-clang "${host[@]}" || problems=1
  if [ -e build/fuzz/compile_commands.json ]; then
    tidy_with build/fuzz "${fuzz[@]}" || problems=1
  elif [ ${#fuzz[@]} -gt 0 ]; then
    echo "clang-tidy: left out ${#fuzz[@]} fuzz targets: build/fuzz is not configured (make fuzz)"
  fi
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

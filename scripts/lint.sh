#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the named checks: scripts/lint.sh [format] [includes] [sources] [docs] [tidy] [docker] [reformat]
#   format    clang-format would change nothing in the C++ files that git knows or would add
#   includes, sources, docs    the scripts beside this one; sources also runs shellcheck, docs also check_citations.py
#   tidy      clang-tidy on the library and program files that differ from BERTH_TIDY_BASE (default HEAD~1; without it
#             all). BERTH_TIDY_FILES caps their number, evenly spaced, and what is left out is said; 0 is no cap.
#   docker    hadolint on the images; it is not packaged by Debian, docker/README.md says where it comes from
#   reformat  rewrites files with clang-format
# Every check runs; the exit status is 1 when one of them found something.
set -euo pipefail
cd "$(dirname "$0")/.."

cxx_files() {
  git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' '*.c' '*.cu' '*.cuh' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done
}

changed_files() {
  local base=${BERTH_TIDY_BASE:-HEAD~1}
  if git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
    git diff --name-only --diff-filter=d "$base"
    git ls-files --others --exclude-standard
  else
    cxx_files
  fi
}

# The files to tidy: a changed header stands for the source of the same stem. Tests are not worth the minutes.
tidy_files() {
  changed_files | grep -E '^(host|plugins|batching)/.*\.(cpp|h)$' | sed 's/\.h$/.cpp/' | sort -u |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done
}

check_format() {
  cxx_files | xargs -r clang-format-19 --dry-run -Werror
}

check_shell() {
  { git ls-files --cached --others --exclude-standard -- '*.sh'; echo .ci/run; } |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
    xargs -r shellcheck --severity=warning
}

check_docker() {
  PATH=$PATH:$PWD/build/lint-tools/bin hadolint docker/*.Dockerfile
}

check_tidy() {
  local cap=${BERTH_TIDY_FILES:-0} files count
  files=$(tidy_files)
  count=$(printf '%s' "$files" | grep -c . || true)
  if [ "$cap" -gt 0 ] && [ "$count" -gt "$cap" ]; then
    echo "clang-tidy: $cap of $count changed files (BERTH_TIDY_FILES); 'make lint' takes them all"
    files=$(printf '%s\n' "$files" | awk -v n="$count" -v k="$cap" 'int(NR * k / n) > int((NR - 1) * k / n)')
  fi
  [ -n "$files" ] || return 0
  [ -e build/ci-clang/compile_commands.json ] || cmake --preset ci-clang >/dev/null
  printf '%s\n' "$files" | xargs -P "$(nproc)" -n 1 clang-tidy-19 --quiet -p build/ci-clang
}

status=0
for check in "$@"; do
  echo "== $check"
  case "$check" in
    format)   check_format || status=1 ;;
    includes) python3 scripts/check_includes.py || status=1 ;;
    sources)  python3 scripts/check_sources.py || status=1
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

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the missing Debian/Ubuntu packages of the named groups (default: build), and prints their names.
#   scripts/install_dependencies.sh [--list] [build] [test] [bench] [lint] [fuzz] [arm64] [images] [reference] [python] [live]
# --list prints the packages of the groups and changes nothing. Installed packages are not changed.
set -euo pipefail

packages_of() {
  case "$1" in
    build) echo g++ cmake ninja-build pkg-config ccache mold python3 protobuf-compiler libsimdjson-dev libyaml-dev libfmt-dev \
                libtbb-dev zlib1g-dev libzstd-dev libcli11-dev libxxhash-dev libsqlite3-dev libutf8proc-dev robin-map-dev \
                libeigen3-dev prometheus-cpp-dev \
                libcurl4-openssl-dev libssl-dev libcpp-httplib-dev libspdlog-dev libmimalloc-dev ;;
    test)  echo libgtest-dev librapidcheck-dev nlohmann-json3-dev libvalijson-dev python3 zstd valgrind ;;
    bench) echo libbenchmark-dev python3 ;;
    lint)  echo clang-format-19 clang-tidy-19 clang-19 shellcheck python3 git ;;
    fuzz)  echo clang-19 libclang-rt-19-dev ;;
    arm64) echo g++-aarch64-linux-gnu qemu-user ;;
    python) echo python3 python3-dev python3-venv ;;
    live) echo faketime ;;
    reference) echo doxygen abigail-tools ;;
    images) echo buildah mmdebstrap debian-archive-keyring ;;
    *)     echo "install_dependencies: unknown group '$1' (build, test, bench, lint, fuzz, arm64, images, reference, python, live)" >&2; return 2 ;;
  esac
}

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

run_as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "install_dependencies: run this as root, or install sudo: $*" >&2
    return 1
  fi
}

list_only=no
if [ "${1:-}" = --list ]; then
  list_only=yes
  shift
fi
[ $# -gt 0 ] || set -- build
wanted=
for group in "$@"; do
  wanted+=" $(packages_of "$group")"
done
if [ "$list_only" = yes ]; then
  printf '%s\n' $wanted | sort -u
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_dependencies: this is not Debian or Ubuntu; taking for granted that these are there:$wanted" >&2
  exit 0
fi
missing=()
for package in $(printf '%s\n' $wanted | sort -u); do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "Installing ${#missing[@]} packages: ${missing[*]}"
run_as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q -o Acquire::Retries=5
run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o Acquire::Retries=5 --no-install-recommends "${missing[@]}"

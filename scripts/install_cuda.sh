#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the CUDA 13.0 compiler into build/cuda-toolkit (270 MB) when the machine has none: the wheels that
# scripts/cuda_requirements.txt pins, from PyPI, about 100 MB. x86-64 Linux only; needs no GPU, and root only when python3
# has no pip and apt-get must install it.
#   scripts/install_cuda.sh [--force]
# Does nothing when the toolkit is installed, or when cmake/cuda.cmake, which finds this installation, would use another
# nvcc: of CUDACXX, the PATH or /usr/local/cuda. --force installs even then.
set -euo pipefail
cd "$(dirname "$0")/.."
toolkit=$PWD/build/cuda-toolkit
requirements=scripts/cuda_requirements.txt
version_min=12.8  # as in cmake/cuda.cmake
stamp=$toolkit/installed_requirements.txt  # written last: an interrupted run is repeated

say_and_fail() {
  echo "install_cuda: $1" >&2
  exit 1
}

has_pip() {
  python3 -m pip --version >/dev/null 2>&1
}

# Debian's python3 has no pip.
install_pip() {
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q -o Acquire::Retries=5
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o Acquire::Retries=5 --no-install-recommends python3 python3-pip
  fi
}

# True when the installed version is the newer one.
is_new_enough() {
  local version
  version=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$version_min" "$version" | sort -V | tail -n 1)" = "$version" ]
}

if [ "${1:-}" != --force ]; then
  for nvcc in "${CUDACXX:-}" nvcc /usr/local/cuda/bin/nvcc; do
    ! is_new_enough "$nvcc" || exit 0
  done
fi
! cmp -s "$requirements" "$stamp" || exit 0
[ "$(uname -sm)" = "Linux x86_64" ] ||
  say_and_fail "the pinned wheels are for x86-64 Linux; install NVIDIA's CUDA toolkit and put nvcc on the PATH"

mkdir -p build
work=$(mktemp -d "$PWD/build/cuda-install.XXXXXX")  # beside the target, so that the last step is a rename
trap 'rm -rf "$work"' EXIT
has_pip || install_pip
has_pip || say_and_fail "python3 with pip is needed: apt-get install python3-pip"
echo "Installing CUDA 13.0 into build/cuda-toolkit"
# --target leaves the system's Python alone, so that an externally managed one (PEP 668) does not object.
python3 -m pip install --retries 10 --quiet --disable-pip-version-check --no-input --root-user-action=ignore --only-binary :all: \
  --require-hashes --no-deps --target "$work/toolkit" -r "$requirements"

home=$work/toolkit/nvidia/cu13
for program in bin/nvcc bin/ptxas nvvm/bin/cicc; do
  [ -x "$home/$program" ] || say_and_fail "the wheels brought no $program"
done
ln -s lib "$home/lib64"  # nvcc.profile has it link from lib64; the wheels have lib
cp "$requirements" "$work/toolkit/${stamp##*/}"
rm -rf "$toolkit"
mv "$work/toolkit" "$toolkit"

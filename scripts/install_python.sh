#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the environment in which the package berth (python/) is built and tested: the wheels that
# scripts/python_requirements.txt pins, from PyPI, about 250 MB, which stay in build/python-wheelhouse for the tests' own
# environments. Needs Python with its headers and venv (scripts/install_dependencies.sh python); no root.
#   scripts/install_python.sh                             build/python-venv, of Python 3.11
#   BERTH_PYTHON=python3.13 scripts/install_python.sh     build/python-venv-3.13; 3.12 likewise
# BERTH_PYTHON names the interpreter (default: python3.11, else python3). Does nothing when the environment is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
wheelhouse=$PWD/build/python-wheelhouse
requirements=scripts/python_requirements.txt

python=${BERTH_PYTHON:-$(command -v python3.11 || command -v python3)}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2] + sys.abiflags)')
if [[ ! $version =~ ^3\.1[123]$ ]] || [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "install_python: $python is Python $version; the pinned wheels are for 3.11, 3.12 and 3.13 on x86-64 Linux; BERTH_PYTHON names another interpreter" >&2
  exit 1
fi
environment=$PWD/build/python-venv
[ "$version" = 3.11 ] || environment+=-$version
stamp=$environment/installed_requirements.txt  # written last: an interrupted run is repeated
! cmp -s "$requirements" "$stamp" || exit 0
echo "Installing the packages of $requirements into ${environment#"$PWD"/}"
rm -rf "$environment"
"$python" -m venv "$environment"
pip=("$environment/bin/python" -m pip --disable-pip-version-check --no-input --retries 10 --quiet)
"${pip[@]}" download --only-binary :all: --require-hashes --no-deps --dest "$wheelhouse" -r "$requirements"
"${pip[@]}" install --no-index --find-links "$wheelhouse" --require-hashes --no-deps -r "$requirements"
cp "$requirements" "$stamp"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes build/python-venv, in which the package berth (python/) is built and tested: the wheels that
# scripts/python_requirements.txt pins, from PyPI, about 250 MB, which stay in build/python-wheelhouse for the tests' own
# environments. Needs Python 3.11 with its headers and venv (scripts/install_dependencies.sh python); no root.
#   scripts/install_python.sh
# BERTH_PYTHON names the interpreter (default: python3.11, else python3). Does nothing when the environment is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$PWD/build/python-venv
wheelhouse=$PWD/build/python-wheelhouse
requirements=scripts/python_requirements.txt
stamp=$environment/installed_requirements.txt  # written last: an interrupted run is repeated

! cmp -s "$requirements" "$stamp" || exit 0
python=${BERTH_PYTHON:-$(command -v python3.11 || command -v python3)}
if [ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" != 3.11 ] || [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "install_python: the pinned wheels are for Python 3.11 on x86-64 Linux; BERTH_PYTHON names another interpreter" >&2
  exit 1
fi
echo "Installing the packages of $requirements into build/python-venv"
rm -rf "$environment"
"$python" -m venv "$environment"
pip=("$environment/bin/python" -m pip --disable-pip-version-check --no-input --retries 10 --quiet)
"${pip[@]}" download --only-binary :all: --require-hashes --no-deps --dest "$wheelhouse" -r "$requirements"
"${pip[@]}" install --no-index --find-links "$wheelhouse" --require-hashes --no-deps -r "$requirements"
cp "$requirements" "$stamp"

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of berth and tests it in a fresh environment that has nothing of the build tree. CTest calls it.

    run.py wheel      build/<preset>/python/wheels: pip wheel, then auditwheel repair
    run.py pytest     a fresh environment, with that wheel and what the tests need, and tests/python in it
    run.py sources    the same with pip install python, which builds libberth too; ctest does not call it

The environment of scripts/install_python.sh has the tools. Without it the exit status is 77: skipped. Of ctest:
BERTH_SOURCE, BERTH_BUILD (a build folder), BERTH_LIBRARY (its libberth.so), BERTH_SANITIZE (sanitizers, or empty),
BERTH_PYTHON_VERSION (of another Python than 3.11).
"""

import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("BERTH_SOURCE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", SOURCE / "build/host"))
LIBRARY = os.environ.get("BERTH_LIBRARY", str(BUILD / "libberth.so"))
SANITIZE = os.environ.get("BERTH_SANITIZE", "")
VERSION = os.environ.get("BERTH_PYTHON_VERSION", "")
OF_VERSION = f"-{VERSION}" if VERSION else ""
TOOLS = SOURCE / f"build/python-venv{OF_VERSION}/bin"
WHEELHOUSE = SOURCE / "build/python-wheelhouse"
WORK = BUILD / f"python{OF_VERSION}"
SKIPPED = 77


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(each) for each in command], check=True, **options)


def clean_environment(**more):
    """Without what could lead Python to the build tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "LD_"))}
    return {**kept, "BERTH_SOURCE": str(SOURCE), **more}


def sanitizer_environment():
    """The program is Python: it has to have the sanitizer's runtime before the library comes. Python's own memory is not
    freed at its end."""
    # `undefined` alone has a shared runtime that the library brings.
    if "address" not in SANITIZE:
        return {}
    compiler = os.environ.get("BERTH_CXX", "c++")
    paths = [subprocess.run([compiler, f"-print-file-name={each}"], capture_output=True, text=True, check=True).stdout.strip()
             for each in ("libasan.so", "libstdc++.so")]  # an interceptor of exceptions looks for libstdc++ at the start
    return {"LD_PRELOAD": ":".join(paths), "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0"}


def wheel():
    wheels, plain = WORK / "wheels", WORK / "plain-wheels"
    for folder in (wheels, plain):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    stub = ";".join(f"{name}={value}" for name, value in sanitizer_environment().items())
    run(TOOLS / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", plain,
        "--config-settings", f"build-dir={WORK}/build", "--config-settings", f"cmake.define.BERTH_LIBRARY={LIBRARY}",
        "--config-settings", "cmake.define.BERTH_WERROR=ON", "--config-settings", f"cmake.define.BERTH_STUB_ENVIRONMENT={stub}",
        *(["--config-settings", f"cmake.define.CMAKE_CXX_FLAGS=-fsanitize={SANITIZE} -g1"] if SANITIZE else []),
        SOURCE / "python", env=clean_environment(PATH=f"{TOOLS}:{os.environ['PATH']}"))
    made, = plain.glob("berth-*.whl")
    if SANITIZE:  # what auditwheel takes along would be a second runtime
        shutil.move(made, wheels)
    else:
        run(TOOLS / "auditwheel", "repair", "--strip", "--wheel-dir", wheels, made,
            env=clean_environment(PATH=f"{TOOLS}:{os.environ['PATH']}"))
    print(*[f"{each.name}: {each.stat().st_size / 1e6:.1f} MB" for each in wheels.iterdir()], sep="\n")


def fresh_environment():
    environment = WORK / "venv"
    shutil.rmtree(environment, ignore_errors=True)
    run(TOOLS / "python", "-m", "venv", environment)
    return environment / "bin/python"


PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--find-links", WHEELHOUSE)


def pytest(python):
    arguments = sys.argv[2:]
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(arguments or [SOURCE / "tests/python"]), cwd=WORK,
        env=clean_environment(PYTHONDONTWRITEBYTECODE="1", **sanitizer_environment()))


def test_wheel():
    made, = (WORK / "wheels").glob("berth-*.whl")
    python = fresh_environment()
    more = ["pandas", "pyarrow", "matplotlib", "gymnasium"]
    if not SANITIZE:  # mypy looks at no library, and Ray's workers would have to preload the sanitizer too
        more += ["mypy", "pandas-stubs", "ray"]
    run(python, *PIP, made, "pytest", *more)
    pytest(python)


def test_sources():
    python = fresh_environment()
    run(python, *PIP, "nanobind", "scikit-build-core", "ninja", "pytest", "pandas", "pyarrow", "mypy", "pandas-stubs")
    run(python, "-m", "pip", "install", "--no-index", "--no-build-isolation", SOURCE / "python",
        env=clean_environment(PATH=f"{TOOLS}:{os.environ['PATH']}"))
    pytest(python)


if __name__ == "__main__":
    if not (TOOLS / "nanobind").exists() and not list(TOOLS.parent.glob("lib/*/site-packages/nanobind")):
        print(f"skipped: scripts/install_python.sh makes the environment {TOOLS.parent.name}, which is not there")
        sys.exit(SKIPPED)
    {"wheel": wheel, "pytest": test_wheel, "sources": test_sources}[sys.argv[1]]()

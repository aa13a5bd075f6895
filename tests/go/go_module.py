#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one Go module with gofmt, go vet and go test, against an installed libberth.

    tests/go/go_module.py FOLDER --prefix PREFIX [-- ARGUMENT OF GO TEST...]

Exit status 77 where Go, pkg-config or the modules that FOLDER needs cannot be had, and for adapters with BERTH_GO_ADAPTERS=no in
the environment; the reason is printed.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
# What the go command says where no proxy answers.
UNREACHABLE = re.compile(r"dial tcp|proxyconnect|no such host|i/o timeout|connection refused|module lookup disabled|TLS handshake")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def skip_adapters_if_asked():
    """They build parts of Kubernetes, which takes minutes without Go's cache: .ci/run leaves them to .ci/nightly."""
    if os.environ.get("BERTH_GO_ADAPTERS") == "no":
        skip("BERTH_GO_ADAPTERS=no leaves the adapters out")


def environment_of(prefix):
    prefix = os.path.abspath(prefix)
    found = glob.glob(os.path.join(prefix, "**", "pkgconfig", "berth.pc"), recursive=True)
    if not found:
        sys.exit(f"no berth.pc below {prefix}")
    packages = os.path.dirname(found[0])
    libraries = os.path.dirname(packages)
    before = os.environ.get("LD_LIBRARY_PATH")
    return dict(os.environ, PKG_CONFIG_PATH=packages, GOTOOLCHAIN="local", BERTH_PREFIX=prefix,
                LD_LIBRARY_PATH=libraries + (":" + before if before else ""))


def needs_newer_go(folder, go):
    """The version that go.mod asks for, where the Go that is here is older."""
    version = re.search(r"go(\d+)\.(\d+)", subprocess.run([go, "version"], check=True, capture_output=True, text=True).stdout)
    with open(os.path.join(folder, "go.mod"), encoding="utf-8") as file:
        asked = re.search(r"^go (\d+)\.(\d+)", file.read(), re.M)
    return None if tuple(map(int, version.groups())) >= tuple(map(int, asked.groups())) else asked[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--prefix", required=True)
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:split])
    arguments = sys.argv[split + 1:]
    if "adapters" in os.path.normpath(options.folder).split(os.sep):
        skip_adapters_if_asked()
    go = shutil.which("go")
    if not go:
        skip("there is no Go")
    if not shutil.which("pkg-config"):
        skip("there is no pkg-config")
    newer = needs_newer_go(options.folder, go)
    if newer:
        skip(f"the module needs {newer}")
    environment = environment_of(options.prefix)

    def run(*command, **more):
        return subprocess.run(command, cwd=options.folder, env=environment, check=False, **more)

    build = [each for flag in ("-modfile", "-tags") if flag in arguments for each in (flag, arguments[arguments.index(flag) + 1])]
    listed = run(go, "list", *build, "-test", "-deps", "./...", capture_output=True, text=True)
    if listed.returncode != 0 and UNREACHABLE.search(listed.stderr):
        skip("modules are missing and no proxy answers: " + listed.stderr.strip().splitlines()[-1])
    wrong = run("gofmt", "-l", ".", capture_output=True, text=True)
    if wrong.returncode != 0 or wrong.stdout:
        sys.exit("gofmt would change:\n" + wrong.stdout + wrong.stderr)
    for command in ([go, "vet", *build, "./..."], [go, "test", "-count=1", *arguments, "./..."]):
        status = run(*command).returncode
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())

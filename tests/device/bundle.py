#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs what tests/device.sh runs on a device into one file, for a machine that compiles nothing, and unpacks it there.

    tests/device/bundle.py pack FILE --programs DIR --probe PROGRAM --facts TEXT [--facts TEXT ...]
    tests/device/bundle.py unpack FILE DIR

The file is a tar, compressed by xz: stripped copies of the programs by their paths in the build folder, `probe`, the shared
libraries that they need in lib/, and bundle.json with what was given as NAME=VALUE.
"""

import argparse
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import programs

LARGEST_MIB = 45
# The C library belongs to the machine, with its loader.
OF_THE_MACHINE = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|pthread|dl|rt|resolv|util|nsl|mvec))\.so.*")
# The programs hold the same objects: a dictionary that reaches over all of them finds the copies. A higher preset takes
# minutes and saves a few percent.
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 192 << 20}]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """{name: path}; a library that is not found is an error."""
    found = {}
    for line in run("ldd", program).splitlines():
        name = line.split()[0]
        if "=> not found" in line:
            sys.exit(f"bundle: {program} needs {name}, which is not here")
        if "=>" in line and not OF_THE_MACHINE.fullmatch(name):
            found[name] = line.split("=>")[1].split()[0]
    return found


def copy_stripped(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    run("strip", "-s", "-o", target, source)


def gather(options, folder):
    wanted = {"berth": "berth", **{program.path: program.path for program in programs.PROGRAMS}}
    libraries = {}
    for path in wanted:
        source = os.path.join(options.programs, path)
        if not os.path.isfile(source):
            sys.exit(f"bundle: {source} is not there; build the targets of 'tests/device/programs.py targets'")
        copy_stripped(source, os.path.join(folder, path))
        libraries.update(libraries_of(source))
    copy_stripped(options.probe, os.path.join(folder, "probe"))
    libraries.update(libraries_of(options.probe))
    os.makedirs(os.path.join(folder, "lib"))
    for name, path in libraries.items():
        shutil.copyfile(path, os.path.join(folder, "lib", name))
    with open(os.path.join(folder, "bundle.json"), "w", encoding="utf-8") as file:
        json.dump(dict(fact.split("=", 1) for fact in options.facts), file)


def pack(options):
    with tempfile.TemporaryDirectory() as folder:
        gather(options, folder)
        os.makedirs(os.path.dirname(os.path.abspath(options.file)), exist_ok=True)
        new = options.file + ".new"
        with lzma.open(new, "wb", format=lzma.FORMAT_XZ, filters=FILTERS) as compressed, \
                tarfile.open(fileobj=compressed, mode="w") as tar:
            tar.add(folder, arcname=".")
    size = os.path.getsize(new)
    if size > LARGEST_MIB << 20:
        os.remove(new)
        sys.exit(f"bundle: it would have {size >> 20} MiB, more than {LARGEST_MIB}")
    os.replace(new, options.file)
    print(f"bundle: {size / (1 << 20):.1f} MiB, {options.file}")


def unpack(options):
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    with tarfile.open(options.file, "r:xz") as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(options.folder, filter="data")
        else:
            tar.extractall(options.folder)
    with open(os.path.join(options.folder, "bundle.json"), encoding="utf-8") as file:
        print(file.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("pack")
    verb.set_defaults(call=pack)
    verb.add_argument("file")
    verb.add_argument("--programs", required=True)
    verb.add_argument("--probe", required=True)
    verb.add_argument("--facts", action="append", default=[])
    verb = verbs.add_parser("unpack")
    verb.set_defaults(call=unpack)
    verb.add_argument("file")
    verb.add_argument("folder")
    options = parser.parse_args()
    try:
        options.call(options)
    except subprocess.CalledProcessError as error:
        sys.exit(f"bundle: {' '.join(error.cmd)}: {error.stderr.strip()}")
    except (OSError, lzma.LZMAError, tarfile.TarError) as error:
        sys.exit(f"bundle: {error}")


if __name__ == "__main__":
    main()

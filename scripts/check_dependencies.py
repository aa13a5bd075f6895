#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every library that the build asks for is used: included by the sources of the group that names it.

    scripts/check_dependencies.py [--root DIR]

Reads the -dev packages of scripts/install_dependencies.sh and the names in cmake/dependencies.cmake. Prints file:line and
what is wrong; exit status 0 when there is nothing to say, 1 otherwise, 2 when a file is missing.
"""

import argparse
import os
import re
import sys

INSTALL = "scripts/install_dependencies.sh"
CMAKE = "cmake/dependencies.cmake"
# Where a library of a group has to be included.
FOLDERS = {
    "build": ["host", "plugins", "batching", "cuda"],
    "test": ["tests"],
    "bench": ["bench"],
}
# Debian package -> name that cmake/dependencies.cmake asks for, and what an include of it begins with.
LIBRARIES = {
    "libsimdjson-dev": ("simdjson", "simdjson.h"),
    "libyaml-dev": ("yaml", "yaml.h"),
    "libfmt-dev": ("fmt", "fmt/"),
    "libspdlog-dev": ("spdlog", "spdlog/"),
    "libtbb-dev": ("TBB", "tbb/"),
    "libmimalloc-dev": ("mimalloc", "mimalloc.h"),
    "zlib1g-dev": ("ZLIB", "zlib.h"),
    "libzstd-dev": ("zstd", "zstd.h"),
    "libcli11-dev": ("CLI11", "CLI/"),
    "libxxhash-dev": ("xxhash", "xxhash.h"),
    "libsqlite3-dev": ("sqlite", "sqlite3.h"),
    "libutf8proc-dev": ("utf8proc", "utf8proc.h"),
    "robin-map-dev": ("tsl-robin-map", "tsl/"),
    "libhwy-dev": ("HWY", "hwy/"),
    "libeigen3-dev": ("Eigen3", "Eigen/"),
    "prometheus-cpp-dev": ("prometheus", "prometheus/"),
    "libcurl4-openssl-dev": ("curl", "curl/"),
    "libssl-dev": ("openssl", "openssl/"),
    "libcpp-httplib-dev": ("httplib", "httplib.h"),
    "libgtest-dev": ("GTest", "gtest/"),
    "librapidcheck-dev": ("rapidcheck", "rapidcheck"),
    "nlohmann-json3-dev": ("nlohmann_json", "nlohmann/"),
    "libvalijson-dev": ("valijson", "valijson/"),
    "libbenchmark-dev": ("benchmark", "benchmark/"),
}
# Found by cmake/dependencies.cmake, and no library of a package's own.
BUILT_IN = {"PkgConfig", "Threads"}
SOURCES = (".h", ".cpp", ".cuh", ".cu")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
GROUP = re.compile(r"^    (\w+)\)")
ASKED = re.compile(r"^\s*(?:find_package|berth_use_pkg_config)\((\S+?)[\s)]")


def packages_by_group(lines):
    """{group: {package: line number}} of the case in install_dependencies.sh."""
    groups, group = {}, None
    for number, line in enumerate(lines, 1):
        if match := GROUP.match(line):
            group = match.group(1)
        if group:
            for package in re.findall(r"[\w.+-]+-dev\b", line):
                groups.setdefault(group, {})[package] = number
        if line.rstrip().endswith(";;"):
            group = None
    return groups


def includes_below(root, folders):
    found = set()
    for folder in folders:
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(SOURCES):
                    with open(os.path.join(at, name), encoding="utf-8") as file:
                        found.update(INCLUDE.findall(file.read()))
    return found


def problems_of_packages(root, lines):
    for group, packages in packages_by_group(lines).items():
        if group not in FOLDERS:
            continue
        includes = includes_below(root, FOLDERS[group])
        for package, number in packages.items():
            if package not in LIBRARIES:
                yield f"{INSTALL}:{number}: {package} is not in the table of scripts/check_dependencies.py"
            elif not any(path.startswith(LIBRARIES[package][1]) for path in includes):
                yield f"{INSTALL}:{number}: no source of {', '.join(FOLDERS[group])} includes {package}, group {group}"


def problems_of_cmake(lines, installed):
    """A name that the build asks for belongs to a package that the install script has."""
    known = {LIBRARIES[package][0] for package in installed if package in LIBRARIES}
    for number, line in enumerate(lines, 1):
        match = ASKED.match(line)
        if match and match.group(1) not in known | BUILT_IN and match.group(1) != "name":
            yield f"{CMAKE}:{number}: {match.group(1)} is asked for, and {INSTALL} installs no package of it"


def read_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read().splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    root = parser.parse_args().root
    try:
        install, cmake = read_lines(root, INSTALL), read_lines(root, CMAKE)
    except FileNotFoundError as error:
        print(f"check_dependencies: {error.filename} is missing")
        return 2
    installed = {package for packages in packages_by_group(install).values() for package in packages}
    problems = [*problems_of_packages(root, install), *problems_of_cmake(cmake, installed)]
    for problem in problems:
        print(problem)
    print(f"check_dependencies: {len(installed)} packages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

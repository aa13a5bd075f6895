#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes point down the layers (docs/architecture.md) and that a file reaches the standard headers of what it
uses, and prints file:line and the rule for each that does not. The compiler alone does not see the second: where sources are
compiled in groups, one source has the headers of those before it.

    scripts/check_includes.py [--root DIR]

Exit status 0 when every include is allowed, 1 when some are not, 2 when there is nothing to check.
"""

import argparse
import os
import re
import sys

# From the lowest layer up; folders of one row may not include one another.
LAYERS = [
    ["host/objects"],
    ["host/config"],
    ["host/cluster"],
    ["host/framework"],
    ["host/plugin_abi"],
    ["plugins"],
    ["batching"],
    ["host/engine", "cuda"],
    ["host/preemption", "host/queue", "host/binding", "host/store"],
    ["host/scheduler", "host/generate"],
    ["host/metrics"],
    ["host/perf", "host/record", "host/simulate"],
    ["host/capi", "host/kube"],
    ["host/serving", "host/report"],
    ["host/live"],
    ["host/cli"],
]
RANK = {folder: rank for rank, row in enumerate(LAYERS) for folder in row}
CHECKED = ["host", "plugins", "batching", "cuda", "bench", "tests", "include"]
SUFFIXES = (".h", ".cpp", ".c", ".cu", ".cuh")

# What the rules may use of the standard library: nothing that allocates, so that either compiler takes them.
RULE_HEADERS = set(
    "algorithm array bit climits cmath compare concepts cstddef cstdint limits numeric span string_view tuple "
    "type_traits utility".split())
RULE_FILE = re.compile(r"plugins/[^/]+/rule\.h$")
CUDA_HEADER = re.compile(r"(cuda|cub/|thrust/|cooperative_groups|nvtx|nvml|device_launch_parameters|curand|cublas)")
BACKEND_FACTORY = "host/scheduler/backend_factory"
# Names of the standard library and their header: those that other standard headers do not reliably bring along.
STANDARD_HEADERS = {
    "algorithm": "all_of any_of copy fill find_if lower_bound max min none_of sort stable_sort upper_bound",
    "atomic": "atomic", "bit": "bit_cast countl_zero countr_zero popcount", "charconv": "from_chars to_chars",
    "chrono": "chrono", "condition_variable": "condition_variable", "cmath": "isnan", "cstring": "memcpy",
    "deque": "deque", "filesystem": "filesystem", "fstream": "ifstream ofstream", "future": "future promise",
    "limits": "numeric_limits", "list": "list", "map": "map multimap", "memory": "make_shared make_unique shared_ptr unique_ptr",
    "mutex": "mutex scoped_lock", "new": "bad_alloc", "numeric": "accumulate iota", "optional": "optional",
    "queue": "priority_queue queue", "set": "set", "span": "span", "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "invalid_argument logic_error runtime_error", "system_error": "error_code system_error",
    "thread": "jthread thread", "type_traits": "is_same_v", "unordered_map": "unordered_map",
    "unordered_set": "unordered_set", "variant": "variant", "vector": "vector",
}
HEADER_OF = {name: header for header, names in STANDARD_HEADERS.items() for name in names.split()}
STANDARD_NAME = re.compile(r"\bstd::(\w+)")
NOT_CODE = re.compile(r'//.*|"(?:\\.|[^"\\\n])*"')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def source_files(root):
    """Yields the path of every checked source file, relative to root."""
    for top in CHECKED:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def read_includes(root, path):
    """Returns [(line number, quoted?, header)] of one file."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        matches = ((number, INCLUDE.match(line)) for number, line in enumerate(file, 1))
        return [(number, match[1] == '"', match[2]) for number, match in matches if match]


def layer_of(path):
    """Returns the layer's folder, or None for tests/, bench/, include/ and what belongs to no layer."""
    parts = path.split("/")
    for folder in (parts[0], "/".join(parts[:2])):
        if folder in RANK:
            return folder
    return None


def is_under(path, folder):
    return path.startswith(folder + "/")


def layer_problem(path, header):
    """The rule that `path` breaks by including the project file `header`, or None."""
    for folder in ("tests", "bench"):
        if is_under(header, folder) and not is_under(path, folder):
            if not (is_under(path, "bench") and is_under(header, "tests/support")):
                return f"nothing includes {folder}/"
    if is_under(header, "include/berth") and not path.startswith(("host/capi/", "host/plugin_abi/", "tests/", "bench/", "include/")):
        return "only host/capi and host/plugin_abi see the C API"
    if is_under(header, "cuda") and not path.startswith(("cuda/", "tests/", "bench/", BACKEND_FACTORY)):
        return f"only {BACKEND_FACTORY} knows the CUDA backend"
    source, target = layer_of(path), layer_of(header)
    if source is None or target is None:
        return None
    if source == target:
        return engine_problem(path, header)
    if RANK[target] > RANK[source]:
        return f"{source} may not include {target}, which stands above it"
    if RANK[target] == RANK[source]:
        return f"{source} may not include {target}, which stands beside it"
    if is_under(path, "host/engine/reference") and target == "plugins":
        return "the reference evaluator is a second writing of the rules and may not include plugins/"
    return None


def engine_problem(path, header):
    """Inside host/engine, the reference evaluator and everything else do not know each other."""
    reference = "host/engine/reference"
    if source_is_engine(path) and is_under(path, reference) != is_under(header, reference):
        return "the reference evaluator and the fast engine may not include each other"
    return None


def source_is_engine(path):
    return is_under(path, "host/engine")


def rule_problems(root, path, includes_of):
    """Yields (line, rule) where a plugin's rule.h, or a header it brings along, is more than plain data and functions."""
    seen, waiting = {path}, [(number, quoted, header, None)
                             for number, quoted, header in includes_of(path)]
    while waiting:
        number, quoted, header, through = waiting.pop()
        via = f" (through {through})" if through else ""
        if not quoted:
            if header not in RULE_HEADERS:
                yield number, f"a rule.h may not reach <{header}>{via}: it must compile for a device and never allocate"
        elif header not in seen and os.path.exists(os.path.join(root, header)):
            seen.add(header)
            waiting += [(number, q, h, through or header) for _, q, h in includes_of(header)]


def reached_headers(root, path, includes_of):
    """The headers that are not the project's and that `path` or a project header it brings along includes."""
    reached, seen, waiting = set(), {path}, [path]
    while waiting:
        for _, quoted, header in includes_of(waiting.pop()):
            if not quoted:
                reached.add(header)
            elif header not in seen and os.path.exists(os.path.join(root, header)):
                seen.add(header)
                waiting.append(header)
    return reached


def standard_problems(root, path, includes_of):
    """Yields (line, rule) where a file uses a name of the standard library whose header it does not reach."""
    reached = reached_headers(root, path, includes_of)
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            for name in STANDARD_NAME.findall(NOT_CODE.sub("", line)):
                header = HEADER_OF.get(name)
                if header is not None and header not in reached:
                    yield number, f"std::{name}: neither the file nor a header of the project that it includes has <{header}>"


def problems_of(root, path, includes_of):
    """Yields (line, rule) for each include of one file that breaks a rule."""
    for number, quoted, header in includes_of(path):
        if not quoted:
            if CUDA_HEADER.match(header) and not path.startswith(("cuda/", "tests/", "bench/")):
                yield number, f"<{header}>: CUDA headers stay inside cuda/"
            continue
        if path.startswith("include/") and os.path.dirname(header) == "" and os.path.exists(
                os.path.join(root, os.path.dirname(path), header)):
            continue  # installed headers stand beside each other
        if not os.path.exists(os.path.join(root, header)):
            yield number, f'"{header}": not a file of the repository; includes are written from its root'
            continue
        problem = layer_problem(path, header)
        if problem:
            yield number, f'"{header}": {problem}'
    if RULE_FILE.match(path):
        yield from rule_problems(root, path, includes_of)
    yield from standard_problems(root, path, includes_of)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    root = parser.parse_args().root
    cache = {}

    def includes_of(path):
        if path not in cache:
            cache[path] = read_includes(root, path)
        return cache[path]

    files = list(source_files(root))
    found = [(path, line, rule) for path in files for line, rule in problems_of(root, path, includes_of)]
    for path, line, rule in sorted(set(found)):
        print(f"{path}:{line}: {rule}")
    if not files:
        print("check_includes: no source file found", file=sys.stderr)
        return 2
    print(f"check_includes: {len(files)} files, {len(set(found))} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

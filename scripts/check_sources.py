#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what every source file must have (SPDX line, include guard) and must not have (open ends, output from libraries, too
many lines).

    scripts/check_sources.py [--root DIR]

Prints file:line and the rule; exit status 0 when there is no problem, 1 otherwise, 2 when no file was found.
"""

import argparse
import os
import re
import sys

TOPS = ["host", "plugins", "batching", "cuda", "include", "bench", "tests", "scripts", "cmake", "examples", "go", "python"]
CODE = (".h", ".cuh", ".cpp", ".cu", ".c", ".go")
HEADERS = (".h", ".cuh")
LICENSED = CODE + (".py", ".sh", ".cmake", "CMakeLists.txt")
SPDX = "SPDX-License-Identifier: Apache-2.0"
# Written in two parts so that this file does not find itself.
OPEN_END = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
# A library neither prints nor ends the process; the program (host/cli) does both.
OUTPUT = re.compile(r"\b(std::cout|std::cerr|std::abort|std::exit|std::terminate|f?printf\s*\(|fmt::print\s*\(|abort\s*\(\)|exit\s*\()")
# The program writes messages through host/cli/messages.h, which shows foreign text safely, and results through Output.
RAW_OUTPUT = re.compile(r"\b(std::cout|std::cerr|std::clog|f?printf\s*\(|fmt::print\s*\(|f?puts\s*\(|perror\s*\(|stderr\b|stdout\b)")
LIBRARY = ("host/", "plugins/", "batching/", "cuda/")
# A header that is compiled more than once begins with this.
UNGUARDED = "// No include guard:"
# A longer file holds more than one idea, or is listed here with the reason why it does not.
LINES_MAX = 450
LONG_FILES = {
    "tests/contract/fork_test.cpp": "the contract of one class, with one fixture",
    "include/berth/berth.h": "the one public header",
    "tests/capi/embedding_test.c": "calls every function of the one public header",
}
# clang-format leaves a literal whole; tests hold objects and messages as one, and gofmt breaks no line.
WIDE = ("tests/", "bench/peer/")
LINE_COMMENT = re.compile(r"//.*$")


def files_of(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            if "__pycache__" not in folder:
                for name in sorted(names):
                    if name.endswith(LICENSED):
                        yield os.path.relpath(os.path.join(folder, name), root)
    if os.path.exists(os.path.join(root, "CMakeLists.txt")):
        yield "CMakeLists.txt"


def is_guarded(lines):
    return "#pragma once" in lines or any(line.startswith(UNGUARDED) for line in lines[:5])


def problems_of(path, lines):
    """Yields (line number, rule) for one file."""
    if not any(SPDX in line for line in lines[:2]):
        yield 1, f"opens with the line '{SPDX}'"
    if path.endswith(HEADERS) and not path.startswith("include/") and not is_guarded(lines):
        yield 1, f"a header has #pragma once, or says '{UNGUARDED} why'"
    if path.endswith(CODE) and len(lines) > LINES_MAX and path not in LONG_FILES:
        yield LINES_MAX, f"files have {LINES_MAX} lines at most and hold one idea; LONG_FILES in scripts/check_sources.py lists exceptions"
    in_library = path.endswith(CODE) and path.startswith(LIBRARY) and not path.startswith("host/cli/")
    for number, line in enumerate(lines, 1):
        if OPEN_END.search(line):
            yield number, "open ends are issues, not comments"
        if path.endswith(CODE) and len(line) > 120 and '"' not in line and not path.startswith(WIDE) and not path.endswith("_test.go"):
            yield number, "lines end at 120 columns"
        if in_library and OUTPUT.search(LINE_COMMENT.sub("", line)):
            yield number, "a library neither prints nor ends the process"
        if path.startswith("host/cli/") and RAW_OUTPUT.search(LINE_COMMENT.sub("", line)):
            yield number, "messages go through host/cli/messages.h and results through Output"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    root = parser.parse_args().root
    file_count = problem_count = 0
    for path in files_of(root):
        file_count += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, rule in problems_of(path, lines):
            problem_count += 1
            print(f"{path}:{number}: {rule}")
    print(f"check_sources: {file_count} files, {problem_count} problems")
    if file_count == 0:
        return 2
    return 1 if problem_count else 0


if __name__ == "__main__":
    sys.exit(main())

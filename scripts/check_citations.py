#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every cited section and worked example of docs/behaviour exists.

    scripts/check_citations.py [--root DIR]

A citation is the path of a page followed by section numbers: `docs/behaviour/plugins-node.md 8.2`, `... 5 to 10 and 13`,
`... 1.4, 3.2`. It may be wrapped to the next line of a comment. Inside docs/behaviour a link to another page counts too.
Test names cite worked examples: E_NA_4_... is E-NA-4, E_P1_... is P1. Reported are pages, sections and examples that do not
exist, sections that are cited without their page ("section 2.10"), and paths that begin with spec/, where the pages were.

Prints file:line and the problem; exit status 0 when there is none, 1 otherwise, 2 when there is no page.
"""

import argparse
import bisect
import os
import re
import sys

PAGES = "docs/behaviour"
TOPS = ("host", "plugins", "batching", "cuda", "include", "bench", "tests", "scripts", "cmake", "examples", "docs", "docker")
CODE = (".h", ".cuh", ".cpp", ".cu", ".c", ".py", ".sh", ".cmake", ".case", ".go")
# The check and its test name sections that do not exist.
SKIPPED = ("scripts/check_citations.py", "tests/lint/check_citations_test.py")

HEADING = re.compile(r"^#{2,4} (\d+(?:\.\d+)*)\.? ", re.MULTILINE)
NUMBERS = r"\d+(?:\.\d+)*(?:(?:, and |, | and | to | or )\d+(?:\.\d+)*)*"
CITATION = re.compile(r"docs/behaviour/([\w-]+)\.md(?: (" + NUMBERS + r"))?")
LINK = re.compile(r"\]\(([\w-]+)\.md\)(?: (" + NUMBERS + r"))?")
FORMER = re.compile(r"\bspec/[\w-]+\.md")
WITHOUT_PAGE = re.compile(r"\b[sS]ections? \d+\.\d+")
# A line end with the comment leader of the next line, so that a citation may be wrapped.
WRAP = re.compile(r"\n[ \t]*(?:///<?|//!?|#|\*)?[ \t]*")
EXAMPLE = re.compile(r"\bE-[A-Z]+(?:-\d+)?\b|(?<=\*\*)[A-Z]\d+\b|(?<=^\| )[A-Z]\d+\b", re.MULTILINE)
TEST_NAME = re.compile(r"\bE_(?:([A-Z]+)_(\d+)|([A-Z]\d+)|([A-Z]+))(?=_|\b)")


def text_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def files_of(root):
    for top in TOPS:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if (name.endswith(CODE + (".md",)) or name == "CMakeLists.txt") and path not in SKIPPED:
                    yield path
    yield from sorted(name for name in os.listdir(root) if name.endswith(".md"))


def joined(text):
    """`text` with each line end and the comment leader behind it as one blank, and where each line starts in it."""
    parts, starts, length, end = [], [0], 0, 0
    for wrap in WRAP.finditer(text):
        parts += [text[end:wrap.start()], " "]
        length += wrap.start() - end + 1
        starts += [length] * wrap.group().count("\n")
        end = wrap.end()
    return "".join(parts) + text[end:], starts


def known_sections(root):
    pages = {}
    for name in os.listdir(os.path.join(root, PAGES)) if os.path.isdir(os.path.join(root, PAGES)) else []:
        if name.endswith(".md"):
            pages[name[:-3]] = set(HEADING.findall(text_of(root, f"{PAGES}/{name}")))
    return pages


def known_examples(root, pages):
    found = set()
    for page in pages:
        found.update(EXAMPLE.findall(text_of(root, f"{PAGES}/{page}.md")))
    return found | {each.rsplit("-", 1)[0] for each in found if each.count("-") == 2}


def example_of(match):
    group, number, short, alone = match.groups()
    return f"E-{group}-{number}" if group else short or f"E-{alone}"


def problems_of(path, text, pages, examples):
    """Yields (position in the joined text, problem) for one file; `text` is joined."""
    patterns = [CITATION, LINK] if path.startswith(PAGES + "/") else [CITATION]
    for match in (each for pattern in patterns for each in pattern.finditer(text)):
        page, numbers = match.groups()
        if page not in pages:
            yield match.start(), f"there is no page {PAGES}/{page}.md"
            continue
        for number in re.findall(r"\d+(?:\.\d+)*", numbers or ""):
            if number not in pages[page]:
                yield match.start(), f"{PAGES}/{page}.md has no section {number}"
    for match in FORMER.finditer(text):
        yield match.start(), f"{match.group()} is {PAGES}/ now"
    if path.endswith(CODE):
        for match in WITHOUT_PAGE.finditer(text):
            yield match.start(), f"'{match.group()}' names no page"
    if path.startswith("tests/") and path.endswith(CODE):
        for match in TEST_NAME.finditer(text):
            if example_of(match) not in examples:
                yield match.start(), f"{PAGES} has no example {example_of(match)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    root = parser.parse_args().root
    pages = known_sections(root)
    examples = known_examples(root, pages)
    files, problems = 0, 0
    for path in files_of(root):
        files += 1
        text, starts = joined(text_of(root, path))
        for position, problem in sorted(problems_of(path, text, pages, examples)):
            problems += 1
            print(f"{path}:{bisect.bisect_right(starts, position)}: {problem}")
    print(f"check_citations: {files} files, {len(pages)} pages, {problems} problems")
    if not pages:
        return 2
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the paths in pages exist: links, and words in backticks that look like a path of this repository.

    scripts/check_docs.py [--root DIR]

A path counts when its first folder is one of the repository's; `*` matches as in a shell, `a/{b,c}.h` means both, and
paths with a <part in angle brackets>, under build/ or outside the repository are not checked. Prints file:line and the
path; exit status 0 when all exist, 1 otherwise, 2 when there is no page.
"""

import argparse
import glob
import os
import re
import sys

BACKTICKS = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^\s*(```|~~~)")
BRACES = re.compile(r"^(.*)\{([^{}]*)\}(.*)$")


def pages_of(root):
    names = glob.glob("*.md", root_dir=root)
    for top in ("docs", "plugins", "examples", "tests", "bench", "docker", "deploy"):
        names += glob.glob(top + "/**/*.md", root_dir=root, recursive=True)
    return sorted(names)


def expand_braces(path):
    match = BRACES.match(path)
    if not match:
        return [path]
    return [each for part in match[2].split(",") for each in expand_braces(match[1] + part.strip() + match[3])]


def repository_path(text, tops):
    """The path that `text` names in the repository, or None when it is something else."""
    text = re.sub(r":\d+$", "", text).rstrip(".,;:")
    if "/" not in text or any(mark in text for mark in "<>$=()|\"'") or "..." in text:
        return None
    return text if text.split("/")[0] in tops else None


def exists(root, path):
    return all(glob.glob(os.path.join(root, each)) for each in expand_braces(path))


def missing_in(root, page, tops):
    """Yields (line number, path) for each path a page names in vain."""
    in_fence = False
    with open(os.path.join(root, page), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if FENCE.match(line):
                in_fence = not in_fence
            if in_fence:
                continue
            for text in BACKTICKS.findall(line):
                path = repository_path(text, tops)
                if path and not exists(root, path):
                    yield number, path
            for target in LINK.findall(line):
                if "://" not in target and not target.startswith("mailto:"):
                    path = os.path.normpath(os.path.join(os.path.dirname(page), target))
                    if not path.startswith("..") and not os.path.exists(os.path.join(root, path)):
                        yield number, target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    root = parser.parse_args().root
    tops = {name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))} - {"build", ".git"}
    pages = pages_of(root)
    missing = [(page, line, path) for page in pages for line, path in missing_in(root, page, tops)]
    for page, line, path in missing:
        print(f"{page}:{line}: there is no {path}")
    print(f"check_docs: {len(pages)} pages, {len(missing)} problems")
    if not pages:
        return 2
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

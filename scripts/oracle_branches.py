#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports which statements of upstream's plugins the golden corpus reaches, by Go's coverage.

    scripts/oracle_branches.py --berth BERTH --oracle PROGRAM

PROGRAM is tests/oracle built with -cover for the packages of the plugins (make oracle-branches). Functions that do not
evaluate pods (queueing hints, signatures, constructors, device claims, the binding of volumes) are excluded. Prints a line for each block that is
never reached, and finally the number of reached statements.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

from oracle_case import read_json
from oracle_golden import FOLDER, make_case

# Functions that give no verdict and no score, by parts of their names; and the tool itself.
ELSEWHERE = re.compile(r"isSchedulable|EventsToRegister|SignPod|^New|^new|^Name$|Clone|Extensions$|DRA|^nodeMatches$|MatchesPod|"
                       r"^Less$|PreEnqueue|^isFit$|^Fits$|involvedIn|LabelsChanged|buildNodeMatch|DeviceMatch|deviceMatches|"
                       r"Reserve|PreBind|Assume|[aA]ssumed|^Bind|^bind|checkBindings|arePodVolumesBound|convertDynamic|^getPodName$|"
                       r"^Len$|^Swap$|^List$|^Unreserve$|^isPVCRequestedFromPod$|"  # of VolumeBinding: what mode run compares, and sorting
                       r"^getArgs$|haveAnyRequested|hasConstraintWithNodeTaintsPolicy|^make")
OWN_PACKAGE = "berth.dev/"
# Upstream's test helpers, and a cache that changes only when objects do.
OTHER_FILES = re.compile(r"/(test_utils|fake_binder|passive_assume_cache)\.go$")
FUNCTION = re.compile(r"^func (?:\([^)]*\) )?(\w+)")
BLOCK = re.compile(r"^(\S+):(\d+)\.\d+,\d+\.\d+ (\d+) (\d+)$")


def draw_corpus(berth, folder):
    """Files of the clusters of tests/golden."""
    for entry in read_json(os.path.join(FOLDER, "corpus.json"))["clusters"]:
        yield make_case(folder, berth, entry.get("handmade") or entry["seed"]).path(".json")


def profile_of(program, clusters, folder):
    """Blocks as (file, first line) -> (statements, times reached)."""
    subprocess.run([program, "explain", "--out-dir", folder, *clusters], env={**os.environ, "GOCOVERDIR": folder}, check=True)
    text = os.path.join(folder, "profile.txt")
    subprocess.run(["go", "tool", "covdata", "textfmt", "-i", folder, "-o", text], check=True)
    with open(text, encoding="utf-8") as file:
        matches = [BLOCK.match(line) for line in file]
    return {(m[1], int(m[2])): (int(m[3]), int(m[4])) for m in matches if m and not m[1].startswith(OWN_PACKAGE)}


class Sources:
    """Lines of files in Go's module cache, by import path and file name."""

    def __init__(self):
        self.read = {}

    def lines(self, name):
        if name not in self.read:
            folder = subprocess.run(["go", "list", "-f", "{{.Dir}}", os.path.dirname(name)], cwd="tests/oracle", check=True,
                                    stdout=subprocess.PIPE, text=True).stdout.strip()
            with open(os.path.join(folder, os.path.basename(name)), encoding="utf-8") as file:
                self.read[name] = file.read().splitlines()
        return self.read[name]

    def function(self, name, number):
        """Name of the function that line `number` stands in."""
        for line in reversed(self.lines(name)[:number]):
            if match := FUNCTION.match(line):
                return match[1]
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--berth", required=True)
    args = parser.parse_args()
    sources, reached, statements_of = Sources(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        profile = profile_of(args.oracle, list(draw_corpus(args.berth, folder)), folder)
    for (name, number), (statements, times) in sorted(profile.items()):
        function = sources.function(name, number)
        if ELSEWHERE.search(function) or OTHER_FILES.search(name):
            continue
        package = os.path.basename(os.path.dirname(name))
        statements_of[package] += statements
        reached[package] += statements if times else 0
        if not times:
            print(f"never: {package}/{os.path.basename(name)}:{number} {function}: {sources.lines(name)[number - 1].strip()}")
    for package, count in sorted(statements_of.items()):
        print(f"  {reached[package]:>5} of {count:>5}  {package}")
    print(f"branches: {sum(reached.values())} of {sum(statements_of.values())} statements are reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())

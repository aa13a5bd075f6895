# SPDX-License-Identifier: Apache-2.0
"""The programs that tests/device.sh runs on a device, and which of their cases do.

    python3 tests/device/programs.py targets     # of the build, one a line
"""

import os
import re
import subprocess
import sys

LABELS = ["contract", "golden", "property", "cuda"]


class Program:
    """`labels` and `path` are those of the build. `every_case`: all its cases use the device when BERTH_REQUIRE_DEVICE is
    set; else those whose parameter names the backend do. `shares`: how many processes share the cases."""

    def __init__(self, path, labels, every_case=False, shares=1):
        self.path = path
        self.name = os.path.basename(path)
        self.labels = labels
        self.every_case = every_case
        self.shares = shares


PROGRAMS = [
    Program("tests/unit/cuda/cuda_test", ["cuda", "unit"], every_case=True),
    # Loses the device on purpose.
    Program("tests/unit/cuda/cuda_lost_test", ["cuda", "unit"], every_case=True),
    Program("tests/contract/backend_contract_test", ["contract"], shares=4),
    Program("tests/contract/teams_test", ["contract"], shares=3),
    Program("tests/contract/scenario_test", ["contract", "scenario"], shares=4),
    Program("tests/contract/oracle_test", ["contract", "oracle"], shares=3),
    Program("tests/contract/golden_test", ["contract", "golden"], shares=2),
    Program("tests/property/device_agrees_test", ["property"], every_case=True, shares=8),
]
# teams_test sets each team itself, so it is no part of `contract`, which runs once more with each.
SUITES = {
    "teams": ["teams_test"],
    "cuda": ["cuda_test", "cuda_lost_test"],
    "contract": ["backend_contract_test", "scenario_test", "oracle_test"],
    "golden": ["golden_test"],
    "property": ["device_agrees_test"],
    "sanitizer": ["cuda_test", "teams_test", "backend_contract_test", "device_agrees_test"],
}
# Under a sanitizer, which is slow, one case of so many of a program.
ONE_OF = {"backend_contract_test": 8, "teams_test": 5}


def programs_of(suite):
    return [program for program in PROGRAMS if program.name in SUITES[suite]]


def is_on_backend(case, backend="cuda"):
    """Suite.Case/cuda, Suite.Case/cuda_1_35, All/Suite.Case/file_cuda_7, Suite.Case/cuda_block_33_cells; `backend` is as name_in_tests() writes it."""
    _, found, parameter = case.rpartition("/")
    words = re.split(r"[^A-Za-z0-9]+", parameter)
    if not found:
        return False
    return "emulated" in words if backend == "cuda_emulated" else "cuda" in words and "emulated" not in words


def parse_list(text):
    """The names of the cases in the output of --gtest_list_tests."""
    cases, suite = [], None
    for line in text.splitlines():
        word = line.split("#", 1)[0].strip()
        if line.startswith("  ") and suite and word:
            cases.append(suite + word)
        elif re.fullmatch(r"\S+\.", word):
            suite = word
    return cases


def cases_of(program, folder, environment, suite, backend):
    """What of it runs in `suite`. subprocess.CalledProcessError, TimeoutExpired or OSError when it does not list them."""
    listed = subprocess.run([os.path.join(folder, program.path), "--gtest_list_tests"], env=environment, check=True,
                            capture_output=True, text=True, timeout=60)
    cases = [case for case in parse_list(listed.stdout) if "DISABLED_" not in case and
             (program.every_case or is_on_backend(case, backend))]
    return cases[::ONE_OF.get(program.name, 1)] if suite == "sanitizer" else cases


if __name__ == "__main__":
    if sys.argv[1:] != ["targets"]:
        sys.exit(__doc__)
    print("\n".join(["berth", *(each.name for each in PROGRAMS)]))

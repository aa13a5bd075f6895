#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a block of each kernel fits on a multiprocessor: registers and shared memory, as cuobjdump reads them from the
machine code of each architecture.

    check_kernel_resources.py CUOBJDUMP LIBRARY

A kernel of ours that is not listed here fails, so that a new one gets a budget. CUB's kernels are not looked at. Exit status 0
when all are within their budgets; 1 otherwise, and then it prints what is not.
"""

import re
import subprocess
import sys

# Threads of a block, from cuda/launch/tuning.h, and blocks that a multiprocessor has to hold at once: one of a kernel that
# commits alone, several of those that have to hide the latency of memory.
BUDGETS = {
    "commit_batch_block_kernel": (512, 1),
    "commit_batch_cluster_kernel": (512, 1),
    "commit_batch_grid_kernel": (512, 1),
    "evaluate_pod_kernel": (512, 1),
    "commit_window_kernel": (512, 1),
    "select_tops_kernel": (256, 2),
    "commit_forks_kernel": (128, 4),
    "evaluate_rows_kernel": (256, 3),
    "evaluate_node_side_kernel": (256, 4),
    "refresh_rows_kernel": (128, 4),
    "apply_delta_kernel": (256, 4),
    "build_level_kernel": (256, 4),
    "clear_live_kernel": (256, 8),
    "begin_run_kernel": (1, 1),
    "count_copies_kernel": (256, 3),
    "write_copies_kernel": (256, 3),
    "take_picks_kernel": (256, 4),
    "place_copies_kernel": (256, 4),
}
REGISTERS = 65536  # of a multiprocessor, all architectures that we build for
REGISTER_UNIT = 8  # registers a thread are handed out in eights
SHARED_BYTES = 48 * 1024  # static shared memory of a block
ENTRY = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:\d+ SHARED:(\d+)")
NAME = re.compile(r"\d+([a-z_]+_kernel)")


def main():
    cuobjdump, library = sys.argv[1:]
    text = subprocess.run([cuobjdump, "--dump-resource-usage", library], check=True, capture_output=True, text=True).stdout
    problems, seen = [], set()
    for mangled, registers, shared in ENTRY.findall(text):
        if not mangled.startswith("_ZN5berth"):
            continue
        name = NAME.search(mangled)
        name = name.group(1) if name else mangled
        if name not in BUDGETS:
            problems.append(f"{name}: has no budget in {sys.argv[0]}")
            continue
        seen.add(name)
        threads, blocks = BUDGETS[name]
        registers_a_thread = -(-int(registers) // REGISTER_UNIT) * REGISTER_UNIT
        if registers_a_thread * threads * blocks > REGISTERS:
            problems.append(f"{name}: {registers} registers x {threads} threads x {blocks} blocks are more than {REGISTERS}")
        if int(shared) > SHARED_BYTES:
            problems.append(f"{name}: {shared} bytes of shared memory are more than {SHARED_BYTES}")
    problems += [f"{name}: is not in {library}" for name in sorted(set(BUDGETS) - seen)]
    print("\n".join(problems) or f"{len(seen)} kernels are within their budgets")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

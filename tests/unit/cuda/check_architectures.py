#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which device architectures a program or library holds code for, without NVIDIA's cuobjdump.

    check_architectures.py FILE sm_80 sm_90 compute_100 ...

Exit status 0 when every kernel archive of ours holds exactly these; 1 otherwise, and then it prints what was found.
"""

import struct
import sys

# The layout of a fat binary: archives of entries. Not documented by NVIDIA; fatbinary_section.h has the magic number, and
# the rest is as readers of the format (LLVM's offload tools, cuda-fatbin-decompression) have it.
ARCHIVE = struct.Struct("<IHHQ")  # magic, version, header size, bytes of all entries
ENTRY = struct.Struct("<HHIQIIHHI")  # kind, version, header size, payload size, three of no interest here, architecture
MAGIC = struct.pack("<I", 0xBA55ED50)
KINDS = {1: "compute_", 2: "sm_"}  # PTX, machine code


def archives_of(data):
    """Yields the set of architectures of each archive in the bytes of a file."""
    begin = data.find(MAGIC)
    while begin >= 0:
        _, _, header_size, size = ARCHIVE.unpack_from(data, begin)
        offset, end, found = begin + header_size, begin + header_size + size, set()
        if end > len(data):
            return
        while offset + ENTRY.size <= end:
            kind, _, entry_header_size, payload_size, *_, architecture = ENTRY.unpack_from(data, offset)
            if kind in KINDS:
                found.add(KINDS[kind] + str(architecture))
            offset += entry_header_size + payload_size
        yield found
        begin = data.find(MAGIC, end)


def main():
    path, expected = sys.argv[1], set(sys.argv[2:])
    with open(path, "rb") as file:
        found = [names for names in archives_of(file.read()) if names]
    for names in found:
        print(" ".join(sorted(names)))
    if not found:
        print(f"{path}: no device code", file=sys.stderr)
    return 0 if found and all(names == expected for names in found) else 1


if __name__ == "__main__":
    sys.exit(main())

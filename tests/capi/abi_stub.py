# SPDX-License-Identifier: Apache-2.0
"""A library that has the functions and types of the headers in include/berth and does nothing, for abidw: what programs and plugins
were compiled against is in the headers alone, and building libberth.so once more with -g takes minutes."""

import os
import re
import subprocess

# BERTH_API <type> <name>(<parameters>);
DECLARATION = re.compile(r"^BERTH_API ([^;(]*?[\s*])(berth_\w+)\(([^;]*)\);", re.MULTILINE | re.DOTALL)


def declarations(header):
    return [(" ".join(kind.split()), name, " ".join(parameters.split()))
            for kind, name, parameters in DECLARATION.findall(header)]


def source_of(headers):
    lines = [f'#include "{name}"' for name in headers]
    for kind, name, parameters in (found for text in headers.values() for found in declarations(text)):
        body = "" if kind == "void" else "return 0;"
        lines.append(f"{kind} {name}({parameters}) {{ {body} }}")
    return "\n".join(lines) + "\n"


def build(headers, folder, compiler="cc"):
    """Compiles the stub of headers, {name: text}, with debugging information. Returns the library's path."""
    for name, text in {**headers, "stub.c": source_of(headers)}.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    library = os.path.join(folder, "libberth.so.0")
    subprocess.run((compiler, "-std=c99", "-g", "-fPIC", "-shared", "-w", "-Wl,-soname,libberth.so.0", "-o", library, "stub.c"),
                   check=True, cwd=folder)
    return library


def describe(library, output):
    """Writes the description that abidiff compares."""
    subprocess.run(("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names",
                    "--out-file", output, library), check=True)

# SPDX-License-Identifier: Apache-2.0
"""Inputs derived from good/cluster.json field by field: every value is replaced by values of other types and ranges,
every key is misspelt, doubled and taken away."""

import copy
import json
import os

from outcome import Input

GOOD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "good")
# An escape sequence, a line of the program's own, C1's CSI, a bidirectional override and a line separator.
HOSTILE = "\x1b[2J\r\nberth: forged\u009b31m\u202e\u2066\u2028\t\x7f"


class Raw(str):
    """JSON text that is written as it is."""


class Twice:
    """A value that stands twice under its key."""

    def __init__(self, first, second):
        self.values = (first, second)


def dump(value):
    """json.dumps that knows Raw and Twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        entries = []
        for key, content in value.items():
            contents = content.values if isinstance(content, Twice) else (content,)
            entries += [f"{json.dumps(key)}: {dump(one)}" for one in contents]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(dump(element) for element in value) + "]"
    return json.dumps(value)


def good_cluster():
    with open(os.path.join(GOOD, "cluster.json"), encoding="utf-8") as file:
        return json.load(file)


def paths_of(value, path=()):
    """All paths below a value, itself left out."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield path + (key,)
        yield from paths_of(child, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


# What takes the place of a value, in turn: with six a path, each field meets each kind in some object.
REPLACEMENTS = {
    "null": Raw("null"),
    "true": True,
    "negative": -1,
    "beyond_int32": 1 << 31,
    "beyond_int64": 1 << 63,
    "beyond_uint64": 10**30,
    "fraction": 0.5,
    "huge_exponent": Raw("1e400"),
    "empty_text": "",
    "hostile_text": HOSTILE,
    "long_text": "x" * 5000,
    "number_text": "18446744073709551616",
    "quantity_text": "1e99999999999999999999",
    "empty_list": [],
    "empty_object": {},
    "list_of_nulls": [None, None],
    "list_of_objects": [{}, {"a": 1}],
    "list_of_text": [HOSTILE],
    "object_of_text": {HOSTILE: HOSTILE},
    "object_of_null": {"a": None},
    "deep_list": Raw("[" * 240 + "]" * 240),
    "deep_object": Raw('{"a":' * 300 + "1" + "}" * 300),
}


def replaced(cluster, path, make):
    """A copy of the cluster with make(old) in place of the value at `path`."""
    changed = copy.deepcopy(cluster)
    parent = at(changed, path[:-1])
    parent[path[-1]] = make(parent[path[-1]])
    return changed


def without(cluster, path):
    changed = copy.deepcopy(cluster)
    del at(changed, path[:-1])[path[-1]]
    return changed


def renamed(cluster, path, name):
    changed = copy.deepcopy(cluster)
    parent = at(changed, path[:-1])
    parent[name] = parent.pop(path[-1])
    return changed


def changes_of(cluster, path, number):
    """Yields (name, changed cluster)."""
    names = list(REPLACEMENTS)
    for k in range(2):
        name = names[(number * 2 + k) % len(names)]
        yield name, replaced(cluster, path, lambda old, name=name: REPLACEMENTS[name])
    key = path[-1]
    if isinstance(key, int):
        if number % 3 == 0:
            yield "repeated_element", replaced(cluster, path[:-1], lambda old: old + [old[key]] * 3)
        return
    choice = number % 5
    if choice == 0:
        yield "removed", without(cluster, path)
    elif choice == 1:
        yield "lower_case", renamed(cluster, path, key.lower() + ("_" if key == key.lower() else ""))
    elif choice == 2:
        yield "twice", replaced(cluster, path, lambda old: Twice(old, Raw("7")))
    elif choice == 3:
        yield "hostile_key", renamed(cluster, path, HOSTILE)
    else:
        yield "in_a_list", replaced(cluster, path, lambda old: [old])


# Commands that read objects, in turn.
COMMANDS = [
    ["schedule", "-f", "-"],
    ["schedule", "-f", "-", "-o", "json", "--skip-invalid"],
    ["explain", "--all", "-f", "-"],
    ["schedule", "-f", "-", "-o", "wide"],
    ["explain", "--all", "-f", "-", "-o", "json", "--skip-invalid"],
    ["schedule", "-f", "-", "-o", "yaml", "--backend", "reference", "--skip-invalid"],
    ["bench", "-f", "-", "--repeat", "1"],
    ["simulate", "-o", "json", "--until", "1h", "--skip-invalid", "--metrics-out", "/dev/null", "-"],
    ["schedule", "-f", "-", "-o", "bindings", "--tie-break", "kube", "--node-sampling", "kube", "--skip-invalid"],
]


def inputs():
    cluster = good_cluster()
    count = 0
    for number, path in enumerate(paths_of(cluster["items"])):
        for name, changed in changes_of(cluster, ("items",) + path, number):
            text = dump(changed)
            if count % 4 == 3:
                text = "---\n" + text  # read by the YAML reader
            place = ".".join(map(str, path))
            yield Input(f"field/{place}/{name}", COMMANDS[count % len(COMMANDS)], stdin=text.encode())
            count += 1

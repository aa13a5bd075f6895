# SPDX-License-Identifier: Apache-2.0
"""Random mutations of the good files; the seed and the number of an input give its bytes."""

import copy
import gzip
import os
import random

import derived
from outcome import Input

# Words that readers treat in a way of their own.
TOKENS = [
    b"null", b"~", b"true", b"no", b"-1", b"0", b"1e400", b"0x10", b"010", b"0.5", b"18446744073709551616", b"1e30", b"NaN",
    b".inf", b"1_000", b'""', b"''", b"{}", b"[]", b"[", b"]", b"{", b"}", b"---\n", b"...\n", b"&a ", b"*a", b"<<: ",
    b"!!binary ", b"!!int ", b"? ", b"|\n", b">-\n", b"#", b"\t", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1b[31m",
    b"\xc2\x9b", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\\u0000", b"\\ud800", b"\\", b'"', b"'", b":", b",", b"%YAML 9.9\n",
    b"apiVersion: v1\n", b"items:", b'"items":', b"kind", b"1e99999999999999999999", b"9" * 400, b"x" * 300,
]


def mutated_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        place = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 2, 4, 16, 64, 400))
        kind = rng.randrange(7)
        if kind == 0:
            data[place : place + length] = rng.randbytes(rng.choice((1, 2, 4)))
        elif kind == 1:
            data[place:place] = rng.choice(TOKENS)
        elif kind == 2:
            del data[place : place + length]
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[place:place] = data[other : other + length]
        elif kind == 4:
            data[place : place + length] = rng.choice(TOKENS)
        elif kind == 5 and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif rng.random() < 0.2:
            del data[place:]
    return bytes(data)


def mutated_tree(cluster, rng):
    """Values and keys put where others were."""
    cluster = copy.deepcopy(cluster)
    for _ in range(rng.choice((1, 1, 2, 4))):
        paths = list(derived.paths_of(cluster["items"]))
        path = rng.choice(paths)
        parent = derived.at(cluster["items"], path[:-1])
        kind = rng.randrange(4)
        if kind == 0:
            parent[path[-1]] = copy.deepcopy(derived.at(cluster["items"], rng.choice(paths)))
        elif kind == 1:
            parent[path[-1]] = copy.deepcopy(rng.choice(list(derived.REPLACEMENTS.values())))
        elif kind == 2:
            del parent[path[-1]]
        elif isinstance(parent, dict):
            parent[rng.choice([other[-1] for other in paths if isinstance(other[-1], str)])] = parent[path[-1]]
        else:
            parent += copy.deepcopy(parent)
    return derived.dump(cluster).encode()


def read(name):
    with open(os.path.join(derived.GOOD, name), "rb") as file:
        return file.read()


def write(name, data):
    def prepare(folder):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)

    return prepare


def block_yaml(value, indent=0):
    """The cluster in block style, in which most dumps come."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(
            f"{pad}{derived.dump(key)}:" + (f" {derived.dump(child)}\n" if not isinstance(child, (dict, list)) or not child
                                            else "\n" + block_yaml(child, indent + 1))
            for key, child in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}-" + (f" {derived.dump(child)}\n" if not isinstance(child, (dict, list)) or not child
                                    else "\n" + block_yaml(child, indent + 1)) for child in value)
    return f"{pad}{derived.dump(value)}\n"


class Mutator:
    def __init__(self):
        self.cluster = derived.good_cluster()
        self.json = read("cluster.json")
        self.yaml = block_yaml(self.cluster).encode()
        self.documents = b"".join(b"---\n" + block_yaml(item).encode() for item in self.cluster["items"])
        self.good = write("cluster.json", self.json)

    def objects(self, rng, number):
        text = rng.choice((self.json, self.yaml, self.documents))
        kind = rng.randrange(8)
        if kind < 3:
            data = mutated_tree(self.cluster, rng)
        elif kind == 3:
            data = mutated_bytes(gzip.compress(text, mtime=0), rng)
        elif kind == 4:
            data = gzip.compress(mutated_bytes(text, rng), mtime=0)
        else:
            data = mutated_bytes(text, rng)
        return derived.COMMANDS[number % len(derived.COMMANDS)], data, None

    def config(self, rng, number):
        data = mutated_bytes(read("config.yaml"), rng)
        if number % 3 > 0:
            return ["config", "check", "-", "-o", rng.choice(("table", "json"))], data, None
        return ["schedule", "-f", "{folder}/cluster.json", "--config", "/dev/stdin", "--allow-unsupported"], data, self.good

    def engine_config(self, rng, number):
        data = mutated_bytes(read("engine.yaml"), rng)
        return ["schedule", "-f", "{folder}/cluster.json", "--engine-config", "/dev/stdin"], data, self.good

    def spec(self, rng, number):
        data = mutated_bytes(read("spec.yaml"), rng)
        if number % 4 == 0:
            return ["bench", "--spec", "-", "--repeat", "1"], data, None
        return ["generate", "--spec", "-"], data, None

    def scenario(self, rng, number):
        data = mutated_bytes(read("scenario.yaml"), rng)
        return ["simulate", "--until", "1h", "--metrics-out", "/dev/null", "{folder}/scenario.yaml"], b"", write("scenario.yaml", data)

    def workloads(self, rng, number):
        data = mutated_bytes(read("perf.yaml"), rng)
        return ["perf", "--name", "^$", "--metrics-out", "/dev/null", "--config", "{folder}/perf.yaml"], b"", write("perf.yaml", data)

    def trace(self, rng, number):
        nodes, pods = read("nodes.csv"), read("pods.csv")
        if number % 2 == 0:
            return (["import", "openb", "--nodes", "-", "--pods", "{folder}/pods.csv", "--qos-priority"],
                    mutated_bytes(nodes, rng), write("pods.csv", pods))
        return (["import", "openb", "--nodes", "{folder}/nodes.csv", "--pods", "-", "--gpu-mode", "milli"],
                mutated_bytes(pods, rng), write("nodes.csv", nodes))

    def input(self, seed, number):
        rng = random.Random(f"{seed}/{number}")
        makers = (self.objects, self.objects, self.objects, self.config, self.engine_config, self.spec, self.trace, self.scenario,
                  self.workloads)
        arguments, data, prepare = makers[number % len(makers)](rng, number)
        return Input(f"random/{seed}/{number}", arguments, stdin=data, prepare=prepare)


def inputs(count, seed):
    mutator = Mutator()
    for number in range(count):
        yield mutator.input(seed, number)

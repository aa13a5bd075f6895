# SPDX-License-Identifier: Apache-2.0
"""The fixed inputs: the texts of texts.py through every command that reads them, big inputs, paths that are no files,
options, and standard streams that cannot be used."""

import gzip
import os
import random

import texts
from derived import GOOD, HOSTILE
from outcome import Input

DONE, ERROR, USAGE = 0, 1, 2
GOOD_CLUSTER = os.path.join(GOOD, "cluster.json")
HOSTILE_BYTES = os.fsdecode(HOSTILE.encode() + b"\xff")


def good(name):
    return os.path.join(GOOD, name)


def file_of(name, data):
    def prepare(folder):
        with open(os.path.join(os.fsencode(folder), os.fsencode(name)), "wb") as file:
            file.write(data)

    return prepare


# Texts ----------------------------------------------------------------------------------------------------------------


def object_texts():
    commands = {
        "schedule": ["schedule", "-f", "{folder}/input.yaml"],
        "skip": ["schedule", "-f", "-", "--skip-invalid", "-o", "json"],
        "explain": ["explain", "--all", "-f", "{folder}"],
    }
    for group in (texts.NOT_OBJECTS, texts.SYNTAX, texts.OBJECTS):
        for name, data in group.items():
            for command, arguments in commands.items():
                from_stdin = "-" in arguments
                yield Input(f"text/{name}/{command}", arguments, stdin=data if from_stdin else b"",
                            prepare=None if from_stdin else file_of("input.yaml", data))


def other_texts():
    cluster = ["-f", GOOD_CLUSTER]
    for name, data in texts.CONFIGS.items():
        prepare = file_of("config.yaml", data)
        yield Input(f"config/{name}/check", ["config", "check", "{folder}/config.yaml"], prepare=prepare)
        yield Input(f"config/{name}/schedule", ["schedule", *cluster, "--config", "{folder}/config.yaml", "--allow-unsupported"],
                    prepare=prepare)
    for name, data in texts.ENGINE_CONFIGS.items():
        yield Input(f"engine/{name}", ["schedule", *cluster, "--engine-config", "{folder}/engine.yaml"], (ERROR, DONE),
                    prepare=file_of("engine.yaml", data))
    for name, data in texts.SPECS.items():
        yield Input(f"spec/{name}/generate", ["generate", "--spec", "-"], stdin=data)
        yield Input(f"spec/{name}/bench", ["bench", "--spec", "-", "--repeat", "1"], stdin=data)
    for name, data in texts.TRACES.items():
        yield Input(f"trace/{name}/nodes", ["import", "openb", "--nodes", "-", "--pods", good("pods.csv")], stdin=data)
        yield Input(f"trace/{name}/pods", ["import", "openb", "--nodes", good("nodes.csv"), "--pods", "-"], stdin=data)


# Big inputs -----------------------------------------------------------------------------------------------------------

LIST_HEAD = b'{"apiVersion":"v1","kind":"List","items":['


def repeated(head, piece, count, tail, compress=False):
    """Writes the file piece by piece, so that this script stays small."""

    def prepare(folder):
        name = os.path.join(folder, "big.gz" if compress else "big")
        with gzip.open(name, "wb", compresslevel=1) if compress else open(name, "wb") as file:
            file.write(head)
            block = piece * (1 + (1 << 20) // len(piece))
            whole, rest = divmod(count * len(piece), len(block))
            for _ in range(whole):
                file.write(block)
            file.write(block[:rest])
            file.write(tail)

    return prepare


def nested_gzip(folder):
    data = b"0" * (10 << 20)
    for _ in range(3):
        data = gzip.compress(data)
    with open(os.path.join(folder, "big.gz"), "wb") as file:
        file.write(data)


def own_parts_of_replicas(node):
    """Workloads of some hundred bytes whose replicas have much each for themselves: names, labels, claims, volumes."""

    def workload(kind, count, name=b"w", labels=1, claims=0, template=b"", daemon=False):
        label_text = b",".join(b'"l%d":"v"' % i for i in range(labels))
        claim_text = b",".join(b'{"metadata":{"name":"c%d"}}' % i for i in range(claims))
        return (b'{"apiVersion":"apps/v1","kind":"%s","metadata":{"name":"%s"},"spec":{%s"volumeClaimTemplates":[%s],"selector":'
                b'{"matchLabels":{"l0":"v"}},"template":{"metadata":{"labels":{%s}},"spec":{"containers":[{"name":"c"}]%s}}}}'
                % (kind, name, b"" if daemon else b'"replicas":%d,' % count, claim_text, label_text, template))

    volumes = b',"volumes":[' + b",".join(b'{"name":"v%d","persistentVolumeClaim":{"claimName":"c"}}' % i for i in range(100)) + b"]"
    tolerations = b',"tolerations":[' + b",".join(b'{"key":"k%d"}' % i for i in range(10_000)) + b"]"
    affinity = (b',"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[' +
                b",".join(b'{"weight":1,"podAffinityTerm":{"topologyKey":"t","labelSelector":{},"matchLabelKeys":'
                          b'["statefulset.kubernetes.io/pod-name"]}}' for _ in range(20)) + b"]}}")
    cases = {
        "claims_of_a_million_replicas": workload(b"StatefulSet", 1_000_000, claims=1),
        "hundred_claims_of_100000_replicas": workload(b"StatefulSet", 100_000, claims=100),
        "long_names_of_a_million_replicas": workload(b"StatefulSet", 1_000_000, name=b"n" * 240),
        "labels_of_a_million_replicas": workload(b"StatefulSet", 1_000_000, labels=200),
        "volumes_of_a_million_replicas": workload(b"ReplicaSet", 1_000_000, template=volumes),
        "label_keys_of_a_million_replicas": workload(b"StatefulSet", 1_000_000, template=affinity),
    }
    for name, text in cases.items():
        yield Input(f"big/{name}", ["schedule", "-f", "-"], (ERROR,), stdin=node + text)
    nodes = b"".join(node.replace(b'"n0"', b'"m%d"' % i) for i in range(2000))
    yield Input("big/tolerations_of_2000_daemon_pods", ["schedule", "-f", "-"], (ERROR,),
                stdin=nodes + workload(b"DaemonSet", 0, template=tolerations, daemon=True))
    yield Input("big/long_names_of_a_replica_set", ["schedule", "-f", "-"], (DONE,),
                stdin=node + workload(b"ReplicaSet", 1_000_000, name=b"n" * 240))
    yield Input("big/claims_of_100000_replicas", ["schedule", "-f", "-"], (DONE,),
                stdin=node + workload(b"StatefulSet", 100_000, claims=1))


def list_entries():
    """Objects of many short list entries, each of which takes hundreds of bytes once it is read."""
    million = 1_000_000
    head = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%d"},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{'
    preferred = b'"preferredDuringSchedulingIgnoredDuringExecution":[{}'
    yaml = (b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  affinity:\n    nodeAffinity:\n"
            b"      preferredDuringSchedulingIgnoredDuringExecution:\n")

    def pods(count, entries):
        def prepare(folder):
            with gzip.open(os.path.join(folder, "big.gz"), "wb", compresslevel=1) as file:
                for i in range(count):
                    file.write(head % i + preferred + b",{}" * (entries + i) + b"]}}}}\n")

        return prepare

    cases = {
        "preferred_terms_of_a_pod": pods(1, 5 * million),
        "preferred_terms_of_4_pods": pods(4, 2 * million),
        "preferred_terms_of_100_pods": pods(100, 90_000),
        "preferred_terms_of_10000_pods": pods(10_000, 900),
        "containers_of_a_pod": repeated(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{}', b",{}",
                                        5 * million, b"]}}", True),
        "preferred_terms_of_a_yaml_pod": repeated(yaml, b"      - {}\n", 2 * million, b"", True),
    }
    for name, prepare in cases.items():
        yield Input(f"big/{name}", ["schedule", "-f", "{folder}/big.gz"], (ERROR,), prepare=prepare)
        yield Input(f"big/{name}_skipped", ["schedule", "-f", "{folder}/big.gz", "--skip-invalid"], (ERROR,), prepare=prepare)


def big():
    million = 1_000_000
    plain = {
        "flow_of_40_megabytes": repeated(b"[", b"a,", 20 * million, b""),
        "items_of_40_megabytes": repeated(b"apiVersion: v1\nkind: List\nitems: [", b"a,", 20 * million, b"a]\n"),
        "open_flows_of_40_megabytes": repeated(b"", b"[a,", 13 * million, b""),
        "flow_of_aliases": repeated(b"x: &a [1]\ny: [", b"*a,", 5 * million, b"1]\n"),
        "open_lists_of_40_megabytes": repeated(b"", b"[", 40 * million, b""),
        "text_of_70_megabytes": repeated(b'{"kind":"', b"k", 70 * million, b'"}'),
        "object_of_70_megabytes": repeated(LIST_HEAD + b'{"kind":"Pod","apiVersion":"v1","x":[', b"1,", 35 * million, b"1]}]}"),
        "million_nulls": repeated(LIST_HEAD + b"null", b",null", million, b"]}"),
        "million_of_equal_pods": repeated(LIST_HEAD + texts.pod(), b"," + texts.pod(), million, b"]}"),
        "million_unknown_fields": repeated(LIST_HEAD + b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"a":1',
                                           b',"a":1', million, b"}}]}"),
        "million_documents": repeated(b"", b"---\na: 1\n", million, b""),
        "yaml_list_of_20_megabytes": repeated(b"apiVersion: v1\nkind: List\nitems:\n", b"- {}\n", 4 * million, b""),
        "yaml_key_of_40_megabytes": repeated(b"", b"k", 40 * million, b": 1\n"),
        "yaml_comment_of_40_megabytes": repeated(b"#", b"x", 40 * million, b"\n"),
        "yaml_indent_of_40_megabytes": repeated(b"a:\n", b" ", 40 * million, b"b\n"),
        "random_bytes_of_40_megabytes": repeated(b"", random.Random(1).randbytes(1 << 20), 40, b""),
        "zeros_of_40_megabytes": repeated(b"", b"\0", 40 * million, b""),
        "newlines_of_40_megabytes": repeated(b"", b"\n", 40 * million, b""),
    }
    for name, prepare in plain.items():
        yield Input(f"big/{name}", ["schedule", "-f", "{folder}/big"], prepare=prepare)
    compressed = {
        "gzip_of_10_million_empty_objects": repeated(LIST_HEAD + b"{}", b",{}", 10 * million, b"]}", True),
        "gzip_of_10_million_documents": repeated(b"", b"{}\n", 10 * million, b"", True),
        "gzip_of_300_megabytes_of_blanks": repeated(b"", b" ", 300 * million, b"", True),
        "gzip_of_200_megabytes_of_yaml": repeated(b"a:\n", b"- 1\n", 50 * million, b"", True),
        "gzip_in_gzip_in_gzip": nested_gzip,
    }
    for name, prepare in compressed.items():
        yield Input(f"big/{name}", ["schedule", "-f", "{folder}/big.gz"], prepare=prepare)
    yield Input("big/gzip_of_10_million_empty_objects_skipped", ["schedule", "-f", "{folder}/big.gz", "--skip-invalid"],
                prepare=compressed["gzip_of_10_million_empty_objects"])
    for name, count in (("10_million", 10_000_000), ("2_million_twice", 2_000_000)):
        workload = (b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"%%s"},"spec":{"replicas":%d,"template":'
                    b'{"spec":{"containers":[{"name":"c"}]}}}}' % count)
        yield Input(f"big/replicas_of_{name}", ["schedule", "-f", "-"],
                    stdin=workload % b"a" + (workload % b"b" if "twice" in name else b""))
    replicas = (b'{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s"},"spec":{"replicas":1000000,"selector":'
                b'{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c"}]}}}}')
    node = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d"},"status":{"allocatable":{"cpu":"4","pods":"110"}}}'
    yield Input("big/a_million_replicas_of_a_stateful_set", ["schedule", "-f", "-"], stdin=node % 0 + replicas)
    yield from own_parts_of_replicas(node % 0)
    daemons = (b'{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d%d"},"spec":{"selector":{"matchLabels":{"a":"b"}},'
               b'"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c%d"}]}}}}')
    yield Input("big/a_million_pods_of_daemon_sets", ["schedule", "-f", "-"],
                stdin=b"".join(node % i for i in range(1000)) + b"".join(daemons % (i, i) for i in range(1000)))
    config = repeated(texts.CONFIG_HEAD + b"profiles:\n", b"- {schedulerName: a}\n", million, b"")
    yield Input("big/config_of_a_million_profiles", ["config", "check", "{folder}/big"], prepare=config)
    yield Input("big/config_of_40_megabytes", ["config", "check", "{folder}/big"],
                prepare=repeated(texts.CONFIG_HEAD, b"#", 40 * million, b"\n"))
    yield Input("big/spec_of_40_megabytes", ["generate", "--spec", "{folder}/big"],
                prepare=repeated(b"nodePools:\n", b"- {name: a, count: 1}\n", 2 * million, b""))
    yield Input("big/trace_of_40_megabytes", ["import", "openb", "--nodes", "{folder}/big", "--pods", good("pods.csv")],
                prepare=repeated(texts.NODES_HEAD, b"n,1,1,0,\n", 4 * million, b""))
    yield Input("big/trace_of_80_megabytes", ["import", "openb", "--nodes", "{folder}/big", "--pods", good("pods.csv")],
                prepare=repeated(texts.NODES_HEAD, b"n" * 79 + b"\n", million, b""))
    yield Input("big/trace_of_300000_columns", ["import", "openb", "--nodes", "-", "--pods", good("pods.csv")],
                stdin=b",".join(b"c%d" % i for i in range(300_000)) + b"\n")


# Compressed files that are not whole ----------------------------------------------------------------------------------


def compressed():
    whole = gzip.compress(texts.pod() * 2000, mtime=0)
    cases = {
        "header_alone": whole[:10],
        "cut": whole[: len(whole) // 2],
        "without_checksum": whole[:-8],
        "wrong_checksum": whole[:-8] + b"\0" * 8,
        "two_members": whole + whole,
        "garbage_behind": whole + b"garbage",
        "zeros_behind": whole + b"\0" * 1000,
        "magic_alone": b"\x1f\x8b",
        "of_nothing": gzip.compress(b""),
        "zstd_magic_alone": b"\x28\xb5\x2f\xfd",
        "zstd_garbage": b"\x28\xb5\x2f\xfd" + bytes(range(256)),
        "zstd_window_of_the_largest_size": b"\x28\xb5\x2f\xfd\x00\xf8" + b"\0" * 100,
        "zstd_skippable_frames": b"\x50\x2a\x4d\x18\xff\xff\xff\xff" + b"\0" * 100,
        "bzip2": b"BZh91AY&SY" + bytes(range(64)),
        "xz": b"\xfd7zXZ\x00" + bytes(range(64)),
        "zip": b"PK\x03\x04" + bytes(range(64)),
    }
    for name, data in cases.items():
        yield Input(f"compressed/{name}", ["schedule", "-f", "-"], stdin=data)
        yield Input(f"compressed/{name}/config", ["config", "check", "-"], stdin=data)


# Paths ----------------------------------------------------------------------------------------------------------------


def make_tree(folder):
    """A folder of everything that is no ordinary file."""
    at = lambda name: os.path.join(folder, name)
    os.mkfifo(at("fifo.yaml"))
    os.symlink("loop.yaml", at("loop.yaml"))
    os.symlink("absent.json", at("dangling.json"))
    os.symlink(".", at("self"))
    os.symlink("/dev/zero", at("zero.json"))
    os.symlink("/dev/full", at("full.json.gz"))
    os.mkdir(at("directory.yaml"))
    os.mkdir(at("empty"))
    with open(at("UPPER.JSON"), "wb") as file:
        file.write(texts.pod(name=b"upper"))
    with open(at("node.yaml"), "wb") as file:
        file.write(b"apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n")
    with open(at("nothing.yaml"), "wb"):
        pass


def make_config_map(folder):
    """The links of a mounted ConfigMap."""
    os.mkdir(os.path.join(folder, "..2026_01_01"))
    with open(os.path.join(folder, "..2026_01_01", "node.yaml"), "wb") as file:
        file.write(b"apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n")
    os.symlink("..2026_01_01", os.path.join(folder, "..data"))
    os.symlink("..data/node.yaml", os.path.join(folder, "node.yaml"))


def make_deep(folder):
    path = folder
    for _ in range(200):
        path = os.path.join(path, "deeper")
        os.mkdir(path)


def make_hostile_names(folder):
    folder = os.fsencode(folder)
    for end in (b".json", b".yaml", b".json.gz"):
        file_of(b"\x1b[2J\nberth: forged\xc2\x9b\xe2\x80\xae\xff" + end, b'{"kind":')(folder)


def paths():
    for name in ("fifo.yaml", "loop.yaml", "dangling.json", "self", "zero.json", "full.json.gz", "directory.yaml", "empty", "",
                 "UPPER.JSON", "nothing.yaml", "absent", "node.yaml/below", "x" * 300, "a/" * 3000):
        if name != "fifo.yaml":  # a FIFO that is named is waited for, as a shell's <(...) needs it
            yield Input(f"path/{name[:20]}/schedule", ["schedule", "-f", "{folder}/" + name], prepare=make_tree)
            for command in (["config", "check"], ["generate", "--spec"]):
                yield Input(f"path/{name[:20]}/{command[0]}", [*command, "{folder}/" + name], prepare=make_tree)
            yield Input(f"path/{name[:20]}/nodes", ["import", "openb", "--nodes", "{folder}/" + name, "--pods", good("pods.csv")],
                        prepare=make_tree)
        yield Input(f"path/{name[:20]}/output", ["generate", "--spec", good("spec.yaml"), "-o", "{folder}/" + name],
                    prepare=make_tree) if name != "fifo.yaml" else Input(
                        "path/fifo/skip", ["schedule", "-f", "{folder}", "--skip-invalid"], prepare=make_tree)
    yield Input("path/config_map", ["schedule", "-f", "{folder}"], (DONE,), prepare=make_config_map)
    yield Input("path/deep", ["schedule", "-f", "{folder}"], prepare=make_deep)
    yield Input("path/hostile_names", ["schedule", "-f", "{folder}"], (ERROR,), prepare=make_hostile_names)
    yield Input("path/hostile_names_skipped", ["schedule", "-f", "{folder}", "--skip-invalid"], prepare=make_hostile_names)
    for name in ("/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", "/proc/self/maps", "/proc", "/sys/kernel",
                 "/dev/stdin", "/dev/fd/99", "/nonexistent", "", "-", "--", "~", "https://example.com/cluster.yaml", "a\nb", HOSTILE_BYTES):
        place = name.replace("/", "_").encode(errors="replace").hex() if not name.isascii() or "\n" in name else name or "nothing"
        for command, arguments in (("schedule", ["schedule", "-f", name]), ("config", ["config", "check", name]),
                                   ("spec", ["generate", "--spec", name]),
                                   ("engine", ["schedule", "-f", GOOD_CLUSTER, "--engine-config", name])):
            if name == "/proc" and command == "schedule":
                continue  # other processes come and go there
            yield Input(f"path/{place}/{command}", arguments)
    yield Input("path/same_file_twice", ["schedule", "-f", GOOD_CLUSTER, GOOD_CLUSTER])
    yield Input("path/stdin_twice", ["schedule", "-f", "-", "-f", "-"])
    for option in ("-o", "--config-out", "--feature-gates-out"):
        for target in ("/dev/full", "/nonexistent/out", "/", "", "{folder}"):
            yield Input(f"output/{option}/{target.replace('/', '_') or 'nothing'}",
                        ["generate", "--spec", "-", option, target], None if target == "" else (ERROR,),
                        stdin=b"random: {configuration: true}\n")
    for name in ("out.json", "out.json.gz"):
        yield Input(f"output/limit/{name}", ["generate", "--spec", "-", "-o", "{folder}/" + name], (ERROR,), ulimit="-f 4",
                    stdin=b"nodePools: [{name: a, count: 2000, labels: {a: {prefix: v, count: 2000}}}]\n")


# Options --------------------------------------------------------------------------------------------------------------


def options():
    cluster = ["-f", GOOD_CLUSTER]
    schedule = ["schedule", *cluster]
    numbers = ["", " ", "-1", "+1", "0x10", "010", "1e3", "1.5", "1,000", "18446744073709551615", "18446744073709551616",
               "99999999999999999999999999", "seven", "1 2", "\u0661", HOSTILE_BYTES, "9" * 5000]
    for option in ("--seed", "--threads", "--device"):
        for number, value in enumerate(numbers):
            yield Input(f"option/{option}/{number}", [*schedule, option, value])
    for number, value in enumerate(numbers):
        yield Input(f"option/generate_seed/{number}", ["generate", "--spec", good("spec.yaml"), "--seed", value])
        yield Input(f"option/spec_seed/{number}", ["bench", "--spec", good("spec.yaml"), "--repeat", "1", "--spec-seed", value])
        yield Input(f"option/repeat/{number}", ["bench", *cluster, "--repeat", value])
        yield Input(f"option/pods_per_node/{number}",
                    ["import", "openb", "--nodes", good("nodes.csv"), "--pods", good("pods.csv"), "--pods-per-node", value])
    words = ["", " ", "CPU", "cpu,cpu", "cpu|cuda", "all", "kube", "json", "Table", HOSTILE_BYTES, "x" * 10000]
    for option in ("--backend", "--node-sampling", "--tie-break", "--on-device-failure", "-o", "--output", "--emulate-version"):
        for number, value in enumerate(words):
            yield Input(f"option/{option}/{number}", [*schedule, option, value])
    for number, value in enumerate(["", ",", "=", "a", "a=", "=true", "AllAlpha", "AllAlpha=2", "AllAlpha=true,AllBeta=true",
                                    "Unknown=true", "AllAlpha=true,AllAlpha=false", HOSTILE_BYTES + "=true", "A=" + HOSTILE_BYTES,
                                    ",".join(f"G{i}=true" for i in range(5000))]):
        yield Input(f"option/feature_gates/{number}", [*schedule, "--feature-gates", value])
        yield Input(f"option/feature_gates_of_check/{number}", ["config", "check", good("config.yaml"), "--feature-gates", value])
    usage = {
        "nothing": [], "empty": [""], "unknown_command": ["frobnicate"], "hostile_command": [HOSTILE_BYTES],
        "upper_case": ["SCHEDULE", *cluster], "prefix": ["sched", *cluster], "unknown_option": [*schedule, "--unknown"],
        "hostile_option": [*schedule, "--" + HOSTILE_BYTES], "unknown_letter": [*schedule, "-Z"],
        "no_files": ["schedule"], "no_value": ["schedule", "-f"], "value_of_a_flag": [*schedule, "--quiet=maybe"],
        "two_commands": ["schedule", "explain"], "extra_word": ["version", "extra"], "hostile_word": ["version", HOSTILE_BYTES],
        "config_alone": ["config"], "config_unknown": ["config", HOSTILE_BYTES], "check_alone": ["config", "check"],
        "import_alone": ["import"], "import_unknown": ["import", "alibaba"], "openb_alone": ["import", "openb"],
        "openb_without_pods": ["import", "openb", "--nodes", "x"], "generate_alone": ["generate"], "bench_alone": ["bench"],
        "bench_of_both": ["bench", *cluster, "--spec", good("spec.yaml")], "completion_alone": ["completion"],
        "completion_unknown": ["completion", "tcsh"], "completion_hostile": ["completion", HOSTILE_BYTES],
        "explain_of_nothing": ["explain", *cluster], "long_option": [*schedule, "--" + "x" * 100_000],
        "many_words": ["version"] + ["x"] * 20000, "equal_signs": [*schedule, "--=", "--=x"],
    }
    for name, arguments in usage.items():
        yield Input(f"usage/{name}", arguments, (USAGE,))
    good_uses = {
        "seed_twice": ([*schedule, "--seed", "1", "--seed", "2"], None),
        "quiet_twice": ([*schedule, "-q", "-q"], None),
        "files_in_one_word": (["schedule", "-f" + GOOD_CLUSTER], (DONE,)),
        "fail_unplaced": ([*schedule, "--fail-unplaced"], (3,)),
        "cuda": ([*schedule, "--backend", "cuda"], None),
        "cuda_or_cpu": ([*schedule, "--backend", "cuda", "--on-device-failure", "rerun-on-cpu"], None),
        "explain_of_both": (["explain", "shop/plain", "--all", *cluster], (USAGE,)),
        "explain_of_no_pod": (["explain", "absent", *cluster], (ERROR,)),
        "explain_of_a_hostile_pod": (["explain", HOSTILE_BYTES, *cluster], (ERROR,)),
        "explain_of_an_empty_name": (["explain", "", *cluster], None),
        "explain_of_slashes": (["explain", "a/b/c/", *cluster], (ERROR,)),
        "config_of_nothing": ([*schedule, "--config", ""], None),
        "engine_config_of_nothing": ([*schedule, "--engine-config", ""], None),
        "more_threads_than_cores": ([*schedule, "--threads", "1024"], (DONE,)),
        "bench_of_zero_runs": (["bench", *cluster, "--repeat", "0"], (USAGE,)),
        "version_json": (["version", "-o", "json"], (DONE,)),
        "version_yaml": (["version", "-o", "yaml"], (USAGE,)),
        "man": (["man"], (DONE,)),
        "help_everywhere": (["schedule", "--help"], (DONE,)),
        "help_with_a_value": (["--help=yes"], None),
        "backends_with_gaps": (["bench", *cluster, "--backends", "cpu,,reference,"], None),
        "help_before_an_error": (["--help", "--unknown"], None),
    }
    for name, (arguments, expected) in good_uses.items():
        yield Input(f"usage/{name}", arguments, expected)
    names = file_of("perf.yaml", b"- {name: %s, workloadTemplate: [{opcode: createNodes, count: 1}, {opcode: createPods, count: 1, "
                                 b"collectMetrics: true}], workloads: [{name: c}]}\n" % (b"a" * 200))
    for number, pattern in enumerate(["(a*)*b", "(a|aa)+$", "(" * 400, "(a)\\1", "((a{100}){100}){100}", HOSTILE_BYTES]):
        yield Input(f"option/name/{number}", ["perf", "--config", "{folder}/perf.yaml", "--name", pattern], prepare=names)
    for shell in ("bash", "zsh", "fish"):
        yield Input(f"usage/completion_{shell}", ["completion", shell], (DONE,))


# Streams --------------------------------------------------------------------------------------------------------------


def streams():
    cluster = ["-f", GOOD_CLUSTER]
    commands = {  # arguments, exit code where all is well, whether standard output gets a result
        "schedule": (["schedule", *cluster], DONE, True),
        "schedule_wide": (["schedule", *cluster, "-o", "wide"], DONE, True),
        "schedule_json": (["schedule", *cluster, "-o", "json"], DONE, True),
        "schedule_yaml": (["schedule", *cluster, "-o", "yaml"], DONE, True),
        "schedule_bindings": (["schedule", *cluster, "-o", "bindings"], DONE, True),
        "schedule_of_a_missing_file": (["schedule", "-f", "/nonexistent"], ERROR, False),
        "explain": (["explain", "--all", *cluster], DONE, True),
        "explain_json": (["explain", "--all", *cluster, "-o", "json"], DONE, True),
        "explain_of_no_pod": (["explain", "absent", *cluster], ERROR, False),
        "config_check": (["config", "check", good("config.yaml")], DONE, True),
        "config_check_json": (["config", "check", good("config.yaml"), "-o", "json"], DONE, True),
        "generate": (["generate", "--spec", good("spec.yaml")], DONE, True),
        "generate_to_a_file": (["generate", "--spec", good("spec.yaml"), "-o", "{folder}/out.json"], DONE, False),
        "generate_compressed": (["generate", "--spec", good("spec.yaml"), "-o", "{folder}/out.json.gz"], DONE, False),
        "simulate": (["simulate", good("scenario.yaml")], DONE, True),
        "simulate_json": (["simulate", good("scenario.yaml"), "-o", "json"], DONE, True),
        "simulate_metrics": (["simulate", good("scenario.yaml"), "--metrics-out", "{folder}/metrics"], DONE, True),
        "record": (["record", good("scenario.yaml"), "-o", "{folder}/run.db"], DONE, True),
        "perf_of_a_missing_template": (["perf", "--config", good("perf.yaml")], ERROR, False),
        "import": (["import", "openb", "--nodes", good("nodes.csv"), "--pods", good("pods.csv")], DONE, True),
        "bench": (["bench", *cluster, "--repeat", "1"], DONE, True),
        "bench_json": (["bench", *cluster, "--repeat", "1", "-o", "json"], DONE, True),
        "version": (["version"], DONE, True),
        "version_json": (["version", "-o", "json"], DONE, True),
        "version_flag": (["--version"], DONE, True),
        "help": (["--help"], DONE, True),
        "help_of_schedule": (["schedule", "--help"], DONE, True),
        "man": (["man"], DONE, True),
        "completion": (["completion", "bash"], DONE, True),
        "usage": (["--unknown"], USAGE, False),
    }
    kinds = ("closed", "full", "pipe")
    for name, (arguments, code, has_result) in commands.items():
        for kind in kinds:
            for numbers in ((1,), (2,), (1, 2), (0, 1, 2)):
                expected = ERROR if has_result and 1 in numbers else code
                broken = {number: "closed" if number == 0 else kind for number in numbers}
                yield Input(f"streams/{name}/{kind}_{''.join(map(str, numbers))}", arguments, (expected,), streams=broken)
    yield Input("streams/closed_input", ["schedule", "-f", "-"], (ERROR,), streams={0: "closed"})
    yield Input("streams/closed_input_of_a_config", ["config", "check", "-"], (ERROR,), streams={0: "closed"})
    yield Input("streams/directory_as_input", ["schedule", "-f", "-"], (ERROR,), stdin="/")


def inputs():
    for group in (object_texts, other_texts, big, list_entries, compressed, paths, options, streams):
        yield from group()

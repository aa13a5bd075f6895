# SPDX-License-Identifier: Apache-2.0
"""Writes a small cluster as a text scenario (docs/testing.md has the language), as far as that can say it."""
from oracle_records import without_point

NODE_AMOUNTS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeral", "pods": "pods"}
POD_AMOUNTS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeral"}
ADMITTED = {"dnsPolicy", "enableServiceLinks", "restartPolicy", "serviceAccountName", "terminationGracePeriodSeconds",
            "preemptionPolicy"}


class Words:
    """The words of one line, and what the line cannot say."""

    def __init__(self, unsaid):
        self.words, self.unsaid = [], unsaid

    def add(self, word):
        self.words.append(f'"{word}"' if " " in word or word == "" else word)

    def left_over(self, what, fields, *said):
        """Notes fields of an object that nothing was said about."""
        for key in fields:
            if key not in said:
                self.unsaid.append(f"{what}.{key}")


def requirement(r):
    word = f"{r['key']}:{r['operator']}"
    return word + (":" + ",".join(r["values"]) if "values" in r else "")


def term_text(term):
    parts = [requirement(r) for r in term.get("matchExpressions") or []]
    return "&".join(parts + ["@" + requirement(r) for r in term.get("matchFields") or []])


def amounts(words, listed, names):
    for name in sorted(listed or {}):
        words.add(f"{names.get(name, 'res:' + name)}={listed[name]}")


def taint_text(taint):
    return taint["key"] + ("=" + taint["value"] if taint.get("value") else "") + ":" + taint["effect"]


def node_line(item, unsaid):
    meta, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    words = Words(unsaid)
    words.add("node")
    words.add(meta["name"])
    amounts(words, status.get("allocatable"), NODE_AMOUNTS)
    if "pods" not in (status.get("allocatable") or {}):
        words.add("pods=0")
    for key, value in sorted((meta.get("labels") or {}).items()):
        words.add(f"label:{key}={value}")
    for taint in spec.get("taints") or []:
        words.add("taint=" + taint_text(taint))
    if spec.get("unschedulable"):
        words.add("unschedulable")
    for image in status.get("images") or []:
        words.add(f"image={image.get('sizeBytes', 0)}*" + ",".join(image.get("names") or []))
    for feature in status.get("declaredFeatures") or []:
        words.add("feature=" + feature)
    words.left_over("node.metadata", meta, "name", "labels")
    words.left_over("node.spec", spec, "taints", "unschedulable")
    words.left_over("node.status", status, "allocatable", "images", "declaredFeatures", "capacity")
    return " ".join(words.words)


def toleration_text(t, unsaid):
    op = t.get("operator") or "Equal"
    signs = {"Equal": "=", "Gt": ">", "Lt": "<"}
    if op not in signs and op != "Exists" or not t.get("key") and op != "Exists":
        unsaid.append("toleration " + str(t))
    word = (t.get("key") or "*") + (signs[op] + t.get("value", "") if op in signs else "")
    return word + (":" + t["effect"] if t.get("effect") else "")


def container_words(words, container, word, is_first):
    if word != "container" or not is_first:
        words.add("sidecar" if container.get("restartPolicy") == "Always" else word)
    resources = container.get("resources") or {}
    amounts(words, resources.get("requests"), POD_AMOUNTS)
    if container.get("image"):
        words.add("image=" + container["image"])
    for port in container.get("ports") or []:
        if port.get("hostPort"):
            ip = port.get("hostIP", "")
            protocol = port.get("protocol", "TCP")
            words.add(f"port={ip + '/' if ip else ''}{protocol + '/' if ip or protocol != 'TCP' else ''}{port['hostPort']}")
    words.left_over("container", container, "name", "image", "ports", "resources", "restartPolicy", "imagePullPolicy")


SHORT_KEYS = {"topology.kubernetes.io/zone": "zone", "kubernetes.io/hostname": "host"}


def short_key(key):
    return SHORT_KEYS.get(key, key)


def selector_text(selector):
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    return "&".join(parts + [requirement(r) for r in selector.get("matchExpressions") or []])


def selector_word(words, word, holder, field):
    """A null selector has no word."""
    if holder.get(field) is not None:
        words.add(f"{word}={selector_text(holder[field])}")


def spread_words(words, constraint):
    word = "spread" if constraint["whenUnsatisfiable"] == "DoNotSchedule" else "soft-spread"
    words.add(f"{word}={short_key(constraint['topologyKey'])}")
    for field, name in (("maxSkew", "skew"), ("minDomains", "min-domains"), ("nodeAffinityPolicy", "node-affinity"),
                        ("nodeTaintsPolicy", "node-taints")):
        if field in constraint:
            words.add(f"{name}={constraint[field]}")
    if constraint.get("matchLabelKeys"):
        words.add("match-keys=" + ",".join(constraint["matchLabelKeys"]))
    selector_word(words, "match", constraint, "labelSelector")


def pod_term_words(words, word, term, weight=None):
    words.add(f"{word}={short_key(term['topologyKey'])}" + (f":{weight}" if weight is not None else ""))
    if term.get("namespaces"):
        words.add("namespaces=" + ",".join(term["namespaces"]))
    selector_word(words, "namespace-match", term, "namespaceSelector")
    selector_word(words, "match", term, "labelSelector")
    # Generated terms have their matchLabelKeys merged into the selector.
    words.left_over("affinity term", term, "topologyKey", "namespaces", "namespaceSelector", "labelSelector", "matchLabelKeys",
                    "mismatchLabelKeys")


def pod_affinity_words(words, affinity):
    for field, word in (("podAffinity", "pod-affinity"), ("podAntiAffinity", "pod-anti-affinity")):
        terms = affinity.get(field)
        if terms is None:
            continue
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        for term in required:
            pod_term_words(words, word, term)
        for term in preferred:
            pod_term_words(words, word, term["podAffinityTerm"], term["weight"])
        if not required and not preferred:
            words.unsaid.append(f"{field} without terms")


def owner_words(words, meta):
    for owner in meta.get("ownerReferences") or []:
        version = "v1" if owner["kind"] == "ReplicationController" else "apps/v1"
        if not owner.get("controller") or owner.get("apiVersion") != version:
            words.unsaid.append("such an owner")
        words.add(f"owner={owner['kind']}/{owner['name']}")


def affinity_words(words, affinity):
    node = affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not required.get("nodeSelectorTerms"):
        words.add("need-nothing")
    for term in (required or {}).get("nodeSelectorTerms") or []:
        words.add("need=" + term_text(term))
    for term in node.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
        words.add(f"prefer={term['weight']}:" + term_text(term.get("preference") or {}))
    pod_affinity_words(words, affinity)


def pod_line(item, unsaid, asked):
    """@param asked  a pending pod is held against the cluster and not placed"""
    meta, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    words = Words(unsaid)
    words.add("ask" if asked and not spec.get("nodeName") else "pod")
    if asked and status.get("nominatedNodeName"):
        unsaid.append("that an asked pod holds a claim on a node")
    words.add(meta["name"])
    for key, value in sorted((meta.get("labels") or {}).items()):
        words.add(f"label:{key}={value}")
    owner_words(words, meta)
    for key, value in (("namespace", meta.get("namespace", "default")), ("priority", spec.get("priority", 0)),
                       ("on", spec.get("nodeName")), ("nominated", status.get("nominatedNodeName"))):
        if value and (key, value) != ("namespace", "default"):
            words.add(f"{key}={value}")
    if meta.get("deletionTimestamp"):
        words.add("terminating")
    for gate in spec.get("schedulingGates") or []:
        words.add("gate=" + gate["name"])
    for i, container in enumerate(spec.get("containers") or []):
        container_words(words, container, "container", i == 0)
    for container in spec.get("initContainers") or []:
        container_words(words, container, "init", False)
    for key, value in sorted((spec.get("nodeSelector") or {}).items()):
        words.add(f"select:{key}={value}")
    for toleration in spec.get("tolerations") or []:
        words.add("tolerate=" + toleration_text(toleration, unsaid))
    affinity_words(words, spec.get("affinity") or {})
    for constraint in spec.get("topologySpreadConstraints") or []:
        spread_words(words, constraint)
    for name, amount in sorted((spec.get("overhead") or {}).items()):
        words.add(f"overhead:{name}={amount}")
    for name, amount in sorted(((spec.get("resources") or {}).get("requests") or {}).items()):
        words.add(f"pod-level:{name}={amount}")
    words.left_over("pod.metadata", meta, "name", "namespace", "labels", "ownerReferences", "deletionTimestamp",
                    "creationTimestamp", "uid")
    words.left_over("pod.spec", spec, "priority", "nodeName", "schedulingGates", "containers", "initContainers", "nodeSelector",
                    "tolerations", "affinity", "overhead", "resources", "schedulerName",
                    "topologySpreadConstraints", *ADMITTED)
    words.left_over("pod.status", status, "nominatedNodeName", "phase", "startTime")
    return " ".join(words.words)


def other_line(item, unsaid):
    """Of a namespace, a service or a workload; None for what a scenario does not need."""
    meta, spec = item["metadata"], item.get("spec") or {}
    words = Words(unsaid)
    if item["kind"] == "Namespace":
        words.add("namespace")
        words.add(meta["name"])
        for key, value in sorted((meta.get("labels") or {}).items()):
            words.add(f"label:{key}={value}")
    elif item["kind"] == "Service":
        words.add("service")
        words.add(meta["name"])
        words.add("namespace=" + meta.get("namespace", "default"))
        for key, value in sorted((spec.get("selector") or {}).items()):
            words.add(f"select:{key}={value}")
    elif item["kind"] in ("ReplicaSet", "StatefulSet", "ReplicationController"):
        words.add("workload")
        words.add(f"{item['kind']}/{meta['name']}")
        words.add("namespace=" + meta.get("namespace", "default"))
        selector = spec.get("selector")
        if selector is not None:
            words.add("match=" + selector_text({"matchLabels": selector} if item["kind"] == "ReplicationController" else selector))
    elif item["kind"] != "PriorityClass":
        unsaid.append(item["kind"])
    return " ".join(words.words)


def expectation(record, asked):
    """What upstream says of one pod."""
    name = record["pod"].split("/", 1)[1]
    text = without_point(record.get("error")) or record.get("message")
    words = [f"expect {name}"]
    if not asked:
        words[0] += " error" if record.get("error") else f" -> {'|'.join(record['best']) or 'none'}"
    if text:
        words.append('text "' + text.replace('"', '\\"') + '"')
    for node in [] if record.get("error") else record["nodes"]:
        if node["feasible"] and node.get("scores"):
            words.append(f"total {node['node']}: {node['total']}")
        elif not node["feasible"] and node.get("plugin") != "PreFilter":
            words.append(f"refused {node['node']}: \"{node['plugin']}({'; '.join(node.get('reasons') or [])})\"")
    return "  ".join(words)


def scenario_of(cluster, config, gates, release, records, asked=True):
    """(text, list of what the language has no words for).

    @param asked  each pending pod is asked about alone, as in `records`; otherwise they are placed one after the other, and
                  what is expected is left to be written
    """
    unsaid = []
    lines = ["# oracle_case: what this is about, in one sentence"]
    settings = (["release=" + release] if release != "1.35" else []) + (["gates=" + gates] if gates else [])
    if settings:
        lines.append(" ".join(["config"] + settings))
    if config:
        unsaid.append("the configuration")
    for item in cluster["items"]:
        if item["kind"] == "Node":
            lines.append(node_line(item, unsaid))
        elif item["kind"] == "Pod":
            lines.append(pod_line(item, unsaid, asked))
        else:
            lines.append(other_line(item, unsaid))
    if asked or len(records) == 1:
        lines += [expectation(record, asked) for record in records.values()]
    return "\n".join(line for line in lines if line) + "\n", sorted(set(unsaid))

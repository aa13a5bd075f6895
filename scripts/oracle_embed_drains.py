# SPDX-License-Identifier: Apache-2.0
"""Compares drains of libberth: the rules with a model of their own, places with upstream's records.

The model is written from the table of rules in docs/embedding.md, not from their source: no published module of Kubernetes has
them.
"""
import random

from oracle_embed_verbs import JUDGED, check_differences, step_in_order
from oracle_records import Difference, step_problem

MIRROR, DAEMON_SET, NO_CONTROLLER, EMPTY_DIR, LOCAL_STORAGE, KUBE_SYSTEM, BUDGET, MANY_BUDGETS = range(1, 9)
SAFE_TO_EVICT, NOT_SAFE_TO_EVICT, ON_COMPLETION, DO_NOT_DISRUPT, MIN_REPLICAS, TERMINATING, TOLERATES_TAINT = range(9, 16)
KUBECTL, AUTOSCALER, KARPENTER = range(3)
PRESETS = {KUBECTL: {MIRROR, DAEMON_SET, EMPTY_DIR, NO_CONTROLLER, MANY_BUDGETS, BUDGET},
           AUTOSCALER: {MIRROR, MIN_REPLICAS, SAFE_TO_EVICT, ON_COMPLETION, NO_CONTROLLER, KUBE_SYSTEM, NOT_SAFE_TO_EVICT,
                        LOCAL_STORAGE, BUDGET},
           KARPENTER: {MIRROR, TERMINATING, TOLERATES_TAINT, DO_NOT_DISRUPT, BUDGET}}
TAINTS = {KUBECTL: "node.kubernetes.io/unschedulable", AUTOSCALER: "ToBeDeletedByClusterAutoscaler",
          KARPENTER: "karpenter.sh/disrupted"}
MOVES, STAYS, ENDS, BLOCKS, NO_PLACE, NOT_JUDGED = range(6)
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
DO_NOT = "karpenter.sh/do-not-disrupt"


def draw_what_rules_read(objects, seed):
    """Owners, annotations, local volumes and budgets of pods, for half of the clusters."""
    dice = random.Random(seed)
    pods = [o for o in objects if o["kind"] == "Pod"]
    if not pods or dice.random() < 0.5:
        return
    sets = [o["metadata"]["name"] for o in objects if o["kind"] == "ReplicaSet"] + ["unknown"]
    for pod in pods:
        notes = pod["metadata"].setdefault("annotations", {})
        for name, values in ((SAFE, ("true", "false", "on-completion", "maybe")), (MIRROR_ANNOTATION, ("x",)),
                             (DO_NOT, ("true", "false")), (SAFE_VOLUMES, ("a", "b", "a,b"))):
            if dice.random() < 0.12:
                notes[name] = dice.choice(values)
        if dice.random() < 0.15:
            volumes = pod["spec"].setdefault("volumes", [])
            volumes.append({"name": "a", **dice.choice(({"emptyDir": {}}, {"emptyDir": {"medium": "Memory"}},
                                                        {"hostPath": {"path": "/x"}}))})
        if dice.random() < 0.3:
            kind, version = dice.choice((("DaemonSet", "apps/v1"), ("ReplicaSet", "apps/v1"), ("Node", "v1"), ("Job", "batch/v1")))
            pod["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": dice.choice(sets), "uid": "owner",
                                                   "controller": dice.random() < 0.9}]
        if dice.random() < 0.05:
            pod["metadata"]["namespace"] = "kube-system"
        if dice.random() < 0.05:
            pod["spec"].setdefault("tolerations", []).append({"key": dice.choice(list(TAINTS.values())), "operator": "Exists"})
    for workload in objects:
        if workload["kind"] in ("ReplicaSet", "ReplicationController"):
            workload.setdefault("spec", {})["replicas"] = dice.randrange(4)
    if not any(o["kind"] == "PodDisruptionBudget" for o in objects):
        for number in range(dice.randrange(4)):
            pod = dice.choice(pods)
            label = dict([dice.choice(sorted(pod["metadata"].get("labels", {}).items()) or [("app", "none")])])
            objects.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                            "metadata": {"name": f"budget-{number}", "namespace": pod["metadata"].get("namespace", "default")},
                            "spec": {"selector": dice.choice(({"matchLabels": label}, {"matchLabels": label}, {}))},
                            "status": {"disruptionsAllowed": dice.randrange(3)}})


def matches(selector, labels):
    """As the eviction API reads a budget: an empty selector counts every pod, none and one that cannot be read nobody."""
    if selector is None:
        return False
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for term in selector.get("matchExpressions") or []:
        if term["operator"] == "Exists" and term["key"] not in labels:
            return False
        if term["operator"] == "In" and (not term["values"] or labels.get(term["key"]) not in term["values"]):
            return False
    return True


class Budgets:
    """What PodDisruptionBudgets allow."""

    def __init__(self, items):
        self.budgets = [dict(o, left=o.get("status", {}).get("disruptionsAllowed", 0)) for o in items
                        if o["kind"] == "PodDisruptionBudget"]

    def of(self, pod):
        meta = pod["metadata"]
        return [budget for budget in self.budgets
                if budget["metadata"].get("namespace", "default") == meta["namespace"]
                and matches(budget.get("spec", {}).get("selector"), meta.get("labels", {}))]

    def counting(self, pod):
        """Those that have not let it go already."""
        return [budget for budget in self.of(pod)
                if pod["metadata"]["name"] not in (budget.get("status", {}).get("disruptedPods") or {})]

    def refused(self, pods):
        """The pods that may not go, where each one before them that may has gone."""
        used = {id(budget): budget["left"] for budget in self.budgets}
        refused = []
        for pod in pods:
            held = False
            for budget in self.counting(pod):
                used[id(budget)] -= 1
                held = held or used[id(budget)] < 0
            if held:
                refused.append(pod["metadata"]["uid"])
        return refused

    def use(self, pod):
        for budget in self.counting(pod):
            budget["left"] -= 1


def replicas_known(walk):
    """{(kind, namespace, name): replicas} in the state of the walk."""
    known = {}
    changes = [{"upsert": item} for item in walk["cluster"]["items"]]
    changes += [change for line in walk["path"] for change in line.get("apply", [])]
    for change in changes:
        if "upsert" in change:
            object_ = change["upsert"]
            if object_["kind"] in ("ReplicaSet", "ReplicationController"):
                key = object_["kind"], object_["metadata"].get("namespace", "default"), object_["metadata"]["name"]
                known[key] = object_.get("spec", {}).get("replicas", 1)
        elif "remove" in change:
            known.pop((change["remove"]["kind"], change["remove"]["namespace"], change["remove"]["name"]), None)
    return known


def tolerates(pod, key):
    """The taint of that key, without a value, that keeps pods away."""
    for toleration in pod["spec"].get("tolerations") or []:
        if toleration.get("effect", "NoSchedule") != "NoSchedule" or toleration.get("key", "") not in ("", key):
            continue
        operator = toleration.get("operator", "Equal")
        if operator == "Exists" or (operator == "Equal" and not toleration.get("value")):
            return True
    return False


class Rules:
    """Those of one drain."""

    def __init__(self, walk):
        on = {rule for rule in range(1, 16) if walk["on"] >> rule & 1}
        off = {rule for rule in range(1, 16) if walk["off"] >> rule & 1}
        self.preset = walk["preset"]
        self.rules = (PRESETS[self.preset] | on) - off
        self.min_replicas = walk["min_replicas"]
        self.replicas = replicas_known(walk)
        self.budgets = Budgets(walk["cluster"]["items"])

    def fates(self, pods):
        """[(outcome, rule)] of the pods of a node, in the order in which they leave."""
        fates = [self.fate(pod) for pod in pods]
        if BUDGET in self.rules:
            going = [pod for pod, (outcome, _) in zip(pods, fates)
                     if outcome == MOVES and "deletionTimestamp" not in pod["metadata"]]
            together = [going] if self.preset != KARPENTER else [[pod] for pod in going]
            refused = {uid for some in together for uid in self.budgets.refused(some)}
            fates = [(BLOCKS, BUDGET) if pod["metadata"]["uid"] in refused else fate for pod, fate in zip(pods, fates)]
        return fates

    def fate(self, pod):
        meta, notes = pod["metadata"], pod["metadata"].get("annotations", {})
        owner = next((o for o in meta.get("ownerReferences") or [] if o.get("controller")), None)
        kind = owner["kind"] if owner else None
        volumes = pod["spec"].get("volumes") or []
        many = (BLOCKS, MANY_BUDGETS) if MANY_BUDGETS in self.rules and len(self.budgets.of(pod)) > 1 else None

        def holds(rule, concerns):
            return rule in self.rules and concerns

        if holds(MIRROR, MIRROR_ANNOTATION in notes or (kind == "Node" and owner["apiVersion"] == "v1")):
            return STAYS, MIRROR
        if holds(TERMINATING, "deletionTimestamp" in meta):
            return ENDS, TERMINATING
        if holds(MIN_REPLICAS, self.has_too_few(owner, meta)):
            return BLOCKS, MIN_REPLICAS
        if kind == "DaemonSet":
            return (BLOCKS if DAEMON_SET in self.rules else STAYS), DAEMON_SET
        if holds(TOLERATES_TAINT, tolerates(pod, TAINTS[self.preset])):
            return STAYS, TOLERATES_TAINT
        if holds(SAFE_TO_EVICT, notes.get(SAFE) == "true"):
            return many or (MOVES, SAFE_TO_EVICT)
        if holds(ON_COMPLETION, notes.get(SAFE) == "on-completion"):
            return STAYS, ON_COMPLETION
        safe = notes.get(SAFE_VOLUMES, "").split(",")
        local = [v["name"] for v in volumes
                 if "hostPath" in v or ("emptyDir" in v and (v["emptyDir"] or {}).get("medium", "") != "Memory")]
        for rule, concerns in ((EMPTY_DIR, any("emptyDir" in v for v in volumes)), (NO_CONTROLLER, owner is None),
                               (KUBE_SYSTEM, meta["namespace"] == "kube-system" and not self.budgets.of(pod)),
                               (NOT_SAFE_TO_EVICT, notes.get(SAFE) == "false"),
                               (LOCAL_STORAGE, any(name not in safe for name in local)),
                               (DO_NOT_DISRUPT, notes.get(DO_NOT) == "true")):
            if holds(rule, concerns):
                return BLOCKS, rule
        return many or (MOVES, 0)

    def has_too_few(self, owner, meta):
        if self.min_replicas <= 0 or owner is None or owner["kind"] not in ("ReplicaSet", "ReplicationController"):
            return False
        return self.replicas.get((owner["kind"], meta["namespace"], owner["name"]), -1) < self.min_replicas


def in_order(pods):
    """Those of higher priority first, then by name."""
    return sorted(pods, key=lambda pod: (-pod["spec"].get("priority", 0), pod["metadata"]["namespace"], pod["metadata"]["name"]))


def drain_differences(walk, records, answers):
    """Of the nodes one after another, as they are drained."""
    rules = Rules(walk)
    records = iter(records)
    for node in walk["nodes"]:
        pods = in_order(node["standing"])
        fates = rules.fates(pods)
        answers["drain, rules"] += len(pods)
        problem = rule_problem(node, pods, fates)
        if problem:
            yield Difference(node["node"], "drain rules", problem, fates, dict(node, standing=pods))
            return
        start = node["start"]
        for pod in node["pods"]:
            if not pod["step"]:
                continue
            answers["drain, by score" if walk["by_score"] else "drain"] += 1
            record = next(records)
            problem, start = move_problem(walk, record, start)
            if problem:
                yield Difference(record["pod"], *problem, record["alone"], node)
                return
        if node["removable"] and walk["together"]:
            for pod, said in zip(pods, node["pods"]):
                if said["outcome"] == MOVES and "deletionTimestamp" not in pod["metadata"]:
                    rules.budgets.use(pod)
    for check in walk["kept"]:
        record = next(records)
        if check["judged"] == JUDGED and record["nodes"]:
            answers["check_bulk, behind a kept drain"] += len(check["nodes"])
            yield from check_differences(record, check)


def rule_problem(node, pods, fates):
    """What is wrong with what the rules say of a node and its pods; None: nothing."""
    if [pod["metadata"]["uid"] for pod in pods] != [pod["uid"] for pod in node["pods"]]:
        return "other pods, or in another order"
    for (outcome, rule), said in zip(fates, node["pods"]):
        is_tried = outcome == MOVES and said["outcome"] in (MOVES, NO_PLACE, NOT_JUDGED)
        if (not is_tried and said["outcome"] != outcome) or said["rule"] != rule:
            return f"{said['uid']}: {(outcome, rule)} vs {(said['outcome'], said['rule'])}"
    blocking = next((said for said in node["pods"] if said["outcome"] == BLOCKS), None)
    blocking = blocking or next((said for said in node["pods"] if said["outcome"] in (NO_PLACE, NOT_JUDGED)), None)
    if node["removable"] != (blocking is None) or node["blocking"] != (blocking["uid"] if blocking else ""):
        return f"blocked by {blocking} vs {node['blocking']!r}"
    if node["rule"] != (blocking["rule"] if blocking else 0):
        return f"rule {blocking} vs {node['rule']}"
    return None


def move_problem(walk, record, start):
    """@return what is wrong with a pod's move (kind and text, None: nothing), and where the next one begins"""
    names = walk["candidates"]
    if walk["by_score"]:
        return step_problem(record, 0), start
    start = start % len(names) if names else 0
    problem = step_in_order(record, names[start:] + names[:start])
    return problem, names.index(record["chosen"]) + 1 if record.get("chosen") and not problem else start

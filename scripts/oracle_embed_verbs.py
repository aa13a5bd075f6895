# SPDX-License-Identifier: Apache-2.0
"""Compares what libberth says in one state with upstream's records of it: a function for each verb.

Differences of walks are found step by step, and the first one ends a walk: what follows happens in another cluster.
"""
from collections import Counter

import oracle_preemption
from oracle_records import Difference, record_differences, step_problem, without_point

# Numbers of berth.h.
CODES = {0: None, 1: "Error", 2: "Unschedulable", 3: "UnschedulableAndUnresolvable", 6: "Pending"}
NOT_JUDGED, JUDGED, JUDGED_IGNORING = range(3)
PHASES = ("none", "PreFilter", "Filter", "node")
FIRST_FIT = 1
PREFERRED = 2


def parts(text):
    """Reasons are a multiset; one may have a comma in it."""
    return sorted(filter(None, text.split(", ")))


def refusing_plugin(record):
    """The PreFilter plugin that refuses every node, with its reasons; None where none does."""
    for plugin in record.get("preFilter") or []:
        if plugin["code"] not in ("Success", "Skip"):
            return plugin
    return None


def judged(record, node):
    """The node's record, or that of the nominated node, which upstream tries although PreFilter does not name it."""
    nominated = record.get("nominated")
    return nominated if nominated and nominated["node"] == node["node"] else node


def expected_verdict(record, node):
    """What berth.h should say of one node of upstream's record: (fits, code, phase, plugin, reasons)."""
    node = judged(record, node)
    if node["feasible"]:
        return True, None, "none", "", []
    if node.get("plugin") != "PreFilter":
        return False, node["code"], "Filter", node["plugin"], parts(", ".join(node.get("reasons") or []))
    refusing = refusing_plugin(record)
    if refusing:
        return False, node["code"], "PreFilter", refusing["plugin"], parts(", ".join(refusing.get("reasons") or []))
    return False, node["code"], "PreFilter", None, parts(record["leftOut"])  # upstream blames plugins in the text alone


def verdict_of(node):
    return (node["fits"], CODES.get(node["code"], node["code"]), PHASES[node["phase"]], node["plugin"], parts(node["reasons"]))


def failed_before_scores(record):
    """Upstream's cycle ended with an error that first fit and checks have, too."""
    return record.get("error", "").startswith(("prefilter: ", "filter: "))


def different(expected, said):
    """The plugin of a node that is left out is one of those that the text names."""
    blamed = expected[3] if expected[3] is not None else said[3]
    return expected[:3] + (blamed, expected[4]) != said or (expected[3] is None and (not blamed or blamed not in said[4][0]))


def error_differences(record, check):
    """Of a cycle that upstream ends with an error, which every node has in berth.h."""
    text = without_point(record["error"])
    for node in check["nodes"]:
        if node["fits"] or CODES.get(node["code"]) != "Error" or node["reasons"] != text:
            yield Difference(record["pod"], "check error", f"{node['node']}: error {text!r} vs {verdict_of(node)}", record["error"], node)


def check_differences(record, check):
    """Of upstream's record and what check_bulk has of the pod."""
    if failed_before_scores(record):
        yield from error_differences(record, check)
        return
    ours = {node["node"]: node for node in check["nodes"]}
    if set(ours) != {node["node"] for node in record["nodes"]}:
        yield Difference(record["pod"], "check nodes", "other nodes", sorted(n["node"] for n in record["nodes"]), sorted(ours))
        return
    for node in record["nodes"]:
        yield from verdict_differences(record, node, ours[node["node"]])


def verdict_differences(record, node, ours):
    expected = expected_verdict(record, node)
    said = verdict_of(ours)
    if different(expected, said):
        yield Difference(record["pod"], "check", f"{node['node']}: {expected} vs {said}", node, ours)


NOT_ASKED = {"fits": False, "code": 3, "phase": 3, "plugin": "", "reasons": "the node is cordoned"}


def set_differences(record, check):
    """Of the nodes of a set, without those that are cordoned."""
    ours = {node["node"]: node for node in check["among"]}
    if set(ours) != {node["node"] for node in record["nodes"]} & set(check["set"]):
        yield Difference(record["pod"], "check set", "other nodes", check["set"], sorted(ours))
        return
    yield from named_differences(record, check["among"], check["cordoned"])


def alone_differences(record, check):
    yield from named_differences(record, check.get("alone", [])[:1], [])
    yield from named_differences(record, check.get("alone", [])[1:], check["cordoned"])


def named_differences(record, verdicts, cordoned):
    """Of verdicts of some nodes. @param cordoned  nodes that are left out"""
    if failed_before_scores(record):  # at some node, which these may be without
        if record["error"].startswith("prefilter: "):
            yield from error_differences(record, {"nodes": verdicts})
        return
    theirs = {node["node"]: node for node in record["nodes"]}
    for ours in verdicts:
        if ours["node"] not in cordoned:
            yield from verdict_differences(record, theirs[ours["node"]], ours)
        elif dict(NOT_ASKED, node=ours["node"]) != ours:
            yield Difference(record["pod"], "check cordoned", f"{ours['node']}: {ours}", None, ours)


def explain_differences(walk, records, answers):
    for record in records:
        answers["explain"] += 1
        yield from record_differences(record, walk["record"])


def preempt_differences(walk, records, answers):
    """Upstream has nothing to say of a pod whose cycle ends with an error."""
    ours = walk["answer"]
    for record in filter(None, records):
        answers["preempt"] += 1
        candidates = sorted(ours["candidates"], key=lambda candidate: candidate["node"])
        best = [candidate["node"] for candidate in candidates if candidate["best"]]
        record["candidates"].sort(key=lambda candidate: candidate["node"])  # in the order of the snapshot
        error = ours["message"] if record.get("error") else ""  # berth.h says an error as the message
        yield from oracle_preemption.differences_of(record, dict(ours, candidates=candidates, best=best, error=error))


def first_fitting(record, names):
    """The first of the nodes that upstream accepts; empty: none."""
    feasible = {node["node"] for node in record["nodes"] if judged(record, node)["feasible"]} if not failed_before_scores(record) else set()
    return next((name for name in names if name in feasible), "")


def event_text(record):
    """Why the pod has no node; of errors without the point that Go's records name."""
    return without_point(record["error"]) if failed_before_scores(record) else record.get("message", "")


def schedule_differences(walk, records, answers):
    if walk.get("choice"):
        yield from order_differences(walk, records, answers)
        return
    for record in records:
        answers[walk["verb"]] += 1
        problem = step_problem(record, record["score"])
        if problem:
            yield Difference(record["pod"], *problem, record.get("message"), record.get("said"))
            return


def group_differences(walk, records, answers):
    records = list(records)
    tries = [one["value"] for one in walk["tries"]]
    expected = walk["domains"] if walk["domain"] else [""]
    if walk["domain"] == PREFERRED:
        expected = expected + [""]
    is_whole = bool(walk["tries"]) and walk["tries"][-1]["placed"] == walk["count"]
    if tries != expected[:len(tries)] or (not is_whole and len(tries) != len(expected)):
        yield Difference("", "group tries", f"{expected} vs {tries}", None, walk["tries"])
    most = max((one["placed"] for one in walk["tries"]), default=0)
    taken = next((one for one in walk["tries"] if one["taken"]), None)
    if (taken is not None) != (most >= (walk["minimum"] or walk["count"])):
        yield Difference("", "group taken", f"{most} of {walk['minimum'] or walk['count']}", None, walk["tries"])
    if taken is not None and taken["placed"] != sum(bool(record.get("chosen")) for record in records):
        yield Difference("", "group placed", f"{taken}", None, walk["tries"])
    yield from schedule_differences(walk, records, answers)


def order_differences(walk, records, answers):
    """Of pods that go to the first node that fits."""
    goes_round = walk["choice"] == FIRST_FIT
    ring = [name for name in walk["names"] if name in walk["set"]]
    start = walk["start"]
    for record in records:
        answers[walk["verb"] + (", first fit" if goes_round else ", in order")] += 1
        at = start % len(ring) if ring else 0
        names = [name for name in ring[at:] + ring[:at] if name in walk["order"]] if goes_round else walk["order"]
        problem = step_in_order(record, names)
        if problem:
            yield Difference(record["pod"], *problem, record["alone"], walk["follow"])
            return
        if record.get("chosen") and goes_round:
            start = (ring.index(record["chosen"]) + 1) % len(ring)
    if goes_round and walk["next"] != start:
        yield Difference("", "next start", f"{start} vs {walk['next']}", None, walk["follow"])


def step_in_order(record, names):
    """(kind, text) of one step by first fit, or None."""
    fitting = first_fitting(record["alone"], names)
    target = record.get("chosen", "")
    if fitting != target:
        return "first fit", f"{fitting or record['alone'].get('error') or 'no node'} vs {target or 'no node'}"
    if not target and event_text(record["alone"]) != record.get("said", ""):
        return "first fit message", f"{event_text(record['alone'])!r} vs {record.get('said')!r}"
    return None


def replicas_differences(walk, records, answers):
    records = list(records)
    answers["max_replicas"] += 1
    yield from schedule_differences(dict(walk, verb="copies of max_replicas"), records, answers)
    placed = [bool(record.get("chosen")) for record in records]
    if placed != [True] * walk["count"] + [False]:
        yield Difference(walk["shape"], "count", f"{walk['count']} copies, and {sum(placed)} are placed", sum(placed), walk["count"])
    yield from share_differences(walk, Counter(record["chosen"] for record in records if record.get("chosen")))


def share_differences(walk, shares):
    """Of the copies on each node and on those of each value of a label. @param shares  by node, as placed"""
    said = {node: count for node, count in walk["on_node"].items() if count}
    if set(walk["on_node"]) != set(walk["set"]) & set(walk["labels"]):
        yield Difference(walk["shape"], "replicas nodes", "other nodes", walk["set"], walk["on_node"])
        return
    if said != dict(shares):
        yield Difference(walk["shape"], "copies on nodes", f"{dict(shares)} vs {said}", None, None)
    for key, values in walk["of_value"].items():
        expected = {}
        for node in walk["on_node"]:
            if (value := walk["labels"][node].get(key)) is not None:
                expected[value] = expected.get(value, 0) + shares[node]
        if expected != values:
            yield Difference(walk["shape"], "copies of values", f"{key}: {expected} vs {values}", None, None)


def scale_up_differences(walk, records, answers):
    """First fit among existing nodes and the new ones that are there, then one more, where the pod must fit or is left over."""
    records = iter(records)
    for step in walk["steps"]:
        answers[walk["verb"]] += 1
        names = walk["existing"] + [f"new-{number}" for number in range(step["added"])]
        record = next(records)
        fitting = first_fitting(record, names)
        if not fitting and step["node"] not in names:
            record = next(records)
            fitting = first_fitting(record, [f"new-{step['added']}"])
            if fitting and step["refusal"] and step["refusal"] == cap_reached(walk, step["added"] + 1):
                answers[walk["verb"] + ", caps"] += 1
                continue
        if fitting != step["node"]:
            text = f"{fitting or 'no node'} vs {step['node'] or 'no node'} ({step['added']} new before it)"
            yield Difference(step["pod"], "scale_up", text, record, step)
            return
        if step["node"] and step["node"] not in names and cap_reached(walk, step["added"] + 1):
            yield Difference(step["pod"], "scale_up cap", f"{step['node']} is beyond a cap", None, step)
        if step["node"]:
            next(records)
        elif not failed_before_scores(record):
            yield from refusal_differences(record, f"new-{step['added']}", step)
    yield from use_differences(walk, next(records))
    answers[walk["verb"] + ", use of resources"] += len(walk["requested"])


def use_differences(walk, record):
    """Of what pods request of the new nodes, and what these offer."""
    used = {step["node"] for step in walk["steps"] if step["node"].startswith("new-")}
    placed = sum(bool(step["node"]) for step in walk["steps"])
    if (walk["node_count"], walk["placed"]) != (len(used), placed):
        yield Difference("", "scale_up counts", f"{len(used), placed} vs {walk['node_count'], walk['placed']}", None, walk["steps"])
    for name in ("requested", "allocatable"):
        ours = {resource: amount for resource, amount in walk[name].items() if amount}
        theirs = {resource: amount for resource, amount in record[name].items() if amount}
        if ours != theirs:
            yield Difference("", f"scale_up {name}", f"{theirs} vs {ours}", record, walk["steps"])


def cap_reached(walk, count):
    """Which cap keeps so many new nodes from being there; None: none."""
    if walk["nodes_max"] and count > walk["nodes_max"]:
        return f"the cap of {walk['nodes_max']} nodes is reached"
    for cap in walk["caps"]:
        if cap["each"] > 0 and count * cap["each"] > cap["amount"]:
            return f"the cap of {cap['amount']} {cap['resource']} is reached"
    return None


def refusal_differences(record, name, step):
    verdict = expected_verdict(record, next(node for node in record["nodes"] if node["node"] == name))
    if verdict[4] != parts(step["refusal"]):
        yield Difference(step["pod"], "scale_up refusal", f"{verdict} vs {step['refusal']}", record, step)


def ignoring_differences(walk, records, answers):
    check = walk["check"]
    if check["judged"] == NOT_JUDGED:  # for what else it uses
        answers["pods that are not judged, ignoring something"] += 1
        return
    if (check["judged"] == JUDGED_IGNORING) != walk["ignores"]:
        yield Difference(check["pod"], "judged", f"{check['judged']}, and {walk['ignores']}", None, None)
    for record in records:
        answers["check_bulk, ignoring"] += len(check["nodes"])
        if record["nodes"]:
            yield from check_differences(record, check)


def as_moved_differences(walk, records, answers):
    check = walk["check"]
    if check["judged"] != JUDGED:
        yield Difference(check["pod"], "judged", f"not judged: {check['nodes'][:1]}", None, None)
        return
    for record in records:
        answers["check_bulk, as moved"] += len(check["nodes"])
        answers["check_bulk, as moved, of a set"] += len(check["among"])
        if record["nodes"]:
            yield from check_differences(record, check)
            yield from set_differences(record, check)

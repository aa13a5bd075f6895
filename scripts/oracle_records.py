# SPDX-License-Identifier: Apache-2.0
"""Compares records of upstream (tests/oracle) with those of Berth.

A record is the result of one pod on every node, as `berth explain -o json` writes it (docs/schemas). Upstream's record
always comes first. Nothing here reads files or starts programs.
"""
import json
import re
from typing import NamedTuple


class Difference(NamedTuple):
    """`kind` names what differs without naming pods or nodes; reducing a case has to keep it."""
    pod: str
    kind: str
    text: str
    upstream: object
    ours: object


def without_point(error):
    """Upstream's records name the extension point before the text of the error."""
    return re.sub("^(prefilter|filter|prescore|score): ", "", error or "")


def score_differences(a, b):
    """Of the scores of two node records; a plugin that gives 0 and one that gives nothing mean the same."""
    ours = {s["plugin"]: s for s in b.get("scores") or []}
    for score in a.get("scores") or []:
        other = ours.pop(score["plugin"], None)
        if other != score and (other or score["raw"] or score["normalized"]):
            yield "score " + score["plugin"], f"{score} vs {other}"
    for plugin, other in ours.items():
        if other["raw"] or other["normalized"]:
            yield "score " + plugin, f"a score that upstream does not give: {other}"


def node_differences(a, b):
    """(kind, text) for two records of one node. Nodes that PreFilter leaves out carry no reasons in Berth's record."""
    for field in ("feasible", "plugin", "code", "total"):
        if a.get(field) != b.get(field):
            yield field, f"{field} {a.get(field)!r} vs {b.get(field)!r}"
    if a.get("plugin") != "PreFilter" and sorted(a.get("reasons") or []) != sorted(b.get("reasons") or []):
        yield "reasons", f"reasons {a.get('reasons')} vs {b.get('reasons')}"
    yield from score_differences(a, b)


def summary(record):
    """A record without its nodes, for printing."""
    return {key: value for key, value in (record or {}).items() if key != "nodes"}


def node_list_differences(a, b):
    ours = {n["node"]: n for n in b["nodes"]}
    if [n["node"] for n in a["nodes"]] != [n["node"] for n in b["nodes"]]:
        yield Difference(a["pod"], "nodes", "other nodes, or in another order", [n["node"] for n in a["nodes"]], list(ours))
    for node in a["nodes"]:
        other = ours.get(node["node"], {})
        for kind, text in node_differences(node, other):
            yield Difference(a["pod"], kind, f"{node['node']}: {text}", node, other)


def record_differences(a, b):
    """Of two records of one pod; a cycle that ended with an error is compared by that error alone."""
    if a.get("error") or b.get("error"):
        if without_point(a.get("error")) != without_point(b.get("error")):
            yield Difference(a["pod"], "error", f"error {a.get('error')!r} vs {b.get('error')!r}", summary(a), summary(b))
        return
    yield from node_list_differences(a, b)
    for field in ("profile", "best", "message"):
        theirs, own = a.get(field) or "", b.get(field) or ""
        if field == "best":
            theirs, own = sorted(theirs), sorted(own)
        if theirs != own:
            yield Difference(a["pod"], field, f"{field} {theirs!r} vs {own!r}", summary(a), summary(b))


def compare_records(upstream, ours):
    """Of two {pod: record}."""
    for pod in sorted(upstream.keys() ^ ours.keys()):
        text = "only in the upstream output" if pod in upstream else "not in the upstream output"
        yield Difference(pod, "pods", text, summary(upstream.get(pod)), summary(ours.get(pod)))
    for pod in upstream.keys() & ours.keys():
        yield from record_differences(upstream[pod], ours[pod])


def step_problem(upstream, score):
    """(kind, text) of one step of the serial run against upstream's record of that moment, or None.

    @param score  total of the chosen node in Berth's report; 0 where the node was taken without scoring
    """
    if upstream.get("difference"):
        return "run: " + upstream["difference"].split(":")[0], upstream["difference"]
    total = next((n["total"] for n in upstream["nodes"] if n["node"] == upstream.get("chosen")), None)
    if score and total != score:
        return "run total", f"total of {upstream['chosen']} {total} vs {score}"
    return None


def compare_steps(upstream, report):
    """Of upstream's walk over Berth's serial run (one record a step) and the report of that run.

    The first difference ends the comparison: what follows happens in another cluster.
    """
    scores = {placement["pod"]: placement["score"] for placement in report["placements"]}
    for record in upstream:
        problem = step_problem(record, scores.get(record["pod"], 0))
        if problem:
            ours = [a for a in report["placements"] + report["unplaced"] if a["pod"] == record["pod"]]
            return [Difference(record["pod"], *problem, summary(record), ours)]
    return []


def side_by_side(a, b, width=78):
    """Both values as JSON in two columns, upstream on the left; lines that differ are marked."""
    left = json.dumps(a, indent=1, sort_keys=True).splitlines()
    right = json.dumps(b, indent=1, sort_keys=True).splitlines()
    count = max(len(left), len(right))
    left += [""] * (count - len(left))
    right += [""] * (count - len(right))
    head = f"  {'upstream':<{width}}   ours"
    return "\n".join([head] + [f"  {l:<{width}} {' ' if l == r else '|'} {r}" for l, r in zip(left, right)])

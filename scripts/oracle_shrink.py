# SPDX-License-Identifier: Apache-2.0
"""Makes a differing case small: drops objects, fields and parts of the configuration while a difference of the same kind
stays, and writes what is left beside the case as a scenario or as JSON."""
import copy
import os

from oracle_case import Case, ToolError, compare_answers, read_json, write_json
from oracle_scenario import scenario_of

KEPT_KEYS = {"kind", "apiVersion", "metadata", "name", "schedulerName", "profiles"}


class Trial:
    """Asks both sides about variants of one case, in files beside it; counts how often."""

    def __init__(self, case, tools, release, kind, asked_max=1500):
        self.case = Case(case.base + ".small")
        self.tools, self.release, self.kind = tools, release, kind
        self.left = asked_max

    def write(self, cluster, config, gates):
        write_json(self.case.path(".json"), cluster)
        for end, value in ((".config.json", config), (".gates", gates)):
            if os.path.exists(self.case.path(end)):
                os.remove(self.case.path(end))
            if value and end == ".gates":
                with open(self.case.path(end), "w", encoding="utf-8") as file:
                    file.write(value)
            elif value:
                write_json(self.case.path(end), value)

    def differs(self, cluster, config, gates):
        if self.left <= 0:
            return False
        self.left -= 1
        self.write(cluster, config, gates)
        try:
            found = compare_answers(self.case, self.tools, self.release).differences
        except ToolError:
            return False
        return any(d.kind == self.kind for d in found)


def drop_items(items, keep):
    """The items without those that `keep(rest)` can do without: halves first, then ever smaller pieces."""
    size = max(1, len(items) // 2)
    while items:
        at = 0
        while at < len(items):
            rest = items[:at] + items[at + size:]
            if keep(rest):
                items = rest
            else:
                at += size
        if size == 1:
            return items
        size //= 2
    return items


def paths_of(value, path=()):
    """Every place below a JSON value that could be dropped, the outer ones first."""
    if isinstance(value, dict):
        inner = [(key, value[key]) for key in sorted(value) if key not in KEPT_KEYS]
        passed = [(key, value[key]) for key in sorted(value) if key in KEPT_KEYS]
    elif isinstance(value, list):
        inner, passed = list(enumerate(value))[::-1], []
    else:
        return
    for key, _ in inner:
        yield path + (key,)
    for key, child in inner + passed:
        yield from paths_of(child, path + (key,))


def without(value, path):
    """A copy of the value without the place at `path`; None when the place is gone already."""
    result = copy.deepcopy(value)
    at = result
    try:
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return result


def drop_fields(value, keep):
    """Once more after something went: places behind it in a list have moved."""
    went = True
    while went:
        went = False
        for path in list(paths_of(value)):
            smaller = without(value, path)
            if smaller is not None and keep(smaller):
                value, went = smaller, True
    return value


def is_pending(item):
    return item["kind"] == "Pod" and not item["spec"].get("nodeName")


def smallest(cluster, config, gates, differs):
    """(cluster, config, gates) of which nothing can be left out any more."""
    if config and differs(cluster, None, gates):
        config = None
    if gates and differs(cluster, config, ""):
        gates = ""
    items = cluster["items"]

    def keeps(rest):
        return differs({**cluster, "items": rest}, config, gates)

    for wanted in (is_pending, lambda i: not is_pending(i)):
        others = [i for i in items if not wanted(i)]
        items = drop_items([i for i in items if wanted(i)], lambda rest, o=others: keeps(o + rest))
        items = others + items
    cluster = {**cluster, "items": items}
    if config:
        config = drop_fields(config, lambda c: differs(cluster, c, gates))
    cluster = drop_fields(cluster, lambda c: differs(c, config, gates))
    return cluster, config, gates


def shrink(case, tools, release, kind):
    """Writes BASE.small.json (with its configuration) and BASE.case where the scenario language can say it.

    @return lines that say what was written
    """
    cluster = read_json(case.path(".json"))
    config = read_json(case.path(".config.json")) if os.path.exists(case.path(".config.json")) else None
    trial = Trial(case, tools, release, kind)
    if not trial.differs(cluster, config, case.gates()):
        return [f"{case.base}: does not differ any more when run again"]
    cluster, config, gates = smallest(cluster, config, case.gates(), trial.differs)
    trial.write(cluster, config, gates)
    comparison = compare_answers(trial.case, tools, release)
    first = next((d for d in comparison.differences if d.kind == kind), None)
    lines = [f"shrunk to {len(cluster['items'])} objects: {trial.case.path('.json')}"]
    if first:
        lines.append(f"  {first.pod}: {first.text}")
    text, unsaid = scenario_of(cluster, config, gates, release, comparison.records, asked=not kind.startswith("run"))
    if unsaid:
        lines.append(f"  the scenario language cannot say: {', '.join(unsaid)}")
    else:
        with open(case.path(".case"), "w", encoding="utf-8") as file:
            file.write(text)
        lines.append(f"  as a scenario: {case.path('.case')}")
    return lines

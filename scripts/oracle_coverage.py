# SPDX-License-Identifier: Apache-2.0
"""Counts which answers of upstream occur in a set of records.

tests/golden/coverage.json lists what upstream can answer for the plugins that Berth has: reasons, status codes, errors, and
for each scorer the values of its branches. One item is
    {"id": ..., "point": Filter|PreFilter|PreScore|Score|error|message|best, and the expected values:
     "plugin", "code", "reason" (regular expression), "raw", "normalized", "count" (lowest and highest), "strategy"}
"""
import json
import os
import re
from collections import Counter

ITEMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden", "coverage.json")


def within(value, limits):
    return limits is None or limits[0] <= value <= limits[1]


class Coverage:
    """The items of one list; `count` tells which of them a case shows and how often."""

    def __init__(self, path=ITEMS):
        with open(path, encoding="utf-8") as file:
            items = json.load(file)
        self.ids = [item["id"] for item in items]
        if len(set(self.ids)) != len(self.ids):
            raise ValueError(f"{path}: an id is repeated")
        self.by_point = {}
        for item in items:
            if "reason" in item:
                item["reason"] = re.compile(item["reason"])
            self.by_point.setdefault(item["point"], []).append(item)

    def count(self, records, config=None):
        """@param records  upstream ones, iterable
        @param config  the KubeSchedulerConfiguration that they were made under; None is the default one
        @return Counter by id"""
        found = Counter()
        strategies = strategy_by_profile(config)
        for record in records:
            for item in self.of_record(record, strategies.get(record["profile"], "LeastAllocated")):
                found[item] += 1
        return found

    def items(self, point):
        return self.by_point.get(point, [])

    def of_record(self, record, strategy):
        yield from self.of_answer(record)
        for node in record["nodes"]:
            if not node["feasible"] and node.get("plugin"):
                yield from self.of_status("Filter", node)
            for score in node.get("scores") or []:
                yield from self.of_score(score, strategy)
        for point, key in (("PreFilter", "preFilter"), ("PreScore", "preScore")):
            for status in record.get(key) or []:
                yield from self.of_status(point, status)

    def of_answer(self, record):
        for point in ("error", "message"):
            for item in self.items(point):
                if record.get(point) and item["reason"].search(record[point]):
                    yield item["id"]
        for item in self.items("best"):
            if not record.get("error") and within(len(record["best"]), item["count"]):
                yield item["id"]

    def of_status(self, point, status):
        reasons = status.get("reasons") or [""]
        for item in self.items(point):
            if item["plugin"] == status["plugin"] and item["code"] == status["code"]:
                if "reason" not in item or any(item["reason"].search(reason) for reason in reasons):
                    yield item["id"]

    def of_score(self, score, strategy):
        for item in self.items("Score"):
            if item["plugin"] == score["plugin"] and item.get("strategy", strategy) == strategy:
                if within(score["raw"], item.get("raw")) and within(score["normalized"], item.get("normalized")):
                    yield item["id"]


def strategy_by_profile(config):
    """Scoring strategy of NodeResourcesFit by scheduler name, where it is not LeastAllocated."""
    found = {}
    for profile in (config or {}).get("profiles") or []:
        for entry in profile.get("pluginConfig") or []:
            kind = ((entry.get("args") or {}).get("scoringStrategy") or {}).get("type")
            if entry["name"] == "NodeResourcesFit" and kind:
                found[profile.get("schedulerName", "default-scheduler")] = kind
    return found


def report(coverage, found):
    """Lines of text: each item with its count, and last how many never occur."""
    missing = [item for item in coverage.ids if not found[item]]
    lines = [f"  {found[item]:>9}  {item}" for item in coverage.ids]
    lines.append(f"coverage: {len(coverage.ids) - len(missing)} of {len(coverage.ids)} items occur"
                 + ("; never: " + "; ".join(missing) if missing else ""))
    return lines

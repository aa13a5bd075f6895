# SPDX-License-Identifier: Apache-2.0
"""What scripts/oracle_{coverage,shrink,scenario,golden}.py make of cases: counts, small cases, texts, a choice."""

import json
import os
import tempfile
import unittest
from collections import Counter

from oracle_scripts import accepted, record, refused

from oracle_coverage import Coverage, report
from oracle_golden import Candidate, choose, packed
from oracle_scenario import scenario_of
from oracle_shrink import drop_fields, drop_items


class Counting(unittest.TestCase):
    ITEMS = [{"id": "ports", "point": "Filter", "plugin": "NodePorts", "code": "Unschedulable", "reason": "^no$"},
             {"id": "full", "point": "Score", "plugin": "Fit", "raw": [100, 100], "strategy": "MostAllocated"},
             {"id": "skip", "point": "PreFilter", "plugin": "NodePorts", "code": "Skip"},
             {"id": "broken", "point": "error", "reason": "broken"}]

    def count(self, one, config=None):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(self.ITEMS, file)
            file.flush()
            coverage = Coverage(file.name)
            found = coverage.count([one], config)
            self.assertEqual(len(report(coverage, found)), len(self.ITEMS) + 1)
            return dict(found)

    def test_a_reason_counts_where_it_is_given(self):
        self.assertEqual(self.count(record(refused("a"), refused("b", reasons=["none"]))), {"ports": 1})

    def test_a_score_counts_under_its_strategy_only(self):
        one = record(accepted("a", 100, Fit=100))
        args = {"scoringStrategy": {"type": "MostAllocated"}}
        config = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}
        self.assertEqual(self.count(one), {})
        self.assertEqual(self.count(one, config), {"full": 1})

    def test_states_of_prefilter_and_errors_count(self):
        one = record(preFilter=[{"plugin": "NodePorts", "code": "Skip"}], error="prescore: broken")
        self.assertEqual(self.count(one), {"skip": 1, "broken": 1})

    def test_the_list_of_the_corpus_reads(self):
        self.assertGreater(len(Coverage().ids), 50)


class Shrinking(unittest.TestCase):
    def test_items_that_are_not_needed_go(self):
        self.assertEqual(drop_items(list(range(20)), lambda rest: {3, 17} <= set(rest)), [3, 17])

    def test_nothing_goes_when_all_is_needed(self):
        self.assertEqual(drop_items([1, 2, 3], lambda rest: False), [1, 2, 3])

    def test_fields_that_are_not_needed_go_and_names_stay(self):
        value = {"kind": "Pod", "metadata": {"name": "p", "labels": {"a": "1", "b": "2"}}, "spec": {"x": [1, 2, 3]}}

        def keep(v):
            return v["metadata"].get("labels", {}).get("b") == "2" and 2 in v.get("spec", {}).get("x", [])

        small = drop_fields(value, keep)
        self.assertEqual(small, {"kind": "Pod", "metadata": {"name": "p", "labels": {"b": "2"}}, "spec": {"x": [2]}})


class Scenarios(unittest.TestCase):
    def text(self, *items, records=()):
        return scenario_of({"items": list(items)}, None, "", "1.35", {r["pod"]: r for r in records})

    def test_a_node_and_a_pod_become_lines(self):
        node = {"kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
                "status": {"allocatable": {"cpu": "2", "pods": "3"}}}
        pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
        text, unsaid = self.text(node, pod, records=[record(refused("n", "TaintToleration"), message="0/1")])
        self.assertEqual(unsaid, [])
        self.assertEqual(text.splitlines()[1:], [
            "node n cpu=2 pods=3 taint=k:NoSchedule", "ask p cpu=1",
            'expect p  text "0/1"  refused n: "TaintToleration(no)"'])

    def test_topology_becomes_words(self):
        selector = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["c", "d"]}]}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": selector}
        spec = {"containers": [], "nodeName": "n",
                "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
                                               "labelSelector": selector}],
                "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "podAffinityTerm": term}]}}}
        text, unsaid = self.text({"kind": "Pod", "metadata": {"name": "p", "labels": {"x": "y"}}, "spec": spec})
        self.assertEqual(unsaid, [])
        self.assertEqual(text.splitlines()[1], "pod p label:x=y on=n pod-anti-affinity=host:7 "
                         "namespace-match=app=a&b:In:c,d match= spread=rack skew=2 match=app=a&b:In:c,d")

    def test_what_the_language_has_no_word_for_is_said(self):
        pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [], "hostPID": True}}
        self.assertEqual(self.text(pod)[1], ["pod.spec.hostPID"])


class Choosing(unittest.TestCase):
    def test_every_item_that_occurs_is_shown_before_the_rest_is_filled_up(self):
        candidates = [Candidate(seed, Counter(shown), 5) for seed, shown in enumerate(["a", "a", "b", ""], 1)]
        self.assertEqual([c.key for c in choose(candidates, ["a", "b"], 2, 1)], [1, 3])
        self.assertEqual([c.key for c in choose(candidates, ["a", "b"], 3, 1)], [1, 2, 3])

    def test_a_cluster_made_by_hand_is_always_taken(self):
        candidates = [Candidate(1, Counter("a"), 5), Candidate("by_hand", Counter("a"), 0)]
        self.assertEqual([c.key for c in choose(candidates, ["a"], 1, 1)], ["by_hand"])

    def test_nodes_of_one_verdict_share_it(self):
        one = record(refused("a"), accepted("b", 7, Fit=7), refused("c"), best=["b"])
        line = packed([one], [dict(one, chosen="b"), record(refused("a"), pod="default/q", said="0/1")])
        self.assertEqual(line["pods"], [{"pod": "default/p", "best": [1], "nodes": [0, 1, 0]}])
        self.assertEqual(len(line["verdicts"]), 2)
        self.assertEqual(line["run"], [{"pod": "default/p", "node": "b"}, {"pod": "default/q", "message": "0/1"}])


class Corpus(unittest.TestCase):
    def test_every_item_that_never_occurs_is_explained(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(folder, "docs", "fidelity.md"), encoding="utf-8") as file:
            page = file.read()
        with open(os.path.join(folder, "tests", "golden", "corpus.json"), encoding="utf-8") as file:
            never = json.load(file)["never"]
        for item in never:
            self.assertIn(f"`{item}`", page)


if __name__ == "__main__":
    unittest.main()

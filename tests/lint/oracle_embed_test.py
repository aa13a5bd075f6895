# SPDX-License-Identifier: Apache-2.0
"""scripts/oracle_embed.py sees every way in which an answer of berth.h can differ from upstream's."""

import unittest
from collections import Counter

from oracle_scripts import accepted, record, refused

from oracle_embed import check_differences, drain_differences, replicas_differences, scale_up_differences
from oracle_embed_drains import BLOCKS, KUBECTL, MIRROR, MOVES, NO_CONTROLLER, NO_PLACE, STAYS

PORTS = {"node": "a", "fits": False, "code": 2, "phase": 2, "plugin": "NodePorts", "reasons": "no"}
FITS = {"node": "b", "fits": True, "code": 0, "phase": 0, "plugin": "", "reasons": ""}


def kinds(differences):
    return [d.kind for d in differences]


def checked(upstream, *nodes):
    return kinds(check_differences(upstream, {"pod": "default/p", "judged": 1, "nodes": list(nodes)}))


class Checks(unittest.TestCase):
    upstream = record(refused("a"), accepted("b", 7))

    def test_equal_answers_do_not_differ(self):
        self.assertEqual(checked(self.upstream, PORTS, FITS), [])

    def test_each_field_of_a_verdict_is_compared(self):
        for wrong in ({"code": 3}, {"phase": 1}, {"plugin": "NodeName"}, {"reasons": "yes"}, {"fits": True}):
            self.assertEqual(checked(self.upstream, {**PORTS, **wrong}, FITS), ["check"], wrong)
        self.assertEqual(checked(self.upstream, PORTS, {**PORTS, "node": "b"}), ["check"])

    def test_a_node_that_only_one_side_has_differs(self):
        self.assertEqual(checked(self.upstream, PORTS), ["check nodes"])
        self.assertEqual(checked(self.upstream, PORTS, FITS, {**FITS, "node": "c"}), ["check nodes"])

    def test_a_refusal_by_pre_filter_has_the_plugin_and_its_reasons(self):
        refusing = {"plugin": "VolumeBinding", "code": "UnschedulableAndUnresolvable", "reasons": ["gone"]}
        upstream = record(refused("a", "PreFilter", "UnschedulableAndUnresolvable", ["gone"]), preFilter=[refusing])
        ours = {"node": "a", "fits": False, "code": 3, "phase": 1, "plugin": "VolumeBinding", "reasons": "gone"}
        self.assertEqual(checked(upstream, ours), [])
        for wrong in ({"plugin": "NodeAffinity"}, {"reasons": ""}, {"phase": 2}):
            self.assertEqual(checked(upstream, {**ours, **wrong}), ["check"], wrong)

    def test_a_node_that_no_pre_filter_plugin_names_has_the_plugins_in_its_reason(self):
        text = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
        upstream = record(refused("a", "PreFilter", "UnschedulableAndUnresolvable", []), leftOut=text)
        ours = {"node": "a", "fits": False, "code": 3, "phase": 1, "plugin": "NodeAffinity", "reasons": text}
        self.assertEqual(checked(upstream, ours), [])
        for wrong in ({"plugin": "NodePorts"}, {"plugin": ""}, {"reasons": "no"}, {"code": 2}):
            self.assertEqual(checked(upstream, {**ours, **wrong}), ["check"], wrong)

    def test_an_error_is_that_of_every_node(self):
        upstream = record(refused("a", "X", "Error", ["bad"]), error="filter: bad")
        ours = {"node": "a", "fits": False, "code": 1, "phase": 0, "plugin": "", "reasons": "bad"}
        self.assertEqual(checked(upstream, ours), [])
        self.assertEqual(checked(upstream, {**ours, "reasons": "worse"}), ["check error"])
        self.assertEqual(checked(upstream, FITS), ["check error"])


def pod(name, **more):
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **more}, "spec": {}}


class Drains(unittest.TestCase):
    """Of one node without rules, by first fit, unless a test says otherwise."""
    ALL_RULES = 0xffff

    def differences(self, node, records, **more):
        walk = {"on": 0, "off": self.ALL_RULES, "preset": KUBECTL, "min_replicas": 0, "cluster": {"items": []}, "path": [],
                "by_score": False, "together": False, "candidates": ["a", "b", "c"], "nodes": [node], "kept": [], **more}
        return kinds(drain_differences(walk, records, Counter()))

    def drained(self, start, *records, blocked=""):
        pods = [pod(f"p{number}") for number in range(len(records))]
        said = [{"uid": one["metadata"]["uid"], "rule": 0, "step": True, "outcome": MOVES if record["chosen"] else NO_PLACE}
                for one, record in zip(pods, records)]
        lost = next((one["uid"] for one in said if one["outcome"] == NO_PLACE), "")
        return self.differences({"node": "d", "standing": pods, "pods": said, "start": start, "removable": not lost,
                                 "blocking": blocked or lost, "rule": 0}, records)

    def moved(self, chosen, *nodes, said="", **more):
        return {"pod": "default/p", "chosen": chosen, "said": said, "alone": record(*nodes, **more)}

    def test_a_drained_pod_goes_to_the_first_node_from_the_start(self):
        nodes = accepted("a", 0), refused("b"), accepted("c", 0)
        self.assertEqual(self.drained(1, self.moved("c", *nodes)), [])
        self.assertEqual(self.drained(1, self.moved("a", *nodes)), ["first fit"])
        self.assertEqual(self.drained(1, self.moved("", *nodes)), ["first fit"])

    def test_the_next_one_is_tried_from_behind_it(self):
        nodes = accepted("a", 0), accepted("b", 0), accepted("c", 0)
        self.assertEqual(self.drained(0, self.moved("a", *nodes), self.moved("b", *nodes)), [])
        self.assertEqual(self.drained(0, self.moved("a", *nodes), self.moved("a", *nodes)), ["first fit"])
        self.assertEqual(self.drained(2, self.moved("c", *nodes), self.moved("a", *nodes)), [])

    def test_nothing_moves_when_the_cycle_ends_with_an_error_before_scores(self):
        node = accepted("a", 0)
        self.assertEqual(self.drained(0, self.moved("", node, error="filter: bad", said="bad")), [])
        self.assertEqual(self.drained(0, self.moved("", node, error="prescore: bad", said="bad")), ["first fit"])

    def test_a_pod_without_a_place_has_upstreams_message(self):
        nowhere = {"message": "0/1 nodes are available: 1 no."}
        self.assertEqual(self.drained(0, self.moved("", refused("a"), said=nowhere["message"], **nowhere)), [])
        self.assertEqual(self.drained(0, self.moved("", refused("a"), said="0/1", **nowhere)), ["first fit message"])

    def test_the_first_pod_in_the_way_is_named(self):
        self.assertEqual(self.drained(0, self.moved("", refused("a")), blocked="uid-p7"), ["drain rules"])

    def test_answers_behind_a_kept_drain_are_compared(self):
        node = {"node": "d", "standing": [], "pods": [], "start": 0, "removable": True, "blocking": "", "rule": 0}
        upstream = record(refused("a"), accepted("b", 7))
        for nodes, found in ([PORTS, FITS], []), ([{**PORTS, "reasons": "yes"}, FITS], ["check"]):
            kept = [{"pod": "default/p", "judged": 1, "nodes": nodes}]
            self.assertEqual(self.differences(node, [upstream], kept=kept), found)

    def ruled(self, outcome, rule, standing):
        said = {"uid": standing["metadata"]["uid"], "rule": rule, "step": False, "outcome": outcome}
        blocks = outcome == BLOCKS
        return self.differences({"node": "d", "standing": [standing], "pods": [said], "start": 0, "removable": not blocks,
                                 "blocking": said["uid"] if blocks else "", "rule": rule if blocks else 0}, [], off=0)

    def test_a_rule_that_decides_is_named(self):
        mirror = pod("m", annotations={"kubernetes.io/config.mirror": "x"})
        self.assertEqual(self.ruled(STAYS, MIRROR, mirror), [])
        self.assertEqual(self.ruled(BLOCKS, NO_CONTROLLER, mirror), ["drain rules"])
        self.assertEqual(self.ruled(BLOCKS, NO_CONTROLLER, pod("p")), [])
        self.assertEqual(self.ruled(MOVES, 0, pod("p")), ["drain rules"])


class Walks(unittest.TestCase):
    def test_copies_are_as_many_as_are_placed(self):
        def step(chosen):
            return {**record(accepted("a", 5)), "chosen": chosen, "score": 5 if chosen else 0}

        walk = {"verb": "max_replicas", "shape": "default/p", "count": 1, "set": ["a"], "labels": {"a": {"zone": "z"}},
                "on_node": {"a": 1}, "of_value": {"zone": {"z": 1}}}
        self.assertEqual(kinds(replicas_differences(walk, [step("a"), step("")], Counter())), [])
        self.assertEqual(kinds(replicas_differences(walk, [step("a"), step("a")], Counter())),
                         ["count", "copies on nodes", "copies of values"])
        self.assertEqual(kinds(replicas_differences(walk, [step("")], Counter())),
                         ["count", "copies on nodes", "copies of values"])
        for wrong in ({"on_node": {"a": 2}}, {"of_value": {"zone": {"z": 2}}}, {"on_node": {"b": 1}}):
            self.assertNotEqual(kinds(replicas_differences({**walk, **wrong}, [step("a"), step("")], Counter())), [], wrong)
        wrong = {**step(""), "difference": "left unplaced, but nodes are feasible"}
        self.assertEqual(len(kinds(replicas_differences(walk, [step("a"), wrong], Counter()))), 1)

    def estimated(self, step, *records, **ours):
        """The last record is what upstream says of the use of the new nodes."""
        added = 1 if step["node"].startswith("new-") else 0
        use = {"requested": {"cpu": 2000 * added}, "allocatable": {"cpu": 4000 * added}}
        walk = {"verb": "scale_up", "existing": ["a"], "nodes_max": 0, "caps": [], "node_count": added, "placed": int(bool(step["node"])), **use,
                "steps": [{"pod": "default/p", "added": 1, "refusal": "", **step}], **ours}
        return kinds(scale_up_differences(walk, [*records, use], Counter()))

    def test_an_estimate_goes_to_the_first_node_or_to_one_more(self):
        full, free = refused("a"), accepted("new-0", 0)
        placed = record()
        self.assertEqual(self.estimated({"node": "new-0"}, record(full, free), placed), [])
        self.assertEqual(self.estimated({"node": "new-0"}, record(accepted("a", 0), free), placed), ["scale_up"])
        no = record(full, refused("new-0"))
        self.assertEqual(self.estimated({"node": "new-1"}, no, record(full, refused("new-0"), accepted("new-1", 0)), placed), [])
        self.assertEqual(self.estimated({"node": "new-1"}, no, record(full, refused("new-0"), refused("new-1"))), ["scale_up"])

    def test_the_use_of_new_nodes_and_their_number_are_compared(self):
        answer = {"node": "new-0"}, record(refused("a"), accepted("new-0", 0)), record()
        self.assertEqual(self.estimated(*answer, node_count=2), ["scale_up counts"])
        self.assertEqual(self.estimated(*answer, placed=0), ["scale_up counts"])
        self.assertEqual(self.estimated(*answer, requested={"cpu": 1000}), ["scale_up requested"])
        self.assertEqual(self.estimated(*answer, allocatable={"cpu": 4000, "memory": 1}), ["scale_up allocatable"])
        self.assertEqual(self.estimated(*answer, requested={"cpu": 2000, "memory": 0}), [])

    def test_a_pod_that_is_left_over_is_refused_by_an_empty_new_node_for_its_reasons(self):
        no, empty = record(refused("a"), refused("new-0")), record(refused("a"), refused("new-0"), refused("new-1"))
        self.assertEqual(self.estimated({"node": "", "refusal": "no"}, no, empty), [])
        self.assertEqual(self.estimated({"node": "", "refusal": "yes"}, no, empty), ["scale_up refusal"])
        fits = record(refused("a"), refused("new-0"), accepted("new-1", 0))
        self.assertEqual(self.estimated({"node": "", "refusal": "no"}, no, fits), ["scale_up"])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""scripts/oracle_records.py sees every way in which two records can differ, and no other."""

import unittest

from oracle_scripts import accepted, record, refused

from oracle_records import compare_records, compare_steps, record_differences, side_by_side


def kinds(a, b):
    return [d.kind for d in record_differences(a, b)]


class Records(unittest.TestCase):
    def test_equal_records_do_not_differ(self):
        one = record(refused("a"), accepted("b", 7, Fit=7), best=["b"])
        self.assertEqual(kinds(one, one), [])

    def test_reasons_are_a_multiset(self):
        a = record(refused("a", reasons=["x", "y"]))
        self.assertEqual(kinds(a, record(refused("a", reasons=["y", "x"]))), [])
        self.assertEqual(kinds(a, record(refused("a", reasons=["x", "x", "y"]))), ["reasons"])

    def test_plugin_code_and_feasibility_are_compared(self):
        a = record(refused("a"))
        self.assertEqual(kinds(a, record(refused("a", plugin="NodeName"))), ["plugin"])
        self.assertEqual(kinds(a, record(refused("a", code="UnschedulableAndUnresolvable"))), ["code"])
        self.assertIn("feasible", kinds(a, record(accepted("a", 0))))

    def test_a_raw_score_is_compared_though_the_total_is_equal(self):
        self.assertEqual(kinds(record(accepted("a", 7, Fit=7)), record(accepted("a", 7, Fit=8))), ["score Fit"])

    def test_a_score_that_only_one_side_gives_differs_unless_it_is_nothing(self):
        self.assertEqual(kinds(record(accepted("a", 7, Fit=7)), record(accepted("a", 7))), ["score Fit"])
        self.assertEqual(kinds(record(accepted("a", 7)), record(accepted("a", 7, Fit=7))), ["score Fit"])
        self.assertEqual(kinds(record(accepted("a", 7, Fit=0)), record(accepted("a", 7))), [])

    def test_a_score_below_zero_is_compared(self):
        self.assertEqual(kinds(record(accepted("a", 7, Ipa=-3)), record(accepted("a", 7, Ipa=-2))), ["score Ipa"])

    def test_best_nodes_and_message_are_compared(self):
        a = record(accepted("a", 1), accepted("b", 1), best=["a", "b"])
        self.assertEqual(kinds(a, dict(a, best=["b", "a"])), [])
        self.assertEqual(kinds(a, dict(a, best=["a"])), ["best"])
        self.assertEqual(kinds(record(message="0/1"), record(message="0/2")), ["message"])

    def test_the_order_of_the_nodes_is_compared(self):
        self.assertEqual(kinds(record(refused("a"), refused("b")), record(refused("b"), refused("a"))), ["nodes"])

    def test_a_cycle_that_ended_with_an_error_is_compared_by_the_error(self):
        a = record(refused("a"), error="prescore: broken")
        self.assertEqual(kinds(a, record(error="broken")), [])
        self.assertEqual(kinds(a, record(error="other")), ["error"])
        self.assertEqual(kinds(a, record(refused("a"))), ["error"])

    def test_a_pod_of_one_side_only_differs(self):
        self.assertEqual([d.kind for d in compare_records({"default/p": record()}, {})], ["pods"])
        self.assertEqual([d.kind for d in compare_records({}, {"default/p": record()})], ["pods"])

    def test_both_records_stand_side_by_side(self):
        lines = side_by_side({"a": 1, "b": 2}, {"a": 1, "b": 3}, width=10).splitlines()
        self.assertEqual([line.split() for line in lines[2:4]], [['"a":', "1,", '"a":', "1,"], ['"b":', "2", "|", '"b":', "3"]])


class Runs(unittest.TestCase):
    def kinds(self, *upstream, score=7):
        placed = [{"pod": "default/p", "node": "a", "score": score}]
        return [d.kind for d in compare_steps(upstream, {"placements": placed, "unplaced": []})]

    def test_a_step_that_upstream_takes_too_does_not_differ(self):
        self.assertEqual(self.kinds(record(accepted("a", 7), best=["a"], chosen="a")), [])

    def test_a_step_that_upstream_refuses_ends_the_comparison(self):
        wrong = record(refused("a"), chosen="a", difference="placed: wrongly")
        self.assertEqual(self.kinds(wrong, wrong), ["run: placed"])

    def test_another_total_differs_unless_the_node_was_taken_without_scoring(self):
        upstream = record(accepted("a", 8), best=["a"], chosen="a")
        self.assertEqual(self.kinds(upstream), ["run total"])
        self.assertEqual(self.kinds(upstream, score=0), [])


if __name__ == "__main__":
    unittest.main()

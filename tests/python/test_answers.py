# SPDX-License-Identifier: Apache-2.0
"""Questions that snapshots and forks are asked."""

import numpy as np
import pytest
from world import NODES, node, pod

import berth


@pytest.fixture(params=["snapshot", "fork"])
def asked(request, cluster):
    """A snapshot of the cluster, or a fork to which nothing was done."""
    with cluster.snapshot() as snapshot:
        if request.param == "snapshot":
            yield snapshot
        else:
            with snapshot.fork() as fork:
                yield fork


def test_check_of_one_pod_on_one_node(asked, cluster):
    p = cluster.pod(pod("p", 3))
    assert asked.check(p, "a") is True and asked.check(p, 2) is False and asked.check(p, np.uint32(0)) is True
    verdict = asked.verdict(p, "c")
    assert not verdict and verdict.plugin == "NodeResourcesFit" and verdict.reasons == "Insufficient cpu"
    assert verdict.phase is berth.Phase.FILTER and verdict.judged is berth.Judged.YES
    assert asked.verdict(p, "a") and asked.verdict(p, "b", skip_cordoned=True).phase is berth.Phase.NODE
    with pytest.raises(berth.NotFoundError):
        asked.check(p, "zz")
    for bad in (None, 1.5, [0]):
        with pytest.raises(TypeError):
            asked.check(p, bad)
    with pytest.raises(ValueError):
        asked.check(p, -1)
    with pytest.raises(TypeError):
        asked.check(pod("p", 3), "a")


def test_check_in_bulk_equals_single_checks(asked, cluster):
    pods = cluster.pods([pod("p", 1), pod("q", 3), pod("r", 9)])
    with asked.check_bulk(pods) as result:
        assert result.fits.shape == (3, 3) and result.node.tolist() == [0, 1, 2]
        for i, each in enumerate(pods):
            for number in range(3):
                assert result.fits[i, number] == asked.check(each, number)
                assert result.verdict(i, number) == asked.verdict(each, number)
        assert result.feasible(0) == ["a", "c"] and result.complete and result.status is berth.Status.OK
        assert result.judged.tolist() == [1, 1, 1]
    with asked.check_bulk(pods, ["c", "a"], reasons=False, skip_cordoned=True) as result:
        assert result.node.tolist() == [0, 2] and set(result.reasons.texts()) == {""}
    with cluster.node_set([0, "c"]) as some, asked.check_bulk(pods[0], some) as result:
        assert result.fits.tolist() == [[True, True]]
    with asked.check_bulk([], np.array([1], dtype=np.uint32)) as result:
        assert result.fits.shape == (0, 1)


def test_scores_of_a_check_are_those_of_the_explanation(asked, cluster):
    pods = cluster.pods([pod("p", 1), pod("q", 3), pod("r", 9)])
    with asked.check_bulk(pods, scores=True) as result:
        assert result.score.shape == (3, 3) and result.message.texts() == ["", "", ""]
        for i, each in enumerate(pods):
            with asked.explain(each) as explanation:
                totals = {node["node"]: node["total"] for node in explanation["nodes"] if node["feasible"]}
            assert result.score.tolist()[i] == [totals.get(name, berth.NO_SCORE) for name in "abc"]
        assert result.tables["pairs"].to_pandas()["score"].tolist() == [each for row in result.score for each in row]
        assert "message" in result.tables["pods"].to_pandas()
    with asked.check_bulk(pods[0]) as result, pytest.raises(berth.NotFoundError):
        result.score


def test_what_is_not_judged_is_never_a_yes(asked, cluster):
    claims = [{"name": "gpu", "resourceClaimName": "g"}]
    dra = cluster.pod(pod("dra", 1, resourceClaims=claims))
    ignoring = cluster.pod(pod("dra2", 1, resourceClaims=claims), ignore=berth.Ignore.CLAIMS)
    assert not asked.check(dra, "a")
    verdict = asked.verdict(dra, "a")
    assert verdict.judged is berth.Judged.NOT and verdict.plugin == "DynamicResources"
    assert asked.verdict(ignoring, "a").judged is berth.Judged.IGNORING and asked.check(ignoring, "a")
    with pytest.raises(berth.UnsupportedError) as raised:
        asked.explain(dra)
    assert isinstance(raised.value, NotImplementedError)


def test_explain_is_a_record(asked, cluster):
    with asked.explain(cluster.pod(pod("p", 3))) as explanation:
        assert explanation["pod"] == "default/p" and explanation.record["best"] == ["a"]
        assert explanation.json.startswith("{")
        with pytest.raises(TypeError, match="record"):
            explanation.to_pandas()


def test_preemption_names_victims(cluster):
    cluster.upsert_bulk([pod("old", 3, nodeName="a"), pod("old2", 1, nodeName="c")])
    big = cluster.pod(pod("big", 4, priority=1000))
    with cluster.snapshot() as snapshot:
        with snapshot.preempt(big) as result:
            assert result.node.tolist() == [0] and result.best[0] is True and result.message == ""
            assert result.victims(0) == ["uid-old"] and result.violations[0] == 0
            with pytest.raises(IndexError):
                result.victims(1)
            assert result.tables["victims"].to_pandas().values.tolist() == [["a", "uid-old"]]
        with snapshot.preempt(cluster.pod(pod("small", 1))) as result:
            assert result.message == "a node accepts the pod without it" and len(result.node) == 0
        with snapshot.explain(big, with_preemption=True) as explanation:
            assert explanation["preemption"]["eligible"] is True
        with snapshot.fork() as fork:
            fork.remove_pod("uid-old")
            with fork.preempt(big, as_moved=True) as result:
                assert result.message


def test_origin_says_what_an_answer_follows_from(asked, cluster):
    with asked.check_bulk(cluster.pod(pod("p", 1))) as result:
        assert result.origin == (cluster.version, 0, "1.35", cluster.backend)


def test_max_replicas(asked, cluster):
    shapes = cluster.pods([pod("p", 1), pod("q", 3)])
    with asked.max_replicas(shapes, keys=["zone", "disk"], per_node=True) as result:
        assert result.count.tolist() == [6, 1]
        assert result.count_on_node.tolist() == [[4, 0, 2], [1, 0, 0]]
        assert result.by_value() == {"x": 4, "y": 2} and result.by_value(shape=1) == {"x": 1, "y": 0}
        assert result.by_value(key=1) == {"ssd": 0}
    with asked.max_replicas(shapes[0], ["c"]) as result:
        assert result.count.tolist() == [2]
        with pytest.raises(berth.NotFoundError):
            result.count_on_node
    with pytest.raises(berth.ArgumentError):
        asked.max_replicas(shapes, keys=["a", "b", "c", "d", "e"])


def test_estimate(asked, cluster):
    pods = cluster.pods([pod("s0", 3), pod("s1", 3), pod("s2", 5)])
    shapes = [berth.Shape(node=node("shape", 4)), berth.Shape(copy_of="a", max_nodes=1),
              berth.Shape(node=node("shape", 4), caps={"cpu": 4000})]
    with asked.estimate(pods, shapes) as result:
        assert result.node_count.tolist() == [2, 1, 1] and result.placed.tolist() == [2, 1, 1]
        assert list(result.cap) == [0, 1, 2] and result.cap[2] is berth.Cap.RESOURCE and result.cap_resource[2] == "cpu"
        assert result.new_node.tolist()[0] == [0, 1, berth.NO_NODE] and result.reasons[0, 2] == "Insufficient cpu"
        assert result.pod_class.tolist() == [0, 0, 1] and result.placed_of_class.tolist() == [[2, 0], [1, 0], [1, 0]]
        cpu = result.resource.texts().index("cpu")
        assert result.requested.numpy()[0, cpu] == 6000 and result.allocatable.numpy()[0, cpu] == 8000
    with asked.estimate(pods, shapes[0], existing_first=True, decreasing=True) as result:
        assert result.node_count.tolist() == [1] and result.node.tolist() == [[0, berth.NO_NODE, berth.NO_NODE]]
    with asked.estimate(cluster.pod(pod("bound", 3, nodeName="b")), shapes[0], as_moved=True) as result:
        assert result.node_count.tolist() == [1]
    with pytest.raises(berth.NotFoundError):
        asked.estimate(pods, berth.Shape(copy_of=99))
    with pytest.raises(berth.InputError):
        asked.estimate(pods, berth.Shape(node="{}"))
    with pytest.raises(TypeError):
        asked.estimate(pods, [node("shape", 4)])
    for bad in ({}, {"node": {}, "copy_of": 1}):
        with pytest.raises(ValueError, match="either"):
            berth.Shape(**bad)


def test_drain_and_replace(cluster):
    cluster.upsert_bulk([pod("lone", 1, nodeName="a"), pod("big", 2, nodeName="c")])
    with cluster.snapshot() as snapshot:
        with snapshot.drain("a") as result:
            assert result.removable.tolist() == [False] and result.rule[0] is berth.Rule.NO_CONTROLLER
            assert result.blocking_pod[0] == "uid-lone"
        with snapshot.drain(["a", "c"], rules_off=["no_controller"]) as result:
            assert result.removable_nodes() == ["c"] and result.outcome[0] is berth.Outcome.NO_PLACE
            assert result.tables["pods"].to_pandas()["target"].tolist()[1] == "a"
        shape = berth.Shape(node=node("shape", 4), price=7)
        with snapshot.replace("a", shape, rules_off=[berth.Rule.NO_CONTROLLER]) as result:
            assert result.price.tolist() == [7] and result.new_node.tolist() == [0] and result.removable[0]
            assert list(result.tables) == ["nodes", "pods", "replacements"]
        with snapshot.drain([0], preset="cluster-autoscaler") as result:
            assert not result.removable[0]
        with pytest.raises(ValueError, match="none of kubectl"):
            snapshot.drain("a", preset="mine")
        with pytest.raises(berth.NotFoundError):
            snapshot.drain([77])
        with pytest.raises(berth.ArgumentError):
            snapshot.replace("a", shape, 0)
        with snapshot.fork() as fork:
            fork.drain("c", rules_off=["no_controller"], together=True, keep=True).close()
            assert fork.node_of("uid-big") == 0
    with cluster.snapshot() as snapshot, pytest.raises(berth.ArgumentError):
        snapshot.drain("c", keep=True)


def test_wrong_types_are_type_errors(asked, cluster):
    p = cluster.pod(pod("p", 1))
    shape = node("shape", 4)
    for call in (lambda: asked.check_bulk(7), lambda: asked.check_bulk([p, None]), lambda: asked.check_bulk(p, "a"),
                 lambda: asked.check_bulk(p, 3), lambda: asked.check_bulk(p, [1.5]), lambda: asked.max_replicas(p, keys=[7]),
                 lambda: asked.estimate(p, berth.Shape(node=shape, caps={"cpu": "4"})),
                 lambda: asked.estimate(p, berth.Shape(node=shape, caps={7: 4})),
                 lambda: asked.estimate(p, berth.Shape(node=shape, max_nodes="x")),
                 lambda: asked.estimate(p, berth.Shape(node=shape, price=1.5)),
                 lambda: asked.estimate(p, berth.Shape(node=7)), lambda: asked.drain(None), lambda: asked.drain([None]),
                 lambda: asked.check_bulk(p, cancel=7), lambda: asked.check_bulk(p, [[0]])):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="NUL"):
        asked.max_replicas(p, keys=["a\0b"])
    with asked.max_replicas(p, keys="zone") as one:  # a key, and not the letters of one
        assert one.by_value() == {"x": 4, "y": 2}


def test_questions_about_one_pod_are_cancelled(asked, cluster):
    p = cluster.pod(pod("p", 1))
    with berth.CancelToken() as token:
        token.trigger()
        for call in (lambda: asked.explain(p, cancel=token), lambda: asked.preempt(p, cancel=token)):
            with call() as result:
                assert result.status is berth.Status.CANCELLED and not result.complete
    with asked.explain(p, deadline=60) as result:
        assert result.complete and result["pod"]


def test_cancelled_answers_have_tables(asked, cluster):
    pytest.importorskip("pandas")
    pods = cluster.pods([pod("p", 1), pod("q", 1)])
    with berth.CancelToken() as token:
        token.trigger()
        for call in (lambda: asked.check_bulk(pods, cancel=token), lambda: asked.max_replicas(pods, cancel=token),
                     lambda: asked.estimate(pods, berth.Shape(copy_of=0), cancel=token),
                     lambda: asked.drain([0, 1], cancel=token),
                     lambda: asked.replace([0, 1], berth.Shape(copy_of=0), cancel=token)):
            with call() as result:
                assert result.status is berth.Status.CANCELLED
                for name, table in result.tables.items():
                    assert len(table.to_pandas()) == (3 if name == "nodes" and hasattr(result, "phase") else 0), name


def test_answers_of_a_snapshot_stay_as_they_were(cluster):
    with cluster.snapshot() as before, cluster.pod(pod("p", 3)) as p:
        cluster.upsert(pod("old", 3, nodeName="a"))
        cluster.delete("Node", "c")
        assert before.check(p, "a") and before.node_names() == ["a", "b", "c"]
        with cluster.snapshot() as after:
            assert not after.check(p, "a") and after.node_names() == ["a", "b"] and after.version > before.version
    assert len(NODES) == 3


def questions_with_progress(asked, pods):
    shape = berth.Shape(copy_of=0)
    questions = [lambda **told: asked.max_replicas(pods, **told), lambda **told: asked.estimate(pods, shape, **told),
                 lambda **told: asked.drain([0, 1], **told), lambda **told: asked.replace([0, 1], shape, **told)]
    if isinstance(asked, berth.Fork):
        questions.append(lambda **told: asked.schedule(pods, as_moved=True, **told))
    return questions


def test_progress_is_told_and_ends_with_all(asked, cluster):
    pods = cluster.pods(pod(f"p{i}", 1) for i in range(3))
    for question in questions_with_progress(asked, pods):
        told = []
        with question(progress=lambda done, total: told.append((done, total))) as result:
            assert result.complete
        assert told and told[-1][0] == told[-1][1] > 0 and told == sorted(told)


def test_progress_that_raises_ends_the_call_with_its_exception(asked, cluster):
    pods = cluster.pods(pod(f"p{i}", 1) for i in range(3))

    def fail(done, total):
        raise LookupError(f"{done} of {total}")

    for question in questions_with_progress(asked, pods):
        with berth.CancelToken() as token:
            with pytest.raises(LookupError, match="of"):
                question(progress=fail, cancel=token)
            assert token.triggered
        with pytest.raises(LookupError, match="of"):
            question(progress=fail)
        with pytest.raises(TypeError, match="progress"):
            question(progress=7)
    for question in questions_with_progress(asked, pods)[:1]:
        with pytest.raises(berth.ReentryError):
            question(progress=lambda done, total: asked.node_names())

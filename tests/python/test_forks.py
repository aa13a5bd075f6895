# SPDX-License-Identifier: Apache-2.0
"""What-ifs: placing, moving, reverting and committing."""

import numpy as np
import pytest
from world import node, pod

import berth


def test_schedule_by_score(cluster, snapshot):
    pods = cluster.pods([pod("p0", 3), pod("p1", 2), pod("p2", 3)])
    with snapshot.fork() as fork:
        result = fork.schedule(pods)
        assert result.by_pod() == {"uid-p0": "a", "uid-p1": "c", "uid-p2": None}
        assert result.placed == 2 and result.message[2].startswith("0/3 nodes are available: ") and result.score[2] == 0
        assert [fork.node_of(each) for each in pods] == [0, 2, None] and fork.node_of("uid-p1") == 2
        with pytest.raises(berth.ExistsError, match="p0"):
            fork.schedule(pods[0])


def test_choices(cluster, snapshot):
    pods = cluster.pods([pod(f"p{i}", 1) for i in range(4)])
    with snapshot.fork() as fork:
        first = fork.schedule(pods[0], choice="first_fit", start=1)
        assert first.node_names() == ["c"] and first.next_start == 0
        assert fork.schedule(pods[1], choice=berth.Choice.FIRST_FIT, start=first.next_start).node_names() == ["a"]
        assert fork.schedule(pods[2], order=["b", "c", "a"]).node_names() == ["c"]
        assert fork.schedule(pods[3], nodes=["c"]).node_names() == [None]
        fork.unschedule(pods[0])
        stopped = fork.schedule([pods[3], pods[0]], nodes=["b"], stop_at_failure=True)
        assert len(stopped.node) == 1 and stopped.by_pod() == {"uid-p3": None}
        with pytest.raises(ValueError, match="none of"):
            fork.schedule(pods[3], choice="best")
        with pytest.raises(berth.ArgumentError):
            fork.schedule(pods[3], choice="score", order=["a"])


def test_forks_of_forks_commit_and_revert(cluster, snapshot):
    p0, p1, p2 = cluster.pods([pod("p0", 3), pod("p1", 2), pod("p2", 3)])
    with snapshot.fork() as fork, snapshot.fork() as late:
        fork.schedule([p0, p1])
        with fork.fork() as child:
            child.unschedule(p0)
            with pytest.raises(berth.NotFoundError):
                child.unschedule(p0)
            assert child.schedule(p2).node_names() == ["a"]
            child.revert()
            assert child.node_of(p0) == 0
            child.remove_pod(p1)
            assert child.commit() is None
            with pytest.raises(berth.StateError):
                child.revert()
        assert fork.node_of(p1) is None
        version = fork.commit()
        assert version == cluster.version
        late.add_pod(p1, "c")
        with pytest.raises(berth.StaleError):
            late.commit()
        assert late.node_of(p1) == 2
    with pytest.raises(berth.ExistsError):
        cluster.assume(p0, "a")
    cluster.forget(p0)


def test_a_child_of_a_changed_fork_is_stale(cluster, snapshot):
    p = cluster.pod(pod("p", 1))
    with snapshot.fork() as fork, fork.fork() as child:
        fork.add_pod(p, "a")
        with pytest.raises(berth.StaleError):
            child.commit()


def test_nodes_come_and_go(cluster, snapshot):
    p = cluster.pod(pod("p", 8))
    with snapshot.fork() as fork:
        number = fork.add_node(node("d", 16))
        assert fork.check(p, number) and fork.node_names() == ["a", "b", "c", "d"]
        with pytest.raises(berth.ExistsError):
            fork.add_node(node("d", 16))
        fork.update_node(node("d", 4))
        assert not fork.check(p, "d")
        fork.remove_node("d")
        with pytest.raises(berth.NotFoundError):
            fork.remove_node("d")
        with pytest.raises(berth.NotFoundError):
            fork.update_node(node("d", 4))
    assert snapshot.node_names() == ["a", "b", "c"]


def test_a_running_pod_is_moved(cluster):
    cluster.upsert(pod("p", 3, nodeName="a"))
    with cluster.pod(pod("p", 3, nodeName="a")) as moved, cluster.snapshot() as snapshot, snapshot.fork() as fork:
        assert not fork.check(moved, "c", as_moved=True) and fork.check(moved, "a", as_moved=True)
        assert fork.schedule(moved, as_moved=True).node_names() == ["a"]


def test_group_goes_to_one_domain(cluster, snapshot):
    pods = cluster.pods([pod(f"g{i}", 1) for i in range(3)])
    with snapshot.fork() as fork:
        result = fork.schedule_group(pods, keys=["zone"])
        assert result.domain == ("zone", "x") and result.node_names() == ["a"] * 3
        assert result.try_taken.tolist() == [True] and result.try_pod[0] == 0xFFFFFFFF
        more = cluster.pods([pod(f"h{i}", 1) for i in range(4)])
        refused = fork.schedule_group(more)
        assert refused.domain is None and refused.placed == 0 and refused.try_placed[0] == 3
        assert fork.schedule_group(more, minimum=3).placed == 3
        assert list(result.tables) == ["pods", "tries"]
        with pytest.raises(berth.ArgumentError):
            fork.schedule_group(more, domain="required")


def test_reservations(cluster):
    p = cluster.pod(pod("p", 1))
    with cluster.reserve("team", p, 2, key="zone", value="y") as result:
        assert result and result.uid.texts() == ["reservation/team/0", "reservation/team/1"]
    with cluster.reserve("team", p, 9) as result:
        assert not result and "nodes are available" in result.message.texts()[-1]
    with cluster.reservations() as held:
        assert len(held) == 2 and held.owner[0] == "team" and held.node.tolist() == [2, 2]
    assert cluster.unreserve("team", 1, pod=p) == 1 and cluster.unreserve("team") == 1
    with pytest.raises(berth.NotFoundError):
        cluster.unreserve("team")


def test_all_nodes_answer_into_arrays(cluster, snapshot):
    p = cluster.pod(pod("p", 3))
    with snapshot.fork() as fork:
        fits = fork.mask(p)
        assert fits.dtype == np.uint8 and fits.tolist() == fork.check_bulk(p).fits.tolist()[0] == [1, 0, 0]
        fork.add_pod(p, "a")
        assert fork.mask(p, out=fits) is fits and fits.tolist() == [0, 0, 0]
        assert fork.mask(p, ["b", "a"], as_moved=True, skip_cordoned=True).tolist() == [1, 0]
        use = fork.use(["cpu", "memory", "pods", "example.com/none"])
        assert use.requested.tolist() == [[3000, 0, 0], [2**30, 0, 0], [1, 0, 0], [0, 0, 0]]
        assert use.allocatable.tolist() == [[4000, 4000, 2000], [2**33] * 3, [10] * 3, [0] * 3]
        assert fork.use("cpu").requested.tolist() == [[3000, 0, 0]] and fork.use([]).requested.shape == (0, 0)
        again = fork.use(("cpu", "pods"), berth.Use(np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64)))
        assert again.requested[1].tolist() == [1, 0, 0]
        for wrong in (np.zeros(2, np.uint8), np.zeros(4, np.uint8)):
            with pytest.raises(ValueError, match="entries"):
                fork.mask(p, out=wrong)
        for wrong in (np.zeros(3, np.int8), np.zeros(6, np.uint8)[::2], np.zeros((1, 3), np.uint8), [0, 0, 0]):
            with pytest.raises(TypeError):
                fork.mask(p, out=wrong)
        with pytest.raises(TypeError):
            fork.use("cpu", berth.Use(np.zeros((1, 3)), np.zeros((1, 3))))

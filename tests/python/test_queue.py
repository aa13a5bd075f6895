# SPDX-License-Identifier: Apache-2.0
"""Queue: a scheduler of its own over a fork, with kube-scheduler's queue."""

import pytest
from world import node, pod

import berth


@pytest.fixture
def cluster():
    with berth.Engine() as engine, engine.cluster() as made:
        made.upsert_bulk([node("a", 4), node("b", 2)])
        yield made


def try_all(queue, fork):
    """Tries the pods that are ready, and gives those that have a node now."""
    placed = []
    while (tried := queue.pop()) is not None:
        with fork.schedule(tried, rejectors=True) as answer:
            if answer.fits[0]:
                queue.done(tried)
                queue.pod_came(fork, tried)
                placed.append(tried)
            else:
                queue.fail(tried, answer.rejectors[0], answer.pending_rejectors[0])
    return placed


def test_a_program_schedules_with_the_queue(cluster):
    small, big, huge = pods = cluster.pods([pod("small", 3), pod("big", 4, priority=5), pod("huge", 8)])
    with berth.Queue(cluster, now=100) as queue, cluster.snapshot() as snapshot, snapshot.fork() as fork:
        for each in pods:
            queue.add(each)
        assert queue.sizes == berth.QueueSizes(active=3, backoff=0, unschedulable=0, gated=0, tried=0)
        assert try_all(queue, fork) == [big]  # the very object, the highest priority first
        assert queue.sizes.unschedulable == 2 and queue.memory_bytes > 0
        large = node("large", 9)
        fork.add_node(large)
        queue.node_changed(None, large)
        assert queue.sizes.backoff == 2 and queue.now == 100 and 100 < queue.next <= 102
        queue.advance(queue.next + 1)
        assert try_all(queue, fork) == [small]  # and there is no room for the other one any more
        queue.pod_leaves(fork, "uid-small")
        fork.remove_pod(small)
        queue.advance(110)
        assert try_all(queue, fork) == [huge] and queue.next is None
    for each in pods:
        each.close()


def test_wrong_calls_are_errors(cluster):
    waits = cluster.pod(pod("waits", 1))
    with berth.Queue(cluster) as queue, cluster.snapshot() as snapshot, snapshot.fork() as fork:
        queue.add(waits)
        with pytest.raises(berth.ExistsError):
            queue.add(waits)
        for call in (queue.done, queue.fail):
            with pytest.raises(berth.NotFoundError):
                call(waits)
        with pytest.raises(berth.NotFoundError):
            queue.pod_came(fork, waits)
        with pytest.raises(berth.ArgumentError):
            queue.node_changed(None, None)
        queue.advance(5)
        with pytest.raises(berth.ArgumentError):
            queue.advance(4)
        queue.remove(waits)
        with pytest.raises(berth.NotFoundError):
            queue.remove(waits)
        assert queue.pop() is None
    with pytest.raises(berth.ClosedError):
        queue.pop()
    waits.close()


def test_columns_of_rejectors_are_there_where_they_were_asked_for(cluster):
    huge = cluster.pod(pod("huge", 8))
    with cluster.snapshot() as snapshot, snapshot.fork() as fork:
        with fork.schedule(huge, rejectors=True) as answer:
            assert list(answer.rejectors) == ["NodeResourcesFit"] and list(answer.pending_rejectors) == [""]
            assert answer.to_pandas()["rejectors"].tolist() == ["NodeResourcesFit"]
        with fork.schedule(huge) as answer, pytest.raises(berth.Error):
            answer.rejectors  # noqa: B018
    huge.close()

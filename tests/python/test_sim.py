# SPDX-License-Identifier: Apache-2.0
"""Sim: equal to a plain simulation over forks, the same bytes at any number of threads, and errors instead of crashes."""

import gc
import heapq
import pickle

import numpy as np
import pytest
from world import ENGINE_CONFIG, node, pod

import berth
from berth.sim import SCHEDULE, SET_ASIDE, Arrays, Event

PODS = 60


@pytest.fixture(params=[1, 3])
def threads(request):
    return request.param


@pytest.fixture
def world(threads):
    """A snapshot and pods of several sizes, some of which spread or repel each other."""
    with berth.Engine(threads=threads, engine_config=ENGINE_CONFIG) as engine, engine.cluster() as cluster:
        cluster.upsert_bulk([node(f"n{i}", 4 + i % 3, labels={"zone": f"z{i % 3}"}) for i in range(9)])
        anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]}}
        more = [{}, {"nodeSelector": {"zone": "z1"}}, {"affinity": anti}]
        pods = cluster.pods(pod(f"p{i}", 1 + i % 3, labels={"app": "xyz"[i % 3]}, **more[i % 3]) for i in range(PODS))
        with cluster.snapshot() as snapshot:
            yield snapshot, pods
        for each in pods:
            each.close()


def times(seed=1):
    random = np.random.default_rng(seed)
    return np.cumsum(random.exponential(1.0, PODS)).round(2), random.exponential(15.0, PODS).round(2)


def policy(step, env, mask):
    """An action that depends on the environment and the step: often legal, at times not."""
    turn = (step * 7 + env * 3) % 10
    legal = np.flatnonzero(mask)
    if turn == 0:
        return 5  # perhaps illegal
    if turn == 1 or not len(legal):
        return SET_ASIDE
    return SCHEDULE if turn == 2 else int(legal[(step + env) % len(legal)])


class Plain:
    """The rules of Sim over a fork, written in Python."""

    def __init__(self, snapshot, pods, order, arrivals, durations):
        self.fork, self.pods, self.nodes = snapshot.fork(), pods, snapshot.nodes().tolist()
        self.durations = durations
        self.events = [(time, 1, p) for time, p in zip(arrivals, order)]  # endings come first: 0
        heapq.heapify(self.events)
        self.waiting, self.aside, self.time, self.placed = [], [], 0.0, 0
        self.go_on()

    def go_on(self):
        while self.events and (not self.waiting or self.events[0][0] <= self.time):
            self.time, kind, p = heapq.heappop(self.events)
            if kind == 0:
                self.fork.remove_pod(self.pods[p])
                self.waiting, self.aside = self.waiting + self.aside, []
            else:
                self.waiting.append(p)

    def mask(self):
        if not self.waiting:
            return [0] * len(self.nodes)
        return [int(self.fork.check(self.pods[self.waiting[0]], number)) for number in self.nodes]

    def use(self, resources):
        return self.fork.use(resources).requested.tolist()

    def step(self, action):
        at, illegal = -1, 0
        if self.waiting:
            p = self.waiting.pop(0)
            if action == SCHEDULE:
                number = self.fork.schedule(self.pods[p]).node[0]
                at = -1 if number == berth.NO_NODE else self.nodes.index(number)
            elif action != SET_ASIDE:
                illegal = int(not (0 <= action < len(self.nodes) and self.fork.check(self.pods[p], self.nodes[action])))
                if not illegal:
                    at = action
                    self.fork.add_pod(self.pods[p], self.nodes[action])
            if at < 0:
                self.aside.append(p)
            else:
                self.placed += 1
                heapq.heappush(self.events, (self.time + self.durations[p], 0, p))
            self.go_on()
        return at, illegal

    def shown(self):
        return (self.waiting[0] if self.waiting else -1, self.placed, len(self.waiting) + len(self.aside), self.time,
                int(not self.waiting))


def test_environments_equal_a_plain_simulation(world):
    snapshot, pods = world
    arrivals, durations = times()
    resources = ["cpu", "pods"]
    with berth.Sim(snapshot, pods, 3, arrivals=arrivals, durations=durations, shuffle=False, resources=resources) as sim:
        assert sim.allocatable.tolist() == [[4000 + 1000 * (i % 3) for i in range(9)], [10] * 9]
        plain = [Plain(snapshot, pods, range(PODS), arrivals, durations) for _ in range(3)]
        out = sim.reset(0)
        steps = placed = illegal = 0
        while not out.done.all():
            for e, each in enumerate(plain):
                assert (out.pod[e], out.placed[e], out.pending[e], out.time[e], out.done[e]) == each.shown()
                assert out.mask[e].tolist() == each.mask()
                assert out.use[e].tolist() == each.use(resources)
            actions = [policy(steps, e, out.mask[e]) for e in range(3)]
            expected = [each.step(action) for each, action in zip(plain, actions)]
            out = sim.step(actions, out)
            assert list(zip(out.node, out.illegal)) == expected
            illegal += int(out.illegal.sum())
            steps += 1
        placed = int(out.placed.sum())
        assert steps > PODS and placed > PODS and illegal > 0
        for each in plain:
            each.fork.close()


def recorded(snapshot, pods, envs, seeds, threads=0, **options):
    """All bytes of an episode."""
    arrivals, durations = times(2)
    with berth.Sim(snapshot, pods, envs, arrivals=arrivals, durations=durations, events=True, threads=threads, **options) as sim:
        out = sim.reset(seeds)
        said = [b"".join(getattr(out, name).tobytes() for name in Arrays.__dataclass_fields__)]
        for step in range(120):
            out = sim.step([policy(step, seed, mask) for seed, mask in zip(seeds, out.mask)], out)
            said.append(b"".join(getattr(out, name).tobytes() for name in Arrays.__dataclass_fields__))
        events = sim.take_events()
        assert len(sim.take_events().env) == 0
        return said, events


@pytest.mark.parametrize("kube_queue", [False, True])
def test_same_seeds_and_actions_give_the_same_bytes(world, kube_queue):
    snapshot, pods = world
    seeds = list(range(6))
    options = {"kube_queue": kube_queue, "preemption": kube_queue}
    one, events = recorded(snapshot, pods, 6, seeds, threads=1, **options)
    assert recorded(snapshot, pods, 6, seeds, threads=6, **options)[0] == one == recorded(snapshot, pods, 6, seeds, **options)[0]
    assert recorded(snapshot, pods, 6, [9, 1, 2, 3, 4, 5], **options)[0] != one
    alone = recorded(snapshot, pods, 1, [3], **options)[1]
    mine = events.env == 3  # what is beside an environment changes nothing
    for name in ("time", "kind", "pod", "node"):
        assert getattr(events, name)[mine].tolist() == getattr(alone, name).tolist()


def test_events_are_columns(world):
    snapshot, pods = world
    events = recorded(snapshot, pods, 2, [1, 2])[1]
    kinds = set(events.kind.tolist())
    assert {Event.SUBMITTED, Event.PLACED, Event.SET_ASIDE, Event.FINISHED} <= kinds
    for e in range(2):
        assert (np.diff(events.time[events.env == e]) >= 0).all()
    placed = events.kind == Event.PLACED
    assert (events.node[placed] >= 0).all() and (events.node[~placed] == -1).all()
    pandas = pytest.importorskip("pandas")
    frame = events.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame["kind"].iloc[0] == "submitted"


def test_some_environments_are_reset_alone(world):
    snapshot, pods = world
    with berth.Sim(snapshot, pods, 2) as sim:
        out = sim.reset([1, 2])
        for _ in range(5):
            out = sim.step([SCHEDULE, SCHEDULE], out)
        rows = out.mask[1].copy(), out.pod[1], out.placed[1]
        first = out.placed[0]
        sim.reset([7, 7], out, which=[True, False])
        assert out.placed[0] == 0 < first and out.pod[1] == rows[1] and out.placed[1] == rows[2]
        assert out.mask[1].tolist() == rows[0].tolist() and out.time[0] == 0.0


def test_an_episode_that_is_over_stays_so(world):
    snapshot, pods = world
    with berth.Sim(snapshot, pods[:2], 1, shuffle=False) as sim, berth.Sim(snapshot, [], 1) as empty:
        out = sim.reset(0)
        out = sim.step([SCHEDULE], out)
        out = sim.step([SET_ASIDE], out)
        assert out.done[0] == 1 and out.pod[0] == -1 and out.placed[0] == 1 and out.pending[0] == 1
        again = sim.step([0])
        assert again.done[0] == 1 and again.illegal[0] == 0 and not again.mask.any()
        assert empty.reset(0).done[0] == 1


@pytest.fixture
def crowded(threads):
    """Two nodes of 4 cpus, with two pods of 1 cpu that run there from the beginning, on n0."""
    with berth.Engine(threads=threads, engine_config=ENGINE_CONFIG) as engine, engine.cluster() as cluster:
        cluster.upsert_bulk([node("n0", 4), node("n1", 4)])
        cluster.upsert_bulk([pod(f"own{i}", 1, priority=1, nodeName="n0") for i in range(2)])
        with cluster.snapshot() as snapshot:
            yield snapshot


def pods_of(snapshot, *given):
    return snapshot.cluster.pods(pod(name, cpu, priority=priority) for name, cpu, priority in given)


def test_a_pod_that_fits_nowhere_evicts_those_that_kube_scheduler_would(crowded):
    pods = pods_of(crowded, ("low0", 2, 0), ("low1", 2, 0), ("low2", 2, 0), ("high", 4, 9))
    with berth.Sim(crowded, pods, 2, arrivals=[0, 0, 0, 1], durations=[9.0] * 4, shuffle=False, events=True, preemption=True) as sim:
        out = sim.reset(0)
        for _ in range(3):
            out = sim.step([SCHEDULE, SCHEDULE], out)
        assert out.placed.tolist() == [3, 3] and out.pod.tolist() == [3, 3] and not out.mask.any()
        out = sim.step([SET_ASIDE, SCHEDULE], out)  # n1 has two pods of priority 0, n0 one and two of priority 1
        assert out.evicted.tolist() == [2, 2] and out.pod.tolist() == [3, 3] and out.mask.tolist() == [[0, 1]] * 2
        assert out.pending.tolist() == [3, 3]  # the evicted ones wait again, behind it
        out = sim.step([1, SCHEDULE], out)
        assert out.node.tolist() == [1, 1] and out.placed.tolist() == [4, 4]
        while not out.done.all():
            out = sim.step([SCHEDULE, SCHEDULE], out)
        assert out.placed.tolist() == [6, 6] and out.evicted.tolist() == [2, 2] and out.pending.tolist() == [0, 0]
        events = sim.take_events()
        evicted = events.kind == Event.EVICTED
        assert sorted(events.pod[evicted & (events.env == 0)].tolist()) == [0, 2]
        assert events.node[evicted].tolist() == [1] * 4 and set(events.time[evicted].tolist()) == {1.0}
        ended = events.time[(events.kind == Event.FINISHED) & (events.env == 1)]
        assert len(ended) == 4  # what was evicted runs from its beginning, and its first ending is void
    for each in pods:
        each.close()


def test_pods_of_the_snapshot_that_are_evicted_are_gone(crowded):
    pods = pods_of(crowded, ("first", 3, 5), ("second", 4, 9))
    with berth.Sim(crowded, pods, 1, shuffle=False, events=True, preemption=True) as sim:
        out = sim.reset(0)
        assert out.pod.tolist() == [1]  # the higher priority
        out = sim.step([1], out)
        assert out.node[0] == 1 and not out.mask.any()
        out = sim.step([SCHEDULE], out)
        assert out.evicted[0] == 1 and out.pending[0] == 1 and out.mask[0].tolist() == [1, 0]
        out = sim.step([SCHEDULE], out)
        assert out.node[0] == 0 and out.done[0] == 1 and out.placed[0] == 2
        events = sim.take_events()
        assert events.pod[events.kind == Event.EVICTED].tolist() == [-1]
        again = sim.reset(0)
        assert again.evicted[0] == 0 and again.mask[0].tolist() == [0, 1]
    with berth.Sim(crowded, pods, 1, shuffle=False) as without:
        out = without.reset(0)
        out = without.step([1], out)
        out = without.step([SCHEDULE], out)
        assert out.evicted[0] == 0 and out.pending[0] == 1 and out.done[0] == 1
    for each in pods:
        each.close()


def test_a_clock_that_advances_decides_as_kube_scheduler(world):
    snapshot, pods = world
    arrivals, durations = times(3)
    options = {"arrivals": arrivals, "durations": durations, "events": True, "resources": "cpu"}
    with berth.Sim(snapshot, pods, 2, **options) as stepped, berth.Sim(snapshot, pods, 2, **options) as advanced:
        out = stepped.reset(5)
        while not out.done.all():
            out = stepped.step([SCHEDULE, SCHEDULE], out)
        other = advanced.reset(5)
        for until in (0.5, 7.0, 7.0, 33.0, stepped.horizon):
            other = advanced.advance(until, other)
            assert other.pod.tolist() == [-1, -1] and (other.time == until).all()
        assert other.done.all() and other.placed.tolist() == out.placed.tolist()
        for one, two in zip(*(sorted(zip(e.env, e.time, e.kind, e.pod, e.node)) for e in (advanced.take_events(), stepped.take_events()))):
            assert one == two
        with pytest.raises(ValueError):
            advanced.advance(float("inf"))


def test_a_refused_pod_waits_for_what_its_plugins_say_and_for_its_backoff(crowded):
    pods = pods_of(crowded, ("first", 4, 0), ("second", 3, 0), ("last", 1, 0))
    with berth.Sim(crowded, pods, 1, arrivals=[0, 0, 20], durations=[2.5, 5.0, 1.0], shuffle=False, events=True,
                   kube_queue=True) as sim:
        out = sim.reset(0)
        out = sim.step([SCHEDULE], out)
        assert out.node[0] == 1 and out.pod[0] == 1 and not out.mask.any()
        out = sim.step([SCHEDULE], out)
        assert out.pending[0] == 1 and out.pod[0] == 1 and out.time[0] == 2.5  # `first` has ended, and so has the backoff
        out = sim.step([SET_ASIDE], out)  # a node takes it: an error of kube-scheduler, which backs off for a second
        assert out.pod[0] == 1 and 3.5 <= out.time[0] <= 4.5
        out = sim.step([SCHEDULE], out)
        assert out.node[0] == 1 and out.pod[0] == 2 and out.time[0] == 20
        out = sim.step([SCHEDULE], out)
        assert out.done[0] == 1 and out.placed[0] == 3 and out.pending[0] == 0
        kinds = sim.take_events().kind.tolist()
        assert kinds.count(Event.SET_ASIDE) == 2 and kinds.count(Event.FINISHED) == 3
    for each in pods:
        each.close()


def test_an_episode_with_pods_that_nothing_helps_ends(crowded):
    gated = crowded.cluster.pod(pod("gated", 1, schedulingGates=[{"name": "later"}]))
    pods = (*pods_of(crowded, ("big", 9, 0), ("small", 1, 0)), gated)
    with berth.Sim(crowded, pods, 1, arrivals=[0, 0, 0], durations=[1.0, 700.0, 1.0], shuffle=False, events=True,
                   kube_queue=True) as sim:
        out = sim.reset(0)
        tried = 0
        while not out.done[0]:
            tried += out.pod[0] == 0
            out = sim.step([SCHEDULE], out)
        assert out.placed[0] == 1 and out.pending[0] == 2 and out.pod[0] == -1
        assert tried >= 3  # at once, after each five minutes, and when `small` had ended
        out = sim.advance(2000.0, out)
        assert out.placed[0] == 1 and out.pending[0] == 2 and out.time[0] == 2000 and out.pod[0] == -1
    for each in pods:
        each.close()


def test_a_clock_with_kube_schedulers_queue_decides_as_the_steps(world):
    snapshot, pods = world
    arrivals, durations = times(4)
    options = {"arrivals": arrivals, "durations": durations, "events": True, "kube_queue": True}
    with berth.Sim(snapshot, pods, 2, **options) as stepped, berth.Sim(snapshot, pods, 2, **options) as advanced:
        assert stepped.horizon == float("inf")
        out = stepped.reset(5)
        while not out.done.all():
            out = stepped.step([SCHEDULE, SCHEDULE], out)
        other = advanced.reset(5)
        for until in (5.0, 7.0, 7.0, 33.0, float(out.time.max())):
            other = advanced.advance(until, other)
            assert other.pod.tolist() == [-1, -1] and (other.time == until).all()
        steps, all_of = stepped.take_events(), advanced.take_events()
        assert (steps.kind == Event.SET_ASIDE).any() and (steps.kind == Event.PLACED).sum() > PODS
        for env in range(2):
            one, two = ([each[1:] for each in zip(e.env, e.time, e.kind, e.pod, e.node) if each[0] == env] for e in (steps, all_of))
            assert one == two[: len(one)]


def test_pods_are_submitted(crowded):
    pods = pods_of(crowded, ("a", 1, 0), ("b", 3, 0), ("c", 1, 0))
    never = float("inf")
    with berth.Sim(crowded, pods, 2, arrivals=[3, never, never], durations=[2.0, 5.0, never], shuffle=False) as sim:
        with pytest.raises(berth.StateError):
            sim.submit([1])
        out = sim.reset(0)
        assert out.pod.tolist() == [0, 0] and out.time.tolist() == [3.0, 3.0]
        out = sim.submit([1, 2], out, which=[True, False])
        assert out.pending.tolist() == [3, 1]
        for bad in ([1], [0]):
            with pytest.raises(berth.ExistsError):
                sim.submit(bad)
        for bad in ([3], [-1], [2, 2]):
            with pytest.raises(ValueError):
                sim.submit(bad)
        out = sim.advance(4.0, out)
        assert out.placed.tolist() == [3, 1] and out.done.tolist() == [0, 0] and out.pending.tolist() == [0, 0]
        out = sim.advance(5.0, out)
        assert out.done.tolist() == [0, 1]
        out = sim.submit(0, out)
        assert out.pending.tolist() == [1, 1] and out.time.tolist() == [5.0, 5.0]
        out = sim.advance(20.0, out, which=[False, True])
        assert out.time.tolist() == [5.0, 20.0] and out.placed.tolist() == [3, 2]
    for each in pods:
        each.close()


def test_wrong_arguments_are_errors(world):
    snapshot, pods = world
    for bad in ({"arrivals": [1.0]}, {"arrivals": [1.0] * (PODS - 1) + [0.0]}, {"durations": [0.0] * PODS},
                {"arrivals": [float("nan")] * PODS}, {"arrivals": [float("inf")] + [0.0] * (PODS - 1)}, {"durations": [-1.0] * PODS}):
        with pytest.raises(ValueError):
            berth.Sim(snapshot, pods, 1, **bad)
    with pytest.raises(ValueError):
        berth.Sim(snapshot, pods, 0)
    with pytest.raises(ValueError, match="uid"):
        berth.Sim(snapshot, [pods[0], pods[0]], 1)
    with berth.Sim(snapshot, pods, 2) as sim:
        with pytest.raises(berth.StateError):
            sim.step([0, 0])
        out = sim.reset([0, 1])
        for call in (lambda: sim.step([0]), lambda: sim.reset([1]), lambda: sim.step([0, 0], Arrays.of(1, 9)),
                     lambda: sim.step([0, 0], Arrays.of(2, 8)), lambda: sim.step([0, 0], Arrays.of(2, 9, 1)), lambda: sim.reset([1, 2], which=[1])):
            with pytest.raises(ValueError):
                call()
        read_only = sim.arrays()
        read_only.mask.flags.writeable = False
        other = Arrays(*[np.zeros(2, dtype=np.int16) if name == "pod" else getattr(out, name) for name in Arrays.__dataclass_fields__])
        for bad in (read_only, other):
            with pytest.raises((TypeError, RuntimeError, ValueError)):
                sim.step([0, 0], bad)
        with pytest.raises(TypeError):
            pickle.dumps(sim)
    for call in (lambda: sim.reset([0, 1]), lambda: sim.step([0, 0]), sim.take_events):
        with pytest.raises(berth.ClosedError, match="sim"):
            call()
    assert sim.closed


def test_pods_of_a_sim_live_as_long_as_it(world):
    snapshot, pods = world
    with snapshot.cluster.pod(pod("q", 1)) as q:
        sim = berth.Sim(snapshot, [q], 4)
    assert sim.reset(0).pod.tolist() == [0] * 4 and q.closed
    assert berth.open_handles()["fork"] == 4
    assert len(pods) == PODS
    del sim
    gc.collect()
    assert berth.open_handles()["fork"] == 0

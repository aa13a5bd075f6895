# SPDX-License-Identifier: Apache-2.0
"""Handles: closing, copying, threads, child processes, deadlines, tokens and the log."""

import copy
import datetime
import logging
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest
from world import ENGINE_CONFIG, NODES, node, pod

import berth


def many_nodes(count):
    return [node(f"n{i}", 4, labels={"zone": f"z{i % 3}"}) for i in range(count)]


@pytest.fixture
def large():
    """A cluster in which a call takes some time, and pods of many classes."""
    with berth.Engine(threads=2, engine_config=ENGINE_CONFIG) as engine, engine.cluster() as cluster:
        cluster.upsert_bulk(many_nodes(2000))
        pods = cluster.pods(pod(f"p{i}", 1, labels={"app": f"a{i % 500}"}) for i in range(3000))
        with cluster.snapshot() as snapshot:
            yield snapshot, pods
        for each in pods:  # pytest keeps the list
            each.close()


def test_closed_handles_are_errors(engine):
    cluster = engine.load(NODES)
    p, nodes, token = cluster.pod(pod("p", 1)), cluster.node_set(["a"]), berth.CancelToken()
    snapshot = cluster.snapshot()
    fork = snapshot.fork()
    for handle in (p, nodes, token, cluster, snapshot, fork):
        assert not handle.closed
    token.close()
    nodes.close()
    with pytest.raises(berth.ClosedError, match="node set"):
        snapshot.check_bulk(p, nodes)
    with pytest.raises(berth.ClosedError, match="cancel"):
        snapshot.check_bulk(p, cancel=token)
    cluster.close()
    for call in (lambda: cluster.version, lambda: cluster.upsert(NODES[0]), cluster.snapshot, lambda: cluster.pod({}),
                 lambda: cluster.node_names([0]), lambda: cluster.reserve("o", p, 1), cluster.__enter__):
        with pytest.raises(berth.ClosedError, match="cluster"):
            call()
    assert snapshot.check(p, "a") and fork.node_names() == ["a", "b", "c"]  # a handle keeps what it was made of
    p.close()
    with pytest.raises(berth.ClosedError, match="pod"):
        fork.schedule(p)
    with pytest.raises(berth.ClosedError):
        p.uid
    snapshot.close()
    with pytest.raises(berth.ClosedError, match="snapshot"):
        snapshot.fork()
    fork.close()
    for call in (fork.fork, fork.revert, fork.commit, fork.nodes, fork.node_names, lambda: fork.drain("a")):
        with pytest.raises(berth.ClosedError, match="fork"):
            call()
    for handle in (p, nodes, token, cluster, snapshot, fork):
        assert handle.closed
        handle.close()
    engine.close()
    with pytest.raises(berth.ClosedError, match="engine"):
        engine.cluster()
    assert "closed" in repr(cluster) and "closed" in repr(snapshot) and "closed" in repr(fork)


@pytest.mark.filterwarnings("ignore:nanobind")
def test_an_object_without_init_is_an_error():
    class Mine(berth.Engine):
        def __init__(self):
            pass

    with pytest.raises((TypeError, RuntimeError)):
        Mine().cluster()


def test_copies_and_pickles(cluster, snapshot):
    p, nodes, token = cluster.pod(pod("p", 3)), cluster.node_set(["a"]), berth.CancelToken()
    for handle in (p, nodes, token, snapshot, cluster.engine):
        assert copy.copy(handle) is handle and copy.deepcopy(handle) is handle
    with snapshot.fork() as fork:
        for handle in (cluster, fork):
            with pytest.raises(TypeError):
                copy.copy(handle)
            with pytest.raises(TypeError):
                copy.deepcopy(handle)
        for handle in (p, nodes, token, cluster, fork):
            with pytest.raises(TypeError, match="pickle"):
                pickle.dumps(handle)


def test_a_pickled_snapshot_answers_as_before(cluster, snapshot, tmp_path):
    opened = [pickle.loads(pickle.dumps(snapshot)), cluster.engine.open(snapshot.to_bytes())]
    snapshot.write(tmp_path / "snapshot")
    opened.append(cluster.engine.open(tmp_path / "snapshot"))
    for other in opened:
        q = other.cluster.pod(pod("p", 3))
        assert other.version == snapshot.version and other.node_names() == ["a", "b", "c"]
        assert other.check(q, "a") and not other.check(q, "c") and other.cluster.backend == cluster.backend
        with pytest.raises(berth.ArgumentError):
            snapshot.check(q, "a")  # a pod of another cluster
        other.close()
        other.cluster.close()
    with pytest.raises(berth.InputError):
        cluster.engine.open(b"nothing")
    with pytest.raises(berth.InputError):
        cluster.engine.open(tmp_path / "none")
    with pytest.raises(berth.InputError):
        snapshot.write(tmp_path / "no" / "such")


def test_a_snapshot_is_opened_in_another_process(cluster, snapshot):
    code = ("import pickle, sys\ns = pickle.load(sys.stdin.buffer)\n"
            "print(s.version, s.node_names(), s.cluster.backend)\n")
    out = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(snapshot), capture_output=True, check=True)
    assert out.stdout.decode().strip() == f"{snapshot.version} ['a', 'b', 'c'] {cluster.backend}"


def test_errors_have_all_fields_and_are_pickled(snapshot):
    with pytest.raises(berth.NotFoundError) as raised:
        snapshot.node_number("zz")
    error = raised.value
    assert (error.status, error.name, error.object) == (-5, "BERTH_E_NOT_FOUND", "Node zz") and error.text
    assert isinstance(error, (berth.Error, LookupError)) and str(error) == f"{error.object}: {error.text}"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and (again.object, again.text, again.status) == (error.object, error.text, -5)


def test_snapshots_are_read_by_many_threads(large):
    snapshot, pods = large
    expected = snapshot.check_bulk(pods[:20]).fits.numpy().tobytes()
    found = []

    def read():
        for _ in range(20):
            found.append(snapshot.check_bulk(pods[:20]).fits.numpy().tobytes() == expected)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def in_call(call, started=0.02):
    """A thread that is in the call, and what becomes of it."""
    out = []

    def target():
        try:
            out.append(call())
        except BaseException as error:
            out.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    time.sleep(started)
    return thread, out


def test_other_threads_run_meanwhile_and_a_second_one_in_a_fork_is_busy(large):
    snapshot, pods = large
    with snapshot.fork() as fork:
        def schedule():
            while True:  # the other thread may be in the fork at the beginning
                try:
                    return fork.schedule(pods)
                except berth.BusyError:
                    pass

        thread, out = in_call(schedule, started=0)
        busy = turns = 0
        while thread.is_alive():
            turns += 1
            try:
                fork.node_of("uid-p0")
            except berth.BusyError:
                busy += 1
        assert turns > 1 and busy > 0  # the GIL is not held by the call
        assert out[0].placed == len(pods)


def test_closing_during_a_call_waits_for_nobody_and_breaks_nothing(large):
    snapshot, pods = large
    fork = snapshot.fork()
    thread, out = in_call(lambda: fork.schedule(pods))
    fork.close()
    with pytest.raises(berth.ClosedError):
        fork.check(pods[0], 0)
    thread.join()
    assert out[0].placed == len(pods)


def test_deadline_gives_a_prefix(large):
    snapshot, pods = large
    with snapshot.fork() as fork, snapshot.fork() as whole:
        late = fork.schedule(pods, deadline=datetime.timedelta(microseconds=1))
        assert late.status is berth.Status.DEADLINE and not late.complete and 1 <= len(late.node) < len(pods)
        assert whole.schedule(pods).node.tolist()[:len(late.node)] == late.node.tolist()
    checked = snapshot.check_bulk(pods, deadline=1e-6)
    assert checked.status is berth.Status.DEADLINE and checked.fits.shape == (len(checked.judged), 2000)
    assert len(checked.to_pandas()) == checked.fits.numpy().size
    for bad in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="deadline"):
            snapshot.check_bulk(pods, deadline=bad)


def test_token_cancels_from_another_thread(large):
    snapshot, pods = large
    with snapshot.fork() as fork, berth.CancelToken() as token:
        thread, out = in_call(lambda: fork.schedule(pods, cancel=token), started=0.01)
        token.trigger()
        thread.join()
        assert token.triggered and out[0].status in (berth.Status.CANCELLED, berth.Status.OK)
    with berth.CancelToken() as token:
        token.trigger()
        for call in (lambda: snapshot.check_bulk(pods, cancel=token), lambda: snapshot.max_replicas(pods, cancel=token),
                     lambda: snapshot.drain(range(2000), cancel=token),
                     lambda: snapshot.estimate(pods, berth.Shape(copy_of=0), cancel=token)):
            assert call().status is berth.Status.CANCELLED
        token.reset()
        assert not token.triggered and snapshot.check_bulk(pods[:3], cancel=token).complete


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork()")
def test_a_child_process_gets_an_error(cluster, snapshot):
    p = cluster.pod(pod("p", 1))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            try:
                snapshot.check(p, 0)
            except berth.ForkedError:
                status = 0
            snapshot.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert snapshot.check(p, 0)


def warn(cluster):
    """A call that logs a warning: an API server would refuse the pod."""
    bad = pod("w", 1, nodeName="a")
    bad["metadata"]["labels"] = {"not a label key!": "x"}
    cluster.upsert(bad)


def test_log_goes_to_a_function_and_to_a_logger(caplog):
    said = []
    with berth.Engine(log=lambda level, text: said.append((level, text)), log_level=berth.LogLevel.INFO) as engine:
        with engine.load(NODES) as cluster:
            warn(cluster)
    assert any(level is berth.LogLevel.WARNING for level, _ in said)
    with berth.Engine(log=logging.getLogger("berth.test")) as engine, engine.load(NODES) as cluster:
        warn(cluster)
    assert any(record.name == "berth.test" and record.levelno == logging.WARNING for record in caplog.records)
    with pytest.raises(TypeError):
        berth.Engine(log=7)


def test_an_exception_of_the_log_comes_out_of_the_call():
    class Mine(Exception):
        pass

    calls = []

    def log(level, text):
        calls.append(text)
        raise Mine(text)

    with berth.Engine(log=log) as engine, engine.load(NODES) as cluster:
        with pytest.raises(Mine) as raised:
            warn(cluster)
        assert calls and raised.value.args == (calls[0],)
        assert any(entry.name == "log" for entry in raised.traceback)
        with cluster.snapshot() as snapshot, cluster.pod(pod("p", 3)) as p:
            assert snapshot.check(p, "a")  # what the call did stands, and no exception is left over


def test_a_call_of_the_log_into_its_engine_is_refused():
    found = []

    def log(level, text):
        try:
            cluster.version
        except berth.ReentryError as error:
            found.append(error.name)

    with berth.Engine(log=log) as engine, engine.load(NODES) as cluster:
        warn(cluster)
    assert found and set(found) == {"BERTH_E_REENTRY"}


def test_memory_of_handles_and_the_cap_of_an_engine():
    with berth.Engine(engine_config=ENGINE_CONFIG, max_memory_bytes=1 << 30) as engine, engine.cluster() as cluster:
        before = engine.memory_bytes
        cluster.load(NODES)
        with cluster.pod(pod("p", 1)) as p, cluster.snapshot() as snapshot, snapshot.fork() as fork, \
                cluster.node_set(["a"]) as nodes, snapshot.check_bulk(p) as result:
            for handle in (cluster, p, snapshot, fork, nodes, result):
                assert handle.memory_bytes > 0
            assert engine.memory_bytes > before
        with pytest.raises(berth.ClosedError):
            p.memory_bytes
    with berth.Engine(max_memory_bytes=1) as small, small.cluster() as one:
        one.upsert(NODES[0])  # one call may pass the cap
        with pytest.raises(berth.OutOfMemoryError):
            one.snapshot()
        assert pickle.loads(pickle.dumps(small)).cluster().memory_bytes >= 0
    with berth.Engine() as uncapped, pytest.raises(berth.StateError):
        uncapped.memory_bytes

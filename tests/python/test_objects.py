# SPDX-License-Identifier: Apache-2.0
"""How objects come into a cluster."""

import gzip
import json

import pytest
from world import NODES, node, pod

import berth


def names(cluster):
    with cluster.snapshot() as snapshot:
        return snapshot.node_names()


def test_load_takes_dicts_texts_and_paths(engine, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "one.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": NODES[:1]}))
    (tmp_path / "sub" / "two.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata:\n  name: why\n")
    (tmp_path / "sub" / "three.json.gz").write_bytes(gzip.compress(json.dumps(node("z", 1)).encode()))
    (tmp_path / "notes.txt").write_text("no manifest")
    with engine.cluster() as cluster:
        assert cluster.load(tmp_path, NODES[1], [NODES[2], json.dumps(node("d", 1))]) is cluster
        assert sorted(names(cluster)) == ["a", "b", "c", "d", "why", "z"]
    with engine.load(str(tmp_path / "one.json"), json.dumps(node("d", 1)).encode()) as cluster:
        assert names(cluster) == ["a", "d"]
    with engine.load("apiVersion: v1\nkind: Node\nmetadata:\n  name: text\n") as cluster:
        assert names(cluster) == ["text"]


def test_load_of_packed_files_needs_zstandard_or_reads_them(engine, tmp_path):
    path = tmp_path / "nodes.json.zst"
    try:
        import zstandard
    except ImportError:
        path.write_bytes(b"\x28\xb5\x2f\xfd rest")
        with engine.cluster() as cluster, pytest.raises(ModuleNotFoundError, match="zstandard"):
            cluster.load(path)
        return
    path.write_bytes(zstandard.ZstdCompressor().compress(json.dumps(NODES[0]).encode()))
    with engine.load(path) as cluster:
        assert names(cluster) == ["a"]


def test_load_is_all_or_nothing(engine):
    with engine.cluster() as cluster:
        with pytest.raises(berth.InputError) as raised:
            cluster.load(NODES[0], {"kind": "Node", "apiVersion": "v1", "metadata": {}})
        assert raised.value.name == "BERTH_E_INPUT" and raised.value.status == -3 and raised.value.text
        assert isinstance(raised.value, ValueError)
        assert names(cluster) == [] and cluster.version == 0
        with pytest.raises(FileNotFoundError):
            cluster.load("no-such-file.json")
        with pytest.raises(TypeError, match="int"):
            cluster.load(7)
    with pytest.raises(berth.InputError):
        engine.load("{")


def test_folder_without_manifests_is_an_error(engine, tmp_path):
    with engine.cluster() as cluster, pytest.raises(FileNotFoundError, match="no file"):
        cluster.load(tmp_path)


def test_upsert_each_refuses_bad_objects_alone(cluster):
    report = cluster.upsert_each([node("d", 1), {"kind": "Node", "apiVersion": "v1", "metadata": {}},
                                  {"kind": "Unknown", "apiVersion": "x/v1", "metadata": {"name": "u"}}])
    assert report.statuses[0] is berth.Status.OK and report.statuses[2] is berth.Status.IGNORED
    assert report.refused == [1] and isinstance(report.error, berth.InputError)
    assert names(cluster) == ["a", "b", "c", "d"]
    assert cluster.upsert_each([]).error is None


def test_upsert_bulk_refuses_all(cluster):
    with pytest.raises(berth.InputError):
        cluster.upsert_bulk([node("d", 1), {"kind": "Node", "apiVersion": "v1", "metadata": {}}])
    assert names(cluster) == ["a", "b", "c"]
    cluster.upsert_bulk([node("d", 1), json.dumps(node("e", 1))])
    assert names(cluster) == ["a", "b", "c", "d", "e"]


def test_replace_and_delete(cluster):
    version = cluster.version
    cluster.replace("Node", NODES[:2])
    assert names(cluster) == ["a", "b"] and cluster.version > version
    cluster.delete("Node", "b")
    with pytest.raises(berth.NotFoundError):
        cluster.delete("Node", "b")
    cluster.upsert(pod("p", 1, nodeName="a"))
    cluster.delete("Pod", uid="uid-p")
    with pytest.raises(berth.NotFoundError):
        cluster.delete("Pod", "p", "default")
    cluster.replace("Node")
    assert names(cluster) == []


def test_assume_and_forget(cluster):
    p = cluster.pod(pod("p", 3))
    cluster.assume(p, "a")
    with pytest.raises(berth.ExistsError):
        cluster.assume(p, "c")
    with cluster.snapshot() as snapshot, cluster.pod(pod("q", 3)) as q:
        assert not snapshot.check(q, "a")
    cluster.forget(p)
    with pytest.raises(berth.NotFoundError):
        cluster.forget(p)
    with pytest.raises(berth.NotFoundError):
        cluster.assume(p, "nowhere")


def test_pods_are_prepared_in_bulk_or_not_at_all(cluster):
    pods = cluster.pods([pod("p", 1), json.dumps(pod("q", 1))])
    assert [each.uid for each in pods] == ["uid-p", "uid-q"]
    assert isinstance(pods[0].pod_class, int)
    assert pods[0].is_node_local is (cluster.backend != "reference")
    assert pods[0].priority == 0
    with pytest.raises(berth.InputError):
        cluster.pods([pod("p", 1), {"kind": "Pod"}])
    with pytest.raises(TypeError):
        cluster.pod(None)
    with pytest.raises(berth.ArgumentError):
        cluster.pod(pod("p", 1), ignore=berth.Ignore.PLUGINS)


def test_nodes_have_numbers(cluster):
    assert cluster.node_number("c") == 2 and cluster.node_name(2) == "c"
    assert cluster.node_names([0, 2, berth.NO_NODE]) == ["a", "c", None]
    with pytest.raises(berth.NotFoundError):
        cluster.node_number("zz")
    with pytest.raises(berth.NotFoundError):
        cluster.node_name(99)


def test_engine_of_configuration_files(tmp_path):
    scheduler = tmp_path / "scheduler.yaml"
    scheduler.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                         "profiles:\n- schedulerName: mine\n")
    with berth.Engine.from_config(scheduler, threads=1) as engine, engine.load(NODES) as cluster:
        mine, other = cluster.pods([pod("m", 1, schedulerName="mine"), pod("o", 1)])
        with cluster.snapshot() as snapshot:
            assert snapshot.check(mine, "a") and not snapshot.check(other, "a")
    scheduler.write_text("kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1\nnothing: 1\n")
    with pytest.raises(berth.InputError, match="nothing") as raised:
        berth.Engine.from_config(scheduler)
    assert raised.value.__notes__ == [f"the configuration was read from {scheduler}"]
    with pytest.raises(OSError):
        berth.Engine.from_config(tmp_path / "none.yaml")
    with pytest.raises(ValueError, match="text or as a file"):
        berth.Engine.from_config(scheduler, scheduler_config="x")
    with pytest.raises(berth.InputError):
        berth.Engine(release="1.12")
    with pytest.raises(berth.InputError, match="Coscheduling"):
        berth.Engine(ignored_plugins=["Coscheduling"])


def test_loads_are_stopped_and_change_nothing(tmp_path):
    with berth.Engine() as engine, engine.cluster() as cluster, berth.CancelToken() as token:
        cluster.upsert(node("a", 4))
        version = cluster.version
        token.trigger()
        calls = [
            lambda **until: cluster.load(node("b", 4), **until),
            lambda **until: cluster.upsert(node("b", 4), **until),
            lambda **until: cluster.upsert_bulk([node("b", 4)], **until),
            lambda **until: cluster.upsert_each([node("b", 4)], **until),
            lambda **until: cluster.replace("Node", node("b", 4), **until),
            lambda **until: cluster.pods([pod("p", 1)], **until),
        ]
        with cluster.snapshot() as snapshot:
            data = snapshot.to_bytes()
            path = tmp_path / "snapshot"
            calls += [
                lambda **until: snapshot.to_bytes(**until),
                lambda **until: snapshot.write(path, **until),
                lambda **until: engine.open(data, **until),
            ]
            for call in calls:
                with pytest.raises(berth.StoppedError) as stopped:
                    call(cancel=token)
                assert stopped.value.status == berth.Status.CANCELLED and str(stopped.value)
                with pytest.raises(ValueError):
                    call(deadline=0)
            with pytest.raises(TimeoutError) as late:
                engine.open(data, deadline=1e-6)
            assert isinstance(late.value, berth.LateError) and late.value.status == berth.Status.DEADLINE
            assert cluster.version == version and not path.exists()
            token.reset()
            for call in calls:
                made = call(cancel=token, deadline=60.0)
                for each in made if isinstance(made, list) else [made]:
                    if isinstance(each, berth.Snapshot):
                        each.cluster.close()
                    if isinstance(each, (berth.Snapshot, berth.Pod)):
                        each.close()

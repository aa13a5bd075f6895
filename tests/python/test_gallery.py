# SPDX-License-Identifier: Apache-2.0
"""The gallery, examples/python, on small clusters."""

import importlib
import subprocess
import sys
import warnings

import pytest
from test_docs import write_inputs
from world import pod


def run(source, name, *arguments, cwd):
    done = subprocess.run([sys.executable, str(source / "examples/python" / name), *arguments], cwd=cwd, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_utilisation_is_drawn(source, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    write_inputs(tmp_path)
    said = run(source, "utilisation.py", "cluster.json", "-o", "picture.png", cwd=tmp_path)
    # 3 of 12 nodes have 3 of 4 cpus in use before; two pods of 2 cpus come.
    assert said == "2 of 3 pods placed; cpu 19% before and 27% after\n"
    assert image.imread(tmp_path / "picture.png").std() > 0.1


@pytest.fixture
def gallery(source, monkeypatch):
    """Imports a program of the gallery as a module."""
    monkeypatch.syspath_prepend(str(source / "examples/python"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module


def test_environment_passes_gymnasiums_checker(gallery, cluster, snapshot):
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    pods = cluster.pods(pod(f"p{i}", 1) for i in range(6))
    env = gallery("placement_env").PlacementEnv(snapshot, pods, durations=[3.0] * 6, arrivals=range(6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what the checker finds amiss, it warns of
        check_env(env, skip_render_check=True)
    env.close()


def test_vector_environment_keeps_its_contract(gallery, cluster, snapshot):
    pytest.importorskip("gymnasium")
    pods = cluster.pods(pod(f"p{i}", 1) for i in range(6))
    env = gallery("placement_env").PlacementVectorEnv(snapshot, pods, 3)
    observed, info = env.reset(seed=5)
    assert observed in env.observation_space and set(info) == {"placed", "node", "illegal"}
    again, _ = env.reset(seed=5)
    assert all((observed[name] == again[name]).all() for name in observed)
    overs = 0
    env.action_space.seed(1)
    for _ in range(40):
        actions = env.action_space.sample()
        legal = observed["mask"][range(3), actions]
        over = observed["pod"][:, 0] < 0
        observed, reward, terminated, truncated, info = env.step(actions)
        assert observed in env.observation_space and not truncated.any() and reward.shape == terminated.shape == (3,)
        for e in range(3):
            assert reward[e] == (0 if over[e] else 1 if legal[e] else -1)
            if over[e]:
                assert info["placed"][e] == 0 and observed["time"][e] == 0 and not terminated[e]
        overs += terminated.sum()
    assert overs > 3
    env.close()
    assert env.sim.closed


def test_policies_are_played(source, tmp_path):
    pytest.importorskip("gymnasium")
    write_inputs(tmp_path)
    # Two of the three pods fit somewhere; the first node of an empty mask is illegal.
    assert run(source, "placement_env.py", "cluster.json", cwd=tmp_path).splitlines() == [
        "the first node that takes the pod: 1.0", "kube-scheduler: 2.0"]


def test_sweep_over_workers_of_ray(source, tmp_path):
    pytest.importorskip("ray.util")  # a folder of the name is no package
    write_inputs(tmp_path)
    said = run(source, "ray_sweep.py", "cluster.json", "--scenarios", "4", "--compare", cwd=tmp_path).splitlines()
    # The pod that is too large for the cluster needs a new node for itself, and the two others like empty nodes, too.
    assert said[0] == "[2, 2, 2, 3]" and [line.split(":")[0] for line in said[2:]] == [
        "1 workers", "2 workers", "1 threads", "2 threads"]

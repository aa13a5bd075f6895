#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Placing pods as a Gymnasium environment: berth.Sim as a VectorEnv, and one of its environments as an Env.

    placement_env.py cluster.json      plays two policies against each other

An action is the position of a node. The observation has the mask of nodes that take the pod, the pod, the clock and how many
pods are pending. The reward is 1 for a pod that is placed, and -1 for an action that names a node that does not take it.
"""

import json
import sys

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

import berth
from berth.sim import SCHEDULE


class PlacementVectorEnv(VectorEnv):
    """A Sim of `num_envs` episodes. An environment that is over begins again with its next step."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(self, snapshot, pods, num_envs, **options):
        self.sim = berth.Sim(snapshot, pods, num_envs, **options)
        self.num_envs = num_envs
        self._out = self.sim.arrays()
        self._seeds = np.arange(num_envs, dtype=np.uint64)
        nodes, count = len(self.sim.nodes), len(self.sim.pods)
        self.single_action_space = spaces.Discrete(nodes)
        self.single_observation_space = spaces.Dict({
            "mask": spaces.MultiBinary(nodes),
            "pod": spaces.Box(-1, count - 1, (1,), np.int32),
            "pending": spaces.Box(0, count, (1,), np.int32),
            "time": spaces.Box(0, self.sim.horizon + 1, (1,), np.float64),
        })
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)

    def _observed(self):
        out = self._out  # copies: the arrays are written again by the next step
        return {"mask": out.mask.astype(np.int8), "pod": out.pod[:, None].copy(), "pending": out.pending[:, None].copy(),
                "time": out.time[:, None].copy()}

    def _info(self):
        return {"placed": self._out.placed.copy(), "node": self._out.node.copy(), "illegal": self._out.illegal.astype(bool)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self._seeds = np.asarray(seed if isinstance(seed, (list, tuple)) else range(seed, seed + self.num_envs), dtype=np.uint64)
        self.sim.reset(self._seeds, self._out)
        return self._observed(), self._info()

    def step(self, actions):
        over = self._out.done.copy()
        self.sim.step(actions, self._out)
        if over.any():
            self._seeds[over != 0] += self.num_envs
            self.sim.reset(self._seeds, self._out, which=over)
        reward = np.where(over, 0.0, (self._out.node >= 0) * 1.0 - self._out.illegal)
        return self._observed(), reward, self._out.done.astype(bool), np.zeros(self.num_envs, dtype=bool), self._info()

    def close_extras(self, **kwargs):
        self.sim.close()


class PlacementEnv(gymnasium.Env):
    """One environment, for tools that know no vectors."""

    metadata = {"render_modes": []}

    def __init__(self, snapshot, pods, **options):
        self._vector = PlacementVectorEnv(snapshot, pods, 1, **options)
        self.action_space = self._vector.single_action_space
        self.observation_space = self._vector.single_observation_space

    @staticmethod
    def _first(columns):
        return {name: column[0] for name, column in columns.items()}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31))
        observed, info = self._vector.reset(seed=drawn)
        return self._first(observed), self._first(info)

    def step(self, action):
        observed, reward, over, _, info = self._vector.step(np.array([action]))
        return self._first(observed), float(reward[0]), bool(over[0]), False, self._first(info)

    def close(self):
        self._vector.close()


def play(env, choose):
    """Mean return of an episode, over the environments."""
    observed, _ = env.reset(seed=1)
    total, running = np.zeros(env.num_envs), np.ones(env.num_envs, dtype=bool)
    while running.any():
        observed, reward, over, _, _ = env.step(choose(observed))
        total += reward * running
        running &= ~over
    return total.mean()


def main(path):
    with open(path, encoding="utf-8") as file:
        items = json.load(file)["items"]
    pending = [each for each in items if each["kind"] == "Pod" and not each["spec"].get("nodeName")]
    with berth.Engine() as engine, engine.load(path) as cluster, cluster.snapshot() as snapshot:
        env = PlacementVectorEnv(snapshot, cluster.pods(pending), 8)
        policies = {
            "the first node that takes the pod": lambda observed: observed["mask"].argmax(axis=1),
            "kube-scheduler": lambda observed: np.full(env.num_envs, SCHEDULE),
        }
        for name, choose in policies.items():
            print(f"{name}: {play(env, choose):.1f}")
        env.close()


if __name__ == "__main__":
    main(sys.argv[1])

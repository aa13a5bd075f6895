# SPDX-License-Identifier: Apache-2.0
"""A cluster of three nodes, as that of tests/capi/embedding_world.c, and a check that each test closes its handles."""

import gc
import os
import pathlib

import pytest
from world import ENGINE_CONFIG, NODES

import berth

SOURCE = pathlib.Path(os.environ.get("BERTH_SOURCE", pathlib.Path(__file__).parents[2]))


@pytest.fixture(autouse=True)
def every_handle_is_closed():
    """After a test no handle is open that was not open before."""
    gc.collect()
    before = berth.open_handles()
    yield
    gc.collect()
    assert berth.open_handles() == before


@pytest.fixture
def source():
    """The repository."""
    return SOURCE


@pytest.fixture(params=["cpu", "reference"])
def engine(request):
    with berth.Engine(backend=request.param, threads=2, engine_config=ENGINE_CONFIG) as engine:
        yield engine


@pytest.fixture
def cluster(engine):
    with engine.load(NODES) as cluster:
        yield cluster


@pytest.fixture
def snapshot(cluster):
    with cluster.snapshot() as snapshot:
        yield snapshot

# SPDX-License-Identifier: Apache-2.0
"""Columns: views that keep their result alive, and what other libraries take."""

import copy
import gc
import pickle

import numpy as np
import pytest
from world import pod

import berth
from berth.enums import Col

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def checked(cluster, snapshot):
    with snapshot.check_bulk(cluster.pods([pod("p", 1), pod("q", 3)])) as result:
        yield result


def test_views_are_read_only_and_shaped(checked):
    array = checked.fits.numpy()
    assert array.dtype == np.uint8 and array.shape == (2, 3) and not array.flags.writeable and not array.flags.owndata
    with pytest.raises(ValueError):
        array[0, 0] = 1
    with pytest.raises(ValueError):
        array.flags.writeable = True
    assert np.asarray(checked.fits) is checked.fits.numpy() and checked.fits is checked.fits
    assert np.asarray(checked.fits, dtype=np.int64).dtype == np.int64
    with pytest.raises(ValueError):
        np.asarray(checked.fits, dtype=np.int64, copy=False)
    copied = np.array(checked.fits, copy=True)
    copied[0, 0] = 7


def test_views_keep_their_result_alive(cluster, snapshot):
    result = snapshot.check_bulk(cluster.pods([pod("p", 1), pod("q", 3)]))
    views = [result.fits.numpy(), np.from_dlpack(result.fits), pyarrow.array(result.reasons), pyarrow.table(result)]
    before = [views[0].tolist(), views[1].tolist(), views[2].to_pylist(), views[3].to_pydict()]
    result.close()
    with pytest.raises(berth.ClosedError):
        result.fits
    with pytest.raises(berth.ClosedError):
        result.origin
    del result
    gc.collect()
    assert berth.open_handles()["result"] == 1
    assert [views[0].tolist(), views[1].tolist(), views[2].to_pylist(), views[3].to_pydict()] == before
    while views:
        assert berth.open_handles()["result"] == 1
        views.pop()
    assert berth.open_handles()["result"] == 0


def test_elements_are_pythons(checked):
    assert checked.fits[0, 0] is True and checked.code[0, 1] is berth.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert checked.plugin[0, 1] == "NodeUnschedulable" and checked.node[2] == 2 and checked.judged[0] is berth.Judged.YES
    assert checked.plugin.tolist()[0] == ["", "NodeUnschedulable", ""] and len(checked.fits) == 2
    assert checked.plugin.texts()[1] == "NodeUnschedulable" and list(checked.node) == [0, 1, 2]
    assert checked.fits[1].tolist() == [1, 0, 0] and checked.fits.dtype == np.uint8
    with pytest.raises(TypeError):
        checked.fits.texts()
    with pytest.raises(IndexError):
        checked.fits[9, 0]
    assert "fits" in repr(checked.fits) and "pairs" in repr(checked)


def test_dlpack_is_read_only_and_of_host_memory(checked):
    column = checked.fits
    assert column.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(column)
    assert view.shape == (2, 3) and not view.flags.writeable and np.shares_memory(view, column.numpy())
    for bad in ({}, {"max_version": (0, 8)}, {"max_version": (1, 0), "dl_device": (2, 0)},
                {"max_version": (1, 0), "stream": 1}):
        with pytest.raises(BufferError):
            column.__dlpack__(**bad)
    mine = np.from_dlpack(column, copy=True)
    assert not np.shares_memory(mine, column.numpy())
    capsule = column.__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    assert np.from_dlpack(checked.node).tolist() == [0, 1, 2]


def test_arrow_takes_columns_tables_and_streams(checked):
    table = pyarrow.table(checked)
    assert table.column_names == ["fits", "code", "phase", "plugin", "reasons"] and table.num_rows == 6
    assert table.column("plugin").to_pylist()[1] == "NodeUnschedulable"
    assert pyarrow.record_batch(checked.tables["nodes"]).to_pydict() == {"node": [0, 1, 2]}
    array = pyarrow.array(checked.fits)
    assert array.type == pyarrow.uint8() and array.to_pylist() == checked.fits.numpy().reshape(-1).tolist()
    assert pyarrow.array(checked.plugin).to_pylist() == checked.plugin.texts()
    assert pyarrow.schema(checked).names == table.column_names
    reader = pyarrow.RecordBatchReader.from_stream(checked)
    assert reader.schema.names == table.column_names and len(list(reader)) == 1
    checked.__arrow_c_stream__(), checked.__arrow_c_array__(), checked.fits.__arrow_c_schema__()  # never taken


def test_dataframes_have_names_and_texts(checked, cluster, snapshot):
    frame = checked.to_pandas()
    assert frame.columns.tolist() == ["pod", "node", "fits", "code", "phase", "plugin", "reasons"]
    assert frame["pod"].tolist() == ["uid-p"] * 3 + ["uid-q"] * 3 and frame["node"].tolist() == ["a", "b", "c"] * 2
    assert frame["fits"].tolist() == [True, False, True, True, False, False]
    assert frame["phase"].tolist()[:2] == ["none", "filter"] and frame["plugin"].tolist()[1] == "NodeUnschedulable"
    frame.loc[0, "fits"] = False  # of its own memory
    assert checked.fits[0, 0] is True
    with snapshot.fork() as fork:
        placed = fork.schedule(cluster.pods([pod("s", 1), pod("t", 9)])).to_pandas()
        assert placed["node"].tolist()[0] == "a" and placed["node"].isna().tolist() == [False, True]
        assert placed["pod"].tolist() == ["uid-s", "uid-t"]
    with snapshot.check_bulk([]) as empty:
        assert len(empty.to_pandas()) == 0
    with snapshot.max_replicas(cluster.pod(pod("p", 1))) as counted:
        assert counted.to_pandas()["count"].tolist() == [6]


def test_a_result_is_its_own_copy_and_has_no_pickle(checked):
    assert copy.copy(checked) is checked and copy.deepcopy(checked) is checked
    with pytest.raises(TypeError, match="pyarrow"):
        pickle.dumps(checked)
    assert pickle.loads(pickle.dumps(pyarrow.table(checked))).num_rows == 6


def test_tables_are_mappings(checked):
    table = checked.tables["pairs"]
    assert list(table) == ["fits", "code", "phase", "plugin", "reasons"] and len(table) == 5
    assert table["fits"].tolist() == checked.fits.tolist() and "Table" in repr(table)
    with pytest.raises(KeyError):
        table["score"]
    assert Col.FITS == 2

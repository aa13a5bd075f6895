# SPDX-License-Identifier: Apache-2.0
"""The gallery, examples/python, on small clusters."""

import subprocess
import sys

import pytest
from test_docs import write_inputs


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

# SPDX-License-Identifier: Apache-2.0
"""The package: what an import does, its numbers beside the header's, its types."""

import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import berth
from berth import enums, errors

PACKAGE = pathlib.Path(berth.__file__).parent

# Of each enumeration its prefix in berth.h.
PREFIXES = {
    enums.LogLevel: "BERTH_LOG_", enums.Phase: "BERTH_PHASE_", enums.Code: "BERTH_CODE_", enums.Choice: "BERTH_CHOICE_",
    enums.Domain: "BERTH_DOMAIN_", enums.Cap: "BERTH_CAP_", enums.Rule: "BERTH_RULE_", enums.Outcome: "BERTH_POD_",
    enums.Ignore: "BERTH_IGNORE_", enums.Col: "BERTH_COLUMN_",
}


@pytest.fixture
def constants(source):
    """The enumerators of berth.h."""
    text = re.sub(r"/\*.*?\*/", "", (source / "include/berth/berth.h").read_text(), flags=re.S)
    found = re.findall(r"\b(BERTH_\w+)\s*=\s*(-?\d+)u?", text)
    return {name: int(value) for name, value in found}


def test_numbers_are_those_of_the_header(constants):
    for kind, prefix in PREFIXES.items():
        assert {name[len(prefix):]: value for name, value in constants.items() if name.startswith(prefix)} == {
            member.name: int(member) for member in kind}, kind
    assert {member.name: int(member) for member in enums.Preset} == {
        "KUBECTL": constants["BERTH_DRAIN_KUBECTL"], "CLUSTER_AUTOSCALER": constants["BERTH_DRAIN_CLUSTER_AUTOSCALER"],
        "KARPENTER": constants["BERTH_DRAIN_KARPENTER"]}
    assert [constants[f"BERTH_JUDGED{name}"] for name in ("_NOT", "", "_IGNORING")] == list(enums.Judged)
    for member in [*enums.Flag, *enums.Status]:
        assert constants[f"BERTH_{member.name}"] == member


def test_each_status_that_fails_has_an_exception(constants):
    failing = {value: name for name, value in constants.items() if name.startswith("BERTH_E_")}
    for status, name in failing.items():
        error = errors.error_of(status, "o", "t")
        assert type(error) is not berth.Error and (error.name, error.object, error.text) == (name, "o", "t")
    assert len(failing) == 14 and type(errors.error_of(-99, "", "")) is berth.Error


def test_native_module_stands_on_berth_h_alone(source):
    for file in (source / "python/src").iterdir():
        for header in re.findall(r'#include\s+[<"]([^>"]+)', file.read_text()):
            assert header == "berth/berth.h" or header.startswith("nanobind/") or "/" not in header, (file, header)


def test_version_is_that_of_the_project(source):
    project = re.search(r"project\(berth VERSION (\S+)", (source / "CMakeLists.txt").read_text())[1]
    assert berth.__version__ == project
    assert f'version = "{project}"' in (source / "python/pyproject.toml").read_text()


def test_import_starts_nothing():
    """Neither threads nor a device, nor pandas or pyarrow."""
    code = ("import os, sys\nbefore = len(os.listdir('/proc/self/task'))\nimport berth\n"
            "assert len(os.listdir('/proc/self/task')) - before <= extra, 'threads'\n"
            "assert not {'pandas', 'pyarrow', 'torch'} & set(sys.modules)\n"
            "maps = open('/proc/self/maps').read()\nassert 'libcuda' not in maps and '/dev/nvidia' not in maps\n")
    # numpy starts the threads of its BLAS.
    counting = "import os\nbefore = len(os.listdir('/proc/self/task'))\nimport numpy\nprint(len(os.listdir('/proc/self/task')) - before)"
    extra = subprocess.run([sys.executable, "-c", counting], capture_output=True, text=True, check=True).stdout
    subprocess.run([sys.executable, "-c", f"extra = {int(extra)}\n{code}"], check=True)


def test_library_is_the_packages_own():
    maps = pathlib.Path("/proc/self/maps").read_text()
    loaded = {line.split()[-1] for line in maps.splitlines() if re.search(r"/libberth[^/]*\.so", line)}
    folders = {PACKAGE.resolve(), (PACKAGE.parent / "berth.libs").resolve()}
    assert len(loaded) == 1 and pathlib.Path(loaded.pop()).resolve().parent in folders


def test_types_are_there_and_public_names_are_documented():
    assert (PACKAGE / "py.typed").exists() and "def check(self" in (PACKAGE / "_native.pyi").read_text()
    for name in berth.__all__:
        thing = getattr(berth, name)
        if not inspect.isclass(thing):
            continue
        assert thing.__doc__, name
        for base in thing.__mro__:
            if not base.__module__.startswith("berth"):
                continue
            for member, value in vars(base).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), (name, member)


def test_mypy_accepts_the_package_and_a_program(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "import berth\nfrom typing import assert_type\n"
        "with berth.Engine() as engine, engine.cluster() as cluster, cluster.snapshot() as snapshot:\n"
        "    pods = cluster.pods([{}])\n    assert_type(pods, list[berth.Pod])\n"
        "    with snapshot.fork() as fork:\n        assert_type(fork, berth.Fork)\n"
        "        assert_type(fork.check(pods[0], 'a'), bool)\n"
        "        assert_type(fork.schedule(pods), berth.ScheduleResult)\n"
        "        assert_type(fork.schedule(pods).node, berth.Column)\n")
    installed = PACKAGE.parent.name == "site-packages"
    path = {} if installed else {"MYPYPATH": str(PACKAGE.parent)}
    for what in ([str(program)], ["-p", "berth"]):
        subprocess.run([sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", *what], check=True,
                       cwd=tmp_path, env={"PATH": "/usr/bin:/bin", **path})

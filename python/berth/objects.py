# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects as Python has them: dicts, texts, files and folders. They become one text, or a bulk buffer."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np

__all__ = ["Manifest", "Source", "text_of_manifest", "text_of_sources", "bulk_of"]

Manifest = Union[Mapping[str, Any], str, bytes]
"""One object: a dict as Kubernetes clients give it, or its text as JSON or YAML."""
Source = Union[Manifest, "os.PathLike[str]", Iterable[Manifest]]
"""What Cluster.load() takes: a path of a file or folder, a manifest, or a list of manifests."""

_SUFFIXES = (".json", ".yaml", ".yml")
_PACKED = (".gz", ".zst")


def _dump(manifest: Mapping[str, Any]) -> bytes:
    # Separators without blanks: the text is for a parser. Not a number has no meaning in JSON.
    return json.dumps(manifest, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def text_of_manifest(manifest: Manifest) -> bytes:
    """The text of one object or List."""
    if isinstance(manifest, Mapping):
        return _dump(manifest)
    if isinstance(manifest, str):
        return manifest.encode()
    if isinstance(manifest, (bytes, bytearray, memoryview)):
        return bytes(manifest)
    raise TypeError(f"a manifest is a dict, a str or bytes, not {type(manifest).__name__}")


def _is_text(source: str) -> bool:
    """Whether a str is a manifest and not a path: no path of ours has a line break or begins as JSON does."""
    start = source.lstrip()[:1]
    return "\n" in source or start in ("{", "[")


def _read_file(path: pathlib.Path) -> bytes:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        try:
            import zstandard
        except ImportError:
            raise ModuleNotFoundError(f"{path} is packed with zstd: reading it needs the package zstandard") from None
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            return bytes(reader.read())
    return data


def _files_of(folder: pathlib.Path) -> list[pathlib.Path]:
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.name
        for packed in _PACKED:
            name = name.removesuffix(packed)
        if path.is_file() and name.endswith(_SUFFIXES):
            found.append(path)
    if not found:
        raise FileNotFoundError(f"{folder} has no file that ends in {', '.join(_SUFFIXES)}")
    return found


def _texts_of_path(path: pathlib.Path) -> list[bytes]:
    return [_read_file(each) for each in _files_of(path)] if path.is_dir() else [_read_file(path)]


def _texts_of_source(source: Source) -> list[bytes]:
    if isinstance(source, os.PathLike):
        return _texts_of_path(pathlib.Path(source))
    if isinstance(source, str) and not _is_text(source):
        return _texts_of_path(pathlib.Path(source))
    if isinstance(source, (bytearray, memoryview)):
        return [bytes(source)]
    if isinstance(source, (Mapping, str, bytes)):
        return [text_of_manifest(source)]
    if isinstance(source, Iterable):
        return [text for each in source for text in _texts_of_source(each)]
    raise TypeError(f"objects come as paths, dicts, texts or lists of these, not as {type(source).__name__}")


def _is_json(text: bytes) -> bool:
    return text.lstrip()[:1] in (b"{", b"")


def text_of_sources(sources: Iterable[Source]) -> bytes:
    """All sources as one text, so that one call takes all of them or none."""
    texts = [text for source in sources for text in _texts_of_source(source)]
    if len(texts) == 1:
        return texts[0]
    if all(_is_json(text) for text in texts):
        return b"\n".join(texts)
    # JSON is YAML as well: documents of both make one stream.
    return b"\n---\n".join(texts)


def bulk_of(manifests: Iterable[Manifest]) -> tuple[bytes, Any]:
    """Objects in one buffer, and where each begins. Each is JSON."""
    texts = [text_of_manifest(each) for each in manifests]
    offsets = np.zeros(len(texts) + 1, dtype=np.uint64)
    if texts:
        np.cumsum([len(text) for text in texts], out=offsets[1:])
    return b"".join(texts), offsets

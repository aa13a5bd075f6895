# SPDX-License-Identifier: Apache-2.0
"""Recordings (docs/recordings.md) that no writer of Berth made."""

import os
import re
import sqlite3

from derived import HOSTILE
from outcome import Input

DONE, ERROR = 0, 1
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
APPLICATION_ID = 0x42525448
COMMANDS = {
    "replay": ["replay", "{folder}/run.db"],
    "diff": ["diff", "{folder}/run.db", "{folder}/run.db"],
    "simulate": ["simulate", "{folder}/run.db"],
}


def tables():
    """The CREATE statements of host/record/schema.cpp."""
    with open(os.path.join(ROOT, "host", "record", "schema.cpp"), encoding="utf-8") as file:
        entries = re.findall(r'\{"\w+",\s*((?:"[^"]*"\s*)+)\}', file.read())
    return ["".join(re.findall(r'"([^"]*)"', entry)) for entry in entries]


def database(statements, application_id=APPLICATION_ID, version=1):
    def prepare(folder):
        with sqlite3.connect(os.path.join(folder, "run.db")) as connection:
            connection.execute(f"PRAGMA application_id={application_id}")
            connection.execute(f"PRAGMA user_version={version}")
            for statement in statements:
                connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
        connection.close()

    return prepare


def text(data):
    def prepare(folder):
        with open(os.path.join(folder, "run.db"), "wb") as file:
            file.write(data)

    return prepare


def inputs():
    schema = tables()
    assert len(schema) == 7, schema
    fact = "INSERT INTO run VALUES(1,'berth','0.1.0')"
    event = "INSERT INTO decisions VALUES(1,0,?,?,?,?,1,'scheduled',?,1,NULL)"
    endless = "CREATE VIEW {} AS WITH RECURSIVE c(id) AS (VALUES(1) UNION ALL SELECT id+1 FROM c) SELECT id FROM c"
    bad = {
        "empty": text(b""),
        "text": text(b"SQLite format 3 is what this is not"),
        "head_alone": text(b"SQLite format 3\0" + bytes(52) + APPLICATION_ID.to_bytes(4, "big") + bytes(28)),
        "head_and_zeros": text(b"SQLite format 3\0" + bytes(52) + APPLICATION_ID.to_bytes(4, "big") + bytes(1 << 20)),
        "other_tables": database(["CREATE TABLE a(b)"]),
        "other_application": database(schema, application_id=7),
        "newer": database(schema, version=2),
        "no_run": database(schema),
        "views": database([endless.format(name) for name in ("run", "inputs", "decisions", "bindings", "evictions", "messages",
                                                           "batches")]),
        "option_unknown": database([*schema, ("INSERT INTO run VALUES(1,?,?)", ("option." + HOSTILE, HOSTILE))]),
        "option_value": database([*schema, ("INSERT INTO run VALUES(1,'option.seed',?)", (HOSTILE,))]),
        "gates": database([*schema, ("INSERT INTO run VALUES(1,'option.feature-gates',?)", (HOSTILE,))]),
        "kind": database([*schema, fact, ("INSERT INTO inputs VALUES(1,1,?,?,0,'','')", (HOSTILE, HOSTILE))]),
        "blob_of_16_megabytes": database([*schema, fact, "INSERT INTO inputs VALUES(1,1,'cluster','a',9,'',zeroblob(16000000))"]),
        "blob_of_100_megabytes": database([*schema, fact, "INSERT INTO inputs VALUES(1,1,'cluster','a',9,'',zeroblob(100000000))"]),
        "event_without_batch": database([*schema, fact, (event, (HOSTILE,) * 5)]),
        "wrong_hash": database([*schema, fact, (event, (HOSTILE,) * 5), "INSERT INTO batches VALUES(1,1,1,0,0,0,'" + "0" * 32 + "',1)"]),
    }
    # What replay and simulate say of a diff's harmless file: it has no inputs.
    for name, prepare in bad.items():
        for command, arguments in COMMANDS.items():
            expected = (ERROR,) if name not in ("option_unknown", "option_value", "gates", "kind", "blob_of_16_megabytes", "blob_of_100_megabytes",
                                                "event_without_batch", "wrong_hash") else (DONE, ERROR)
            yield Input(f"recording/{name}/{command}", arguments, expected, prepare=prepare)

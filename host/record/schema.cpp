// SPDX-License-Identifier: Apache-2.0
#include "host/record/schema.h"

namespace berth {

const std::array<RecordingTable, 7> kRecordingTables = {{
    {"run", "CREATE TABLE run(id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL)"},
    {"inputs",
     "CREATE TABLE inputs(id INTEGER PRIMARY KEY, file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, "
     "bytes INTEGER NOT NULL, checksum TEXT NOT NULL, data BLOB NOT NULL)"},
    {"decisions",
     "CREATE TABLE decisions(id INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, namespace TEXT NOT NULL, "
     "pod TEXT NOT NULL, uid TEXT NOT NULL, profile TEXT NOT NULL, attempt INTEGER NOT NULL, result TEXT NOT NULL, "
     "node TEXT, score INTEGER, message INTEGER)"},
    {"bindings",
     "CREATE TABLE bindings(id INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, namespace TEXT NOT NULL, "
     "pod TEXT NOT NULL, uid TEXT NOT NULL, node TEXT NOT NULL)"},
    {"evictions",
     "CREATE TABLE evictions(id INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, namespace TEXT NOT NULL, "
     "pod TEXT NOT NULL, uid TEXT NOT NULL, node TEXT NOT NULL, preemptor_namespace TEXT NOT NULL, "
     "preemptor TEXT NOT NULL, preemptor_uid TEXT NOT NULL)"},
    {"messages", "CREATE TABLE messages(id INTEGER PRIMARY KEY, text TEXT NOT NULL)"},
    {"batches",
     "CREATE TABLE batches(id INTEGER PRIMARY KEY, last_event INTEGER NOT NULL, decisions INTEGER NOT NULL, "
     "bindings INTEGER NOT NULL, evictions INTEGER NOT NULL, time_us INTEGER NOT NULL, hash TEXT NOT NULL, "
     "is_end INTEGER NOT NULL)"},
}};

}  // namespace berth

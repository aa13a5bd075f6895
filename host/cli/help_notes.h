// SPDX-License-Identifier: Apache-2.0
#pragma once

// Paragraphs at the end of --help and of the man page, one a line.

namespace berth {

inline constexpr const char* kProgramNotes =
    "Exit codes: 0 done; 1 error; 2 the command line was not understood; 3 unplaced pods with --fail-unplaced; 4 the "
    "device of cuda failed, or none can be used.\n"
    "Colours are shown on a terminal only, and not when NO_COLOR is set. Bars are drawn in Unicode where the locale is "
    "UTF-8.";

inline constexpr const char* kScheduleNotes =
    "Pods are placed in the queue's order: priority, creationTimestamp, then input order. Pods with spec.nodeName and "
    "a "
    "phase that is not terminal count as running.\n"
    "Limits of the input: a file of 16 GiB after decompression, an object of 64 MiB, YAML nested 200 deep with 64 MiB "
    "of expanded aliases, JSON nested 256 deep, 20 million objects, 10 million pods made from workloads. What goes "
    "beyond is an error.\n"
    "Example: kubectl get nodes,pods,priorityclasses -A -o json | berth schedule -f -";

inline constexpr const char* kExplainNotes =
    "Each pod is evaluated alone against the cluster as loaded. The table groups nodes that answer alike and names the "
    "node that needs the smallest change; docs/schemas/explain-record.schema.json describes the JSON records.";

}  // namespace berth

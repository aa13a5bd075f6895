// SPDX-License-Identifier: Apache-2.0
#pragma once

// Paragraphs at the end of --help and of the man page, one a line.

#include <string>

#include "host/objects/dump_command.h"

namespace berth {

inline const std::string& program_notes() {
  static const std::string kNotes =
      "Given a dump of a cluster, berth schedule -f cluster.json shows where each pod would go, and berth explain -f "
      "cluster.json NAMESPACE/POD why. To make a dump: " +
      std::string(kDumpCommand) +
      "\n"
      "Exit codes: 0 done; 1 error; 2 the command line was not understood; 3 unplaced pods with --fail-unplaced; 4 the "
      "device of cuda failed, or none can be used; 5 replay and diff: the runs did not decide the same.\n"
      "Colours are shown on a terminal only, and not when NO_COLOR is set. Bars are drawn in Unicode where the locale "
      "is UTF-8.";
  return kNotes;
}

inline const std::string& schedule_notes() {
  static const std::string kNotes =
      "Pods are placed in the queue's order: priority, creationTimestamp, then input order. Pods with spec.nodeName "
      "and "
      "a phase that is not terminal count as running.\n"
      "Limits of the input: a million files, a file of 16 GiB after decompression, an object of 16 MiB, YAML nested "
      "200 deep with 64 MiB of expanded aliases, JSON nested 256 deep, 20 million objects, a million invalid objects, "
      "256 MiB of list items whose kind comes behind them, 1 million pods made from workloads. What goes beyond is an "
      "error.\n"
      "Example: berth schedule -f cluster.json, which is made by " +
      std::string(kDumpCommand);
  return kNotes;
}

inline constexpr const char* kSchedulerNotes =
    "Flags are read as Kubernetes reads them, and mean what they mean to kube-scheduler v1.35; a program that is "
    "called "
    "kube-scheduler is berth scheduler.\n"
    "Without clientConnection.qps in the configuration, the API server's answers alone (429, Retry-After) limit the "
    "requests.\n"
    "SIGTERM: no new decisions, calls that are under way end (5 s at most), the lease is released. A lost lease ends "
    "the process with 1.\n"
    "Example: berth scheduler --config scheduler.yaml --authentication-kubeconfig KUBECONFIG "
    "--authorization-kubeconfig KUBECONFIG";

inline constexpr const char* kSimulateNotes =
    "The same input and options give the same output, byte for byte. Durations are written as in Kubernetes: 90s, "
    "1h30m. "
    "A pod runs as long as its annotation berth.dev/run-duration says.\n"
    "Limits: a scenario of 16 MiB with 100,000 actions and 100,000 arrivals, 1 million pods made by them, durations of "
    "876,000 h, 100 million attempts to place a pod, 100,000 samples of the time line (steps become longer).\n"
    "docs/schemas/simulate-report.schema.json describes the JSON document.\n"
    "Example: berth simulate examples/scenario.yaml --plot timeline.svg";

inline constexpr const char* kRecordNotes =
    "docs/recordings.md describes the file. A run that is killed leaves a recording without its last batch.\n"
    "Example: berth record examples/scenario.yaml -o run.db; berth replay run.db";

inline constexpr const char* kReplayNotes =
    "Options that are not given are those of the recording. Backend, threads and device change no decision.\n"
    "Exits with 5 when the new run did not decide the same.\n"
    "Example: berth replay run.db --config other.yaml -o other.db; berth diff run.db other.db";

inline constexpr const char* kDiffNotes = "Exits with 5 when the runs did not decide the same.";

inline constexpr const char* kExplainNotes =
    "Each pod is evaluated alone against the cluster as loaded. A pod with scheduling gates is reported as gated "
    "first, "
    "then as if the gates were gone. A running pod is taken out of its node first, and the report says why its node "
    "and where else. A finished pod is reported as finished, without nodes.\n"
    "The table groups nodes with the same answer and names the node that needs the smallest change; "
    "docs/schemas/explain-record.schema.json describes the JSON records.\n"
    "Example: berth explain -f cluster.json team-a/web-0 -n team-b db-0 db-1";

inline constexpr const char* kPerfNotes =
    "Reads performance-config.yaml files of scheduler_perf (kubernetes test/integration/scheduler_perf, v1.35) "
    "unchanged, with the templates beside them. Each workload runs in this process: an object store in memory, the "
    "queue, the engine, and bindings written to the store, on the real clock. A workload that needs what Berth does "
    "not "
    "have is skipped and listed with the reason.\n"
    "Exits with 1 when a workload did not come to its end; a result below the threshold is no error.\n"
    "Example: berth perf --config misc/performance-config.yaml --label performance --rate-factor 100";

}  // namespace berth

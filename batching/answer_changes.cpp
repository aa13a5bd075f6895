// SPDX-License-Identifier: Apache-2.0
#include "batching/answer_changes.h"

#include "batching/prepared_pod.h"
#include "batching/topology_filter.h"

namespace berth {
namespace {

AnswerBasis basis_now(std::int32_t class_index, const AnswerSources& from) {
  const PodClass& pod_class = from.table[class_index];
  AnswerBasis basis;
  basis.is_set = true;
  basis.pod_class = class_index;
  basis.opened = from.opened;
  basis.sweeps = from.table.sweeps();
  basis.recompiled = from.table.recompile_count();
  basis.resources = from.snapshot.resources_built();
  basis.node_sides = from.table.node_sides_version();
  if (pod_class.topology != nullptr)
    basis.tables = version_of_filter_tables(*pod_class.topology, from.snapshot.topology());
  basis.nominations = from.nominations.generation();
  basis.nominations_seen = from.nominations.changed_nodes().size();
  basis.log_seen = from.log.position();
  return basis;
}

bool changed_for_all_nodes(const AnswerBasis& before, const AnswerBasis& now, const CommitLog& log) {
  return !before.is_set || before.pod_class != now.pod_class || before.opened != now.opened ||
         before.sweeps != now.sweeps || before.recompiled != now.recompiled || before.resources != now.resources ||
         before.node_sides != now.node_sides || before.tables != now.tables || before.nominations != now.nominations ||
         !log.reaches(before.log_seen);
}

}  // namespace

AnswerChanges answer_changes(const PodToPlace& pod, AnswerBasis& basis, const AnswerSources& sources) {
  const PreparedPod prepared(pod, sources.table, sources.nominations, sources.snapshot);
  if (!prepared.error().empty()) {
    basis = {};
    return {};
  }
  AnswerChanges changes = answer_changes(*pod.pod, prepared.class_index(), basis, sources);
  changes.may_fail = prepared.filter_may_fail();
  if (!changes.may_keep || !sources.nominations.any_against(*pod.pod)) return changes;
  const auto note = [&](std::int32_t node) {
    const Nominations::ReservedLoad load = sources.nominations.reserved_on(node, pod.pod->priority);
    if (load.pods > 0) changes.reservations.push_back({{node}, load.milli_cpu, load.memory_bytes, load.pods});
  };
  if (changes.all) {
    for (const std::int32_t node : sources.nominations.nominated_nodes()) note(node);
  } else {
    for (const NodeIndex node : changes.nodes) note(node.value);
  }
  return changes;
}

AnswerChanges answer_changes(const Pod& pod, std::int32_t class_index, AnswerBasis& basis,
                             const AnswerSources& sources) {
  AnswerChanges changes;
  if (!sources.table[class_index].host.empty() || sources.nominations.holds(pod)) {
    basis = {};
    return changes;
  }
  const AnswerBasis now = basis_now(class_index, sources);
  changes.may_keep = true;
  changes.all = changed_for_all_nodes(basis, now, sources.log);
  if (!changes.all) {
    const auto renominated = sources.nominations.changed_nodes().subspan(basis.nominations_seen);
    const auto entries = sources.log.since(basis.log_seen);
    changes.nodes.reserve(renominated.size() + entries.size());
    const auto note = [&](std::int32_t node) {  // the entries of an eviction follow each other
      if (changes.nodes.empty() || changes.nodes.back().value != node) changes.nodes.push_back({node});
    };
    for (const std::int32_t node : renominated) note(node);
    for (const LogEntry& entry : entries) note(entry.node);
  }
  basis = now;
  return changes;
}

}  // namespace berth

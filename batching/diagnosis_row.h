// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "batching/commit_log.h"
#include "batching/excluded_nodes.h"
#include "batching/node_filter.h"
#include "batching/pod_class.h"

namespace berth {

/// Why a class finds no node: the verdicts of all nodes, counted by kind and updated through the commit log, so that
/// the cost of another pod that fails the same way is that of the changes since the last one.
class DiagnosisRow {
 public:
  struct Answer {
    Message message;  ///< FitError, or the error of a node that ended the cycle
    bool is_error = false;
    std::uint64_t version = 0;  ///< counts up from 1; changes whenever the message may have changed
  };
  /// Updates the row to the end of `log`.
  const Answer& answer(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                       const Snapshot& snapshot, const CommitLog& log);
  /// The reasons and plugins of all nodes outside a set. Updates the row to the end of `log`.
  /// @return nullopt: a node outside the set ends the cycle with an error
  std::optional<Diagnosis> diagnose_outside(const PodClass& pod_class, const CompiledProfile& profile,
                                            const NodeSideView& row, const Snapshot& snapshot, const CommitLog& log,
                                            const ExcludedNodes& excluded);

 private:
  struct Kind {
    std::uint8_t refusal = 0;
    bool is_outside = false;  ///< of PreFilter's node set
    HostRefusal host{kNotEnabled};
    LoadVerdict load;
    TopologyVerdict topology;
    std::int64_t node_count = 0;

    bool says_the_same(const Kind& other) const;
  };
  std::uint16_t kind_of(Kind kind, std::uint16_t known);
  void diagnose_node(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot, std::int32_t node);
  void diagnose_all(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot);
  void catch_up(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot, const CommitLog& log);
  void write_answer(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                    const Snapshot& snapshot);
  /// @param node_counts  [kind] @return the status of a kind that ends the cycle with an error; success: none does
  Status count_kinds(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                     const std::vector<std::int64_t>& node_counts, Diagnosis& diagnosis) const;
  std::vector<std::int64_t> nodes_of_kinds() const;

  std::vector<Kind> kinds_;
  std::vector<std::uint16_t> kind_of_node_;
  std::uint64_t position_ = 0;
  std::uint64_t tables_ = 0;  ///< version_of_filter_tables()
  bool changed_ = true;
  Answer answer_;
};

/// Adds the reasons and the plugin of the status of some nodes to a diagnosis. Without reasons they are outside
/// PreFilter's node set (docs/behaviour/plugins-node.md 2.6) and count with that reason; its plugin is among
/// plugins_with_node_set(), which the diagnosis begins with.
/// @param narrowing  plugins_with_node_set() of the class
void count_reasons(const Status& status, const PluginNames& narrowing, std::int64_t node_count, Diagnosis& diagnosis);
/// The plugin that refuses the node which the pod is nominated to is named in the reason of the nodes outside the set.
/// @param status  of that node
void name_refused_nomination(const Status& status, const PluginNames& narrowing, Diagnosis& diagnosis);

}  // namespace berth

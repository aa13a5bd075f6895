// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
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
  /// What nodes of one verdict have in common, apart from what plugins on the host say.
  struct Parts {
    std::uint8_t refusal = 0;
    bool is_outside = false;  ///< of PreFilter's node set
    LoadVerdict load;
    TopologyVerdict topology;

    /// All of it in one word, of a class that fits a LoadWord, which has the bits that are not named here.
    std::uint64_t word() const;
    friend bool operator==(const Parts&, const Parts&) = default;

    // Where word() has what.
    static constexpr int kAffinityAt = 0;
    static constexpr int kSpreadAt = 4;
    static constexpr std::uint64_t kOutside = 1 << 11;
    static constexpr int kRefusalAt = 12;
  };
  /// Which nodes are refused by a rule before those of topology, so that these need not be asked.
  class BeforeTopology {
   public:
    BeforeTopology(const CompiledProfile& profile, const NodeSideRow& row);
    /// @param word  Parts::word() without a topology verdict
    bool refuses(std::uint64_t word) const {
      return (word & load_) != 0 || refusals_[static_cast<std::uint8_t>(word >> Parts::kRefusalAt)];
    }

   private:
    std::uint64_t load_ = Parts::kOutside;  ///< bits of rules
    std::bitset<256> refusals_;             ///< [NodeSideRow::refusals]
  };
  /// The class on the nodes.
  struct Asked {
    const PodClass& pod_class;
    const NodeSideView& row;
    const Snapshot& snapshot;
    BeforeTopology before_topology;
    bool has_words;  ///< no plugin on the host, and the requests fit a word
  };
  struct Kind {
    Parts parts;
    HostRefusal host{kNotEnabled};
    std::int64_t node_count = 0;
  };
  static constexpr std::uint64_t kNoWord = UINT64_MAX;

  template <class IsIt>
  std::uint16_t find_or_add(std::uint16_t known, std::uint64_t word, const Parts& parts, const HostRefusal& host,
                            IsIt is_it);
  std::uint16_t kind_of(const PodClass& pod_class, const Parts& parts, std::int32_t node, std::uint16_t known);
  static Parts parts_on(const Asked& asked, std::int32_t node);
  void set_kind(std::int32_t node, std::uint16_t now);
  void diagnose_node(const Asked& asked, std::int32_t node);
  void diagnose_all(const Asked& asked);
  void diagnose_all_by_words(const Asked& asked);
  void catch_up(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                const Snapshot& snapshot, const CommitLog& log);
  void write_answer(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                    const Snapshot& snapshot);
  /// @param node_counts  [kind] @return the status of a kind that ends the cycle with an error; success: none does
  Status count_kinds(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                     const std::vector<std::int64_t>& node_counts, Diagnosis& diagnosis) const;
  std::vector<std::int64_t> nodes_of_kinds() const;

  std::vector<Kind> kinds_;
  std::vector<std::uint64_t> words_;  ///< [kind] Parts::word(); kNoWord of classes with plugins on the host
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

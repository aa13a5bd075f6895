// SPDX-License-Identifier: Apache-2.0
#include "batching/dry_run.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "batching/dry_runner.h"
#include "batching/node_filter.h"

namespace berth {
namespace {

constexpr std::size_t kMaskBits = 64;

std::size_t mask_words(std::size_t victims) { return (victims + kMaskBits - 1) / kMaskBits; }

/// Answers dry runs of one preemptor after another, in one thread: those whose lists lie in one block together.
class LaneRunner {
 public:
  explicit LaneRunner(const PreparedDryRuns& call) : call_(call), runner_(call) {}

  /// @param answer  first_kept is given  @param kept  the mask, all bits 0
  void answer(const DryRun& run, DryRunAnswer& answer, std::uint64_t* kept) {
    if (run.preemptor != preemptor_index_) begin_preemptor(run.preemptor);
    const std::size_t block = VictimLanes::block_of(run.list);
    if (preemptor_->lanes.size == 0 || !call_.lanes().is_exact(block) || tables_matter(run) || nominations_matter(run))
      return runner_.answer(run, answer, kept);
    if (block != block_index_) begin_block(block);
    answer_in_lane(run, answer, kept);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void begin_preemptor(std::size_t preemptor) {
    preemptor_index_ = preemptor;
    preemptor_ = &call_.preemptor(preemptor);
    block_index_ = kNone;
    moves_ = preemptor_->lanes.size != 0 && preemptor_->of_class->reads_tables ? &call_.moves_of(*preemptor_) : nullptr;
  }
  /// Some victim changes a table that the class reads.
  bool tables_matter(const DryRun& run) const { return moves_ != nullptr && moves_->change(run.list); }
  bool nominations_matter(const DryRun& run) const {
    return preemptor_->nominations_matter &&
           call_.nominations().any_against(preemptor_->pod.pod(), call_.request().lists[run.list].node.value);
  }

  void begin_block(std::size_t block) {
    block_index_ = block;
    const ListBlock of = call_.lanes().block(block);
    filter_lanes(of, preemptor_->lanes, verdicts_);
    kept_.resize(mask_words(of.victims));
    for (std::size_t w = 0; w < kept_.size(); ++w)
      reprieve_lanes(of, preemptor_->lanes, w * kMaskBits, std::min(of.victims, (w + 1) * kMaskBits), verdicts_.left,
                     kept_[w]);
  }

  void answer_in_lane(const DryRun& run, DryRunAnswer& answer, std::uint64_t* kept) const {
    const std::int32_t node = call_.request().lists[run.list].node.value;
    const std::size_t lane = VictimLanes::lane_of(run.list);
    const NodeSideRow* const row = preemptor_->pod.row_on(node);
    answer.without_victims = row == nullptr ? preemptor_->pod.verdict_without_row(node) : verdict(*row, node, lane);
    if (!answer.without_victims.accepts()) return;
    const PreparedList& list = call_.victims().list(run.list);
    for (std::size_t w = 0; w < mask_words(list.count()); ++w) {
      kept[w] = kept_[w][lane];
      answer.kept_count += static_cast<std::uint32_t>(std::popcount(kept[w]));
      answer.violations += std::popcount(list.violating[w] & ~kept[w]);
    }
  }

  NodeVerdict verdict(const NodeSideRow& row, std::int32_t node, std::size_t lane) const {
    const PodClass& pod_class = preemptor_->pod.pod_class();
    const std::uint8_t refusal = row.refusal(node);
    if (moves_ == nullptr && refusal == NodeSideRow::kAccepted && verdicts_.is_short[lane] == 0) return {};
    LoadVerdict load;
    load.too_many_pods = verdicts_.too_many_pods[lane] != 0;
    if (verdicts_.is_short[lane] != 0) load.insufficient.insert(0);  // which one makes no difference to the plugin
    load.is_unresolvable = verdicts_.is_unresolvable[lane] != 0;
    TopologyVerdict topology;
    if (moves_ != nullptr)
      topology =
          filter_topology(*pod_class.topology, call_.snapshot().topology(), node, preemptor_->of_class->affinity_skips);
    return first_refusal(preemptor_->pod.profile(), row.refusals[refusal], HostRefusal{kNotEnabled}, load, topology);
  }

  const PreparedDryRuns& call_;
  DryRunner runner_;
  // Of the current preemptor:
  std::size_t preemptor_index_ = kNone;
  const Preemptor* preemptor_ = nullptr;
  const VictimMoves* moves_ = nullptr;  ///< null: the class reads no table
  // Of the current block:
  std::size_t block_index_ = kNone;
  LaneVerdicts verdicts_;
  std::vector<LaneBits> kept_;
};

/// Empty masks for every run.
DryRunResult with_masks(const DryRunRequest& request) {
  DryRunResult result;
  result.answers.resize(request.runs.size());
  std::size_t words = 0;
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    result.answers[i].first_kept = words;
    words += mask_words(request.lists[request.runs[i].list].victims.size());
  }
  result.kept.assign(words, 0);
  return result;
}

}  // namespace

DryRunResult dry_run(const DryRunRequest& request, const ClassTable& table, const Nominations& nominations,
                     const Snapshot& snapshot, VictimMemory& memory, const ForBlocks& for_blocks) {
  const PreparedDryRuns call(request, table, nominations, snapshot, memory);
  DryRunResult result = with_masks(request);
  for_blocks(request.runs.size(), [&](std::size_t begin, std::size_t end) {
    LaneRunner runner(call);
    for (std::size_t i = begin; i < end; ++i)
      runner.answer(request.runs[i], result.answers[i], result.kept.data() + result.answers[i].first_kept);
  });
  return result;
}

std::vector<Status> statuses_without_victims(const DryRunRequest& request, const ClassTable& table,
                                             const Nominations& nominations, const Snapshot& snapshot,
                                             VictimMemory& memory, const ForBlocks& for_blocks) {
  const PreparedDryRuns call(request, table, nominations, snapshot, memory);
  std::vector<Status> statuses(request.runs.size());
  for_blocks(request.runs.size(), [&](std::size_t begin, std::size_t end) {
    DryRunner runner(call);
    for (std::size_t i = begin; i < end; ++i) statuses[i] = runner.status_without_victims(request.runs[i]);
  });
  return statuses;
}

}  // namespace berth

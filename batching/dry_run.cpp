// SPDX-License-Identifier: Apache-2.0
#include "batching/dry_run.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "batching/dry_runner.h"
#include "batching/node_filter.h"
#include "plugins/node_ports/compile.h"

namespace berth {
namespace {

constexpr std::size_t kMaskBits = 64;

std::size_t mask_words(std::size_t victims) { return (victims + kMaskBits - 1) / kMaskBits; }

/// Answers dry runs, in one thread: those of one preemptor that follow each other kListLanes at a time.
class LaneRunner {
 public:
  explicit LaneRunner(const PreparedDryRuns& call) : call_(call), runner_(call) {}

  /// @param result  with empty masks
  void answer(std::size_t begin, std::size_t end, DryRunResult& result) {
    const std::span<const DryRun> runs = call_.request().runs;
    for (std::size_t i = begin; i < end;) {
      begin_preemptor(runs[i].preemptor);
      const std::size_t first = i;
      while (i < end && runs[i].preemptor == runs[first].preemptor) ++i;
      answer_preemptor(first, i, result);
    }
  }

 private:
  /// From so many lists of a block on it is not worth to gather lists of several blocks.
  static constexpr std::size_t kDenseLists = 4;

  void begin_preemptor(std::size_t preemptor) {
    preemptor_ = &call_.preemptor(preemptor);
    moves_ = preemptor_->lanes.size != 0 && preemptor_->of_class->reads_tables ? &call_.moves_of(*preemptor_) : nullptr;
  }

  void answer_preemptor(std::size_t begin, std::size_t end, DryRunResult& result) {
    for (std::size_t i = begin; i < end;) {
      const std::size_t first = i;
      i = preemptor_->lanes.size == 0 ? end : begin_block(first, end);
      for (std::size_t r = first; r < i; ++r) {
        const DryRun& run = call_.request().runs[r];
        DryRunAnswer& answer = result.answers[r];
        std::uint64_t* const kept = result.kept.data() + answer.first_kept;
        if (preemptor_->lanes.size == 0 || !nodes_.is_exact[lane_of_run(r)] || tables_matter(run) ||
            ports_matter(run)) {
          runner_.answer(run, answer, kept);
        } else {
          answer_in_lane(run, lane_of_run(r), answer, kept);
        }
      }
    }
  }
  std::size_t lane_of_run(std::size_t run) const {
    if (is_gathered_) return run - first_run_;
    return LaneTable::lane_of(call_.victims().position(call_.request().runs[run].list));
  }

  /// Some victim changes a table that the class reads.
  bool tables_matter(const DryRun& run) const { return moves_ != nullptr && moves_->change(run.list); }
  /// Some victim frees a port, which the class may want.
  bool ports_matter(const DryRun& run) const {
    return !preemptor_->pod.pod_class().ports.empty() && !call_.victims().list(run.list).all.ports.empty();
  }

  /// Answers the first of these runs, and some that follow it, in lanes. @return the end of those
  std::size_t begin_block(std::size_t begin, std::size_t end) {
    const std::span<const DryRun> runs = call_.request().runs;
    const Victims& victims = call_.victims();
    const LaneTable& lanes = victims.lanes(runs[begin].list);
    const std::size_t block = LaneTable::block_of(victims.position(runs[begin].list));
    std::size_t in_block = begin;  // end of the runs in this block
    std::size_t in_table = begin;  // and of those that may be gathered
    while (in_table < std::min(end, begin + kListLanes) && &victims.lanes(runs[in_table].list) == &lanes) {
      if (in_block == in_table && LaneTable::block_of(victims.position(runs[in_table].list)) == block) ++in_block;
      ++in_table;
    }
    first_run_ = begin;
    is_gathered_ = in_block - begin < kDenseLists && in_block < in_table;
    const std::size_t block_end = is_gathered_ ? in_table : in_block;
    const LaneColumns& columns = victims.memory().columns();
    nodes_.is_exact.fill(false);
    positions_.clear();
    for (std::size_t r = begin; r < block_end; ++r) {
      positions_.push_back(victims.position(runs[r].list));
      read_node(runs[r], lanes, positions_.back(), lane_of_run(r), columns);
    }
    ListBlock of = lanes.block(block, columns, nodes_);
    if (is_gathered_) {
      lanes.gather(positions_, columns, gathered_);
      of.amounts = gathered_.amounts.data();
      of.victims = gathered_.victims;
    }
    filter_lanes(of, preemptor_->lanes, verdicts_);
    kept_.resize(mask_words(of.victims));
    for (std::size_t w = 0; w < kept_.size(); ++w)
      reprieve_lanes(of, preemptor_->lanes, w * kMaskBits, std::min(of.victims, (w + 1) * kMaskBits), verdicts_.left,
                     kept_[w]);
    return block_end;
  }

  /// With the pods that are nominated to the node. What it then accepts it accepts without them, too.
  void read_node(const DryRun& run, const LaneTable& lanes, std::size_t position, std::size_t lane,
                 const LaneColumns& columns) {
    lanes.read_node(position, columns, call_.snapshot(), lane, nodes_);
    const std::int32_t node = call_.request().lists[run.list].node.value;
    if (!nodes_.is_exact[lane] || !preemptor_->nominations_matter || !call_.nominations().is_nominated(node)) return;
    nodes_.is_exact[lane] =
        only_loads_crowd(node) && crowd_lane(preemptor_->pod.pod(), node, lane, call_.nominations(), columns, nodes_);
  }
  bool only_loads_crowd(std::int32_t node) const {
    const PodClass& pod_class = preemptor_->pod.pod_class();
    if (!pod_class.host.empty()) return false;
    bool with_ports = false;
    call_.nominations().for_each_against(preemptor_->pod.pod(), node, [&](const Nominations::Nominated& nominated) {
      with_ports = with_ports || !nominated.ports.empty();
    });
    return (pod_class.ports.empty() || !with_ports) &&
           (moves_ == nullptr || !call_.nominations().change_counts(pod_class, node));
  }

  void answer_in_lane(const DryRun& run, std::size_t lane, DryRunAnswer& answer, std::uint64_t* kept) const {
    const std::int32_t node = call_.request().lists[run.list].node.value;
    const std::optional<NodeSideView> side = preemptor_->pod.side_on(node);
    answer.without_victims = side ? verdict(*side, node, lane) : preemptor_->pod.verdict_without_side(node);
    if (!answer.without_victims.accepts()) return;
    const PreparedList& list = call_.victims().list(run.list);
    for (std::size_t w = 0; w < mask_words(list.count()); ++w) {
      kept[w] = kept_[w][lane];
      answer.kept_count += static_cast<std::uint32_t>(std::popcount(kept[w]));
      answer.violations += std::popcount(list.violating[w] & ~kept[w]);
    }
  }

  NodeVerdict verdict(const NodeSideView& side, std::int32_t node, std::size_t lane) const {
    const PodClass& pod_class = preemptor_->pod.pod_class();
    const std::uint8_t refusal = side.refusal(node);
    LoadVerdict load;
    load.ports_taken = !pod_class.ports.empty() && ports_conflict(pod_class.ports, call_.snapshot().used_ports(node));
    if (moves_ == nullptr && refusal == NodeSideRow::kAccepted && verdicts_.is_short[lane] == 0 && !load.ports_taken)
      return {};
    load.too_many_pods = verdicts_.too_many_pods[lane] != 0;
    if (verdicts_.is_short[lane] != 0) load.insufficient.insert(0);  // which one makes no difference to the plugin
    load.is_unresolvable = verdicts_.is_unresolvable[lane] != 0;
    TopologyVerdict topology;
    if (moves_ != nullptr)
      topology =
          filter_topology(*pod_class.topology, call_.snapshot().topology(), node, preemptor_->of_class->affinity_skips);
    return first_refusal(preemptor_->pod.profile(), side.of_class().refusals[refusal], HostRefusal{kNotEnabled}, load,
                         topology);
  }

  const PreparedDryRuns& call_;
  DryRunner runner_;
  // Of the current preemptor:
  const Preemptor* preemptor_ = nullptr;
  const VictimMoves* moves_ = nullptr;  ///< null: the class reads no table
  // Of the current block:
  std::size_t first_run_ = 0;
  bool is_gathered_ = false;
  std::vector<std::size_t> positions_;
  GatheredLanes gathered_;
  LaneNodes nodes_;  ///< where is_exact is false, the dry run needs the runner
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

DryRunResult dry_run(const DryRunRequest& request, const NodeSides& sides, const Nominations& nominations,
                     const Snapshot& snapshot, VictimMemory& memory, const ForBlocks& for_blocks) {
  const PreparedDryRuns call(request, sides, nominations, snapshot, memory);
  DryRunResult result = with_masks(request);
  for_blocks(request.runs.size(),
             [&](std::size_t begin, std::size_t end) { LaneRunner(call).answer(begin, end, result); });
  return result;
}

std::vector<Status> statuses_without_victims(const DryRunRequest& request, const NodeSides& sides,
                                             const Nominations& nominations, const Snapshot& snapshot,
                                             VictimMemory& memory, const ForBlocks& for_blocks) {
  const PreparedDryRuns call(request, sides, nominations, snapshot, memory);
  std::vector<Status> statuses(request.runs.size());
  for_blocks(request.runs.size(), [&](std::size_t begin, std::size_t end) {
    DryRunner runner(call);
    for (std::size_t i = begin; i < end; ++i) statuses[i] = runner.status_without_victims(request.runs[i]);
  });
  return statuses;
}

}  // namespace berth

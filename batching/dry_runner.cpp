// SPDX-License-Identifier: Apache-2.0
#include "batching/dry_runner.h"

#include <algorithm>

#include "batching/node_filter.h"

namespace berth {
namespace {

constexpr std::size_t kMaskBits = 64;
/// From here on it pays to find the lists of each kind.
constexpr std::ptrdiff_t kManyClasses = 4;

bool reads_tables(const PodClass& pod_class) { return pod_class.topology != nullptr && pod_class.topology->filters(); }

/// The request of the class in lanes, where amounts alone may decide.
LaneRequest lanes_of(const PreparedPod& pod, VictimMemory& memory) {
  if (!pod.pod_class().host.is_idle() || !pod.profile().filters<NodeResourcesFit>()) return {};
  memory.want_lanes(pod.pod_class());
  return memory.columns().request(pod.pod_class());
}

void keep(std::size_t victim, DryRunAnswer& answer, std::uint64_t* kept) {
  kept[victim / kMaskBits] |= std::uint64_t{1} << (victim % kMaskBits);
  ++answer.kept_count;
}

}  // namespace

PreparedDryRuns::PreparedDryRuns(const DryRunRequest& request, const NodeSides& sides, const Nominations& nominations,
                                 const Snapshot& snapshot, VictimMemory& memory)
    : request_(request), sides_(sides), nominations_(nominations), snapshot_(snapshot) {
  memory.begin(sides.table(), snapshot);
  prepare_preemptors(memory);
  const auto readers =
      std::count_if(classes_.begin(), classes_.end(), [](const auto& entry) { return entry.second.reads_tables; });
  const bool with_lanes =
      std::any_of(preemptors_.begin(), preemptors_.end(), [](const Preemptor& p) { return p.lanes.size != 0; });
  victims_ = std::make_unique<const Victims>(request, sides.table(), readers > 0, with_lanes, memory);
  if (readers >= kManyClasses) lists_of_kinds_ = std::make_unique<const ListsOfKinds>(*victims_);
}

void PreparedDryRuns::prepare_preemptors(VictimMemory& memory) {
  preemptors_.reserve(request_.preemptors.size());
  for (const PodToPlace& pod : request_.preemptors) {
    Preemptor& preemptor =
        preemptors_.emplace_back(Preemptor{{pod, sides_, nominations_, snapshot_}, nullptr, false, {}});
    if (!preemptor.pod.error().empty()) continue;
    const auto [found, is_new] = classes_.try_emplace(preemptor.pod.class_index());
    DryRunClass& of_class = found->second;
    if (is_new) {
      of_class.reads_tables = reads_tables(preemptor.pod.pod_class());
      of_class.affinity_skips = affinity_pre_filter_skips(preemptor.pod.pod_class(), snapshot_);
      if (of_class.reads_tables)
        of_class.known_moves = &memory.moves_for(preemptor.pod.class_index(), of_class.affinity_skips);
      of_class.lanes = lanes_of(preemptor.pod, memory);
    }
    preemptor.of_class = &of_class;
    preemptor.lanes = of_class.lanes;
    preemptor.nominations_matter = nominations_.any_against(*pod.pod);
  }
}

const VictimMoves& PreparedDryRuns::moves_of(const Preemptor& preemptor) const {
  const DryRunClass& of_class = *preemptor.of_class;
  std::call_once(of_class.moves_once, [&] {
    of_class.moves =
        std::make_unique<const VictimMoves>(preemptor.pod.pod_class(), of_class.affinity_skips, sides_.table(),
                                            *victims_, lists_of_kinds_.get(), *of_class.known_moves);
  });
  return *of_class.moves;
}

template <class Filter>
auto DryRunner::filter_twice(Filter filter_node_with) {
  if (loads_crowd_) {
    if (auto refusal = filter_node_with(crowded_); refusal.code != StatusCode::kSuccess) return refusal;
  } else if (nominations_matter_) {
    NodeOverlay crowded = overlay_;
    call_.nominations().add_against(preemptor_->pod.pod(), preemptor_->pod.pod_class(),
                                    preemptor_->of_class->affinity_skips, crowded);
    if (auto refusal = filter_node_with(crowded); refusal.code != StatusCode::kSuccess) return refusal;
  }
  return filter_node_with(overlay_);
}

bool DryRunner::begin_run(const DryRun& run, NodeVerdict& verdict) {
  preemptor_ = &call_.preemptor(run.preemptor);
  const PreparedPod& pod = preemptor_->pod;
  const std::int32_t node = call_.request().lists[run.list].node.value;
  side_.reset();
  if (!pod.error().empty()) {
    verdict.code = StatusCode::kError;
    return false;
  }
  side_ = pod.side_on(node);
  if (!side_) {
    verdict = pod.verdict_without_side(node);
    return false;
  }
  begin_class();
  prepared_ = &call_.victims().list(run.list);
  tables_matter_ = moves_ != nullptr && moves_->change(run.list);
  nominations_matter_ = preemptor_->nominations_matter && call_.nominations().any_against(pod.pod(), node);
  remove_all(run, overlay_);
  loads_crowd_ = nominations_matter_ && pod.pod_class().host.empty() && ports_stay() &&
                 !(preemptor_->of_class->reads_tables && call_.nominations().change_counts(pod.pod_class(), node));
  if (loads_crowd_) {
    remove_all(run, crowded_);
    call_.nominations().add_loads_against(pod.pod(), crowded_);
  }
  return true;
}

Status DryRunner::status_without_victims(const DryRun& run) {
  NodeVerdict verdict;
  if (!begin_run(run, verdict)) {
    if (verdict.code == StatusCode::kError) return {StatusCode::kError, "", {preemptor_->pod.error()}};
    return {verdict.code, std::string(verdict.plugin), {}};
  }
  return filter_twice([&](const NodeOverlay& node) {
    return filter_node(preemptor_->pod.pod_class(), preemptor_->pod.profile(), *side_, node,
                       preemptor_->of_class->affinity_skips);
  });
}

void DryRunner::answer(const DryRun& run, DryRunAnswer& answer, std::uint64_t* kept) {
  if (!begin_run(run, answer.without_victims)) return;
  const VictimList& list = call_.request().lists[run.list];
  answer.without_victims = filter();
  if (!answer.without_victims.accepts()) return;
  amounts_decide() ? reprieve_by_amounts(list, answer, kept) : reprieve(list, answer, kept);
}

void DryRunner::begin_class() {
  if (class_index_ == preemptor_->pod.class_index()) return;
  class_index_ = preemptor_->pod.class_index();
  const PodClass& pod_class = preemptor_->pod.pod_class();
  overlay_.read_for(pod_class);
  crowded_.read_for(pod_class);
  requests_.clear();
  for (const std::int32_t column : overlay_.columns())
    requests_.push_back(
        std::find_if(pod_class.requested.begin(), pod_class.requested.end(), [&](const RequestedResource& r) {
          return r.column == column;
        })->amount);
  moves_ = preemptor_->of_class->reads_tables ? &call_.moves_of(*preemptor_) : nullptr;
}

void DryRunner::remove_all(const DryRun& run, NodeOverlay& overlay) const {
  const VictimList& list = call_.request().lists[run.list];
  overlay.reset(list.node.value);
  overlay.remove_all({prepared_->all.delta, prepared_->all.ports, {}}, static_cast<std::int64_t>(prepared_->count()));
  if (!preemptor_->pod.pod_class().host.empty())
    for (const Victim& victim : list.victims) overlay.remove_for_hosts(victim.pod);
  if (!tables_matter_) return;
  for (std::size_t v = 0; v < prepared_->count(); ++v) overlay.apply_moves(moves_of(v), -1);
}

/// Reprieving victims changes no port that the class wants.
bool DryRunner::ports_stay() const { return preemptor_->pod.pod_class().ports.empty() || prepared_->all.ports.empty(); }

/// Whether victims can get in the way by their number, their amounts and the tables only: the usual case.
bool DryRunner::amounts_decide() const {
  return (!nominations_matter_ || loads_crowd_) && ports_stay() && preemptor_->pod.pod_class().host.is_idle() &&
         preemptor_->pod.profile().filters<NodeResourcesFit>();
}

/// Adds the victim to the tables, if the node then still accepts the preemptor.
bool DryRunner::add_to_tables(std::size_t victim) {
  const std::span<const CountMove> moves = moves_of(victim);
  if (moves.empty()) return true;
  overlay_.apply_moves(moves, 1);
  if (filter_topology(preemptor_->pod.pod_class(), overlay_, preemptor_->of_class->affinity_skips).accepts())
    return true;
  overlay_.apply_moves(moves, -1);
  return false;
}

void DryRunner::begin(const NodeOverlay& from, Filling& node) const {
  node.pod_count = from.pod_count();
  node.columns.clear();
  for (std::size_t r = 0; r < requests_.size(); ++r)
    node.columns.push_back({requests_[r], from.amounts()[r].allocatable, from.amounts()[r].requested,
                            prepared_->index_of(from.columns()[r])});
}

/// reprieve() where amounts_decide(): the node side and ports accept whatever victims come back.
void DryRunner::reprieve_by_amounts(const VictimList& list, DryRunAnswer& answer, std::uint64_t* kept) {
  const std::int64_t allowed_pods = overlay_.allowed_pods();
  const auto amount_of = [](const std::int64_t* victim, const Column& column) {
    return column.of_victim == PreparedList::kNoVictimRequests ? 0 : victim[column.of_victim];
  };
  const auto has_room = [&](const std::int64_t* victim, const Filling& node) {
    if (NodeResourcesFit::too_many_pods(node.pod_count + 1, allowed_pods)) return false;
    for (const Column& column : node.columns)
      if (NodeResourcesFit::is_short(column.request, column.allocatable,
                                     add_wrapping(column.requested, amount_of(victim, column))))
        return false;
    return true;
  };
  const auto put_back = [&](const std::int64_t* victim, Filling& node) {
    ++node.pod_count;
    for (Column& column : node.columns) column.requested = add_wrapping(column.requested, amount_of(victim, column));
  };
  begin(overlay_, plain_filling_);
  if (loads_crowd_) begin(crowded_, crowded_filling_);
  const std::size_t stride = prepared_->all.delta.requested.size();
  const std::int64_t* victim = prepared_->amounts.data();
  for (std::size_t i = 0; i < list.victims.size(); ++i, victim += stride) {
    const bool stays = has_room(victim, plain_filling_) && (!loads_crowd_ || has_room(victim, crowded_filling_)) &&
                       (!tables_matter_ || add_to_tables(i));
    if (!stays) {
      answer.violations += list.victims[i].violates_budget ? 1 : 0;
      continue;
    }
    keep(i, answer, kept);
    put_back(victim, plain_filling_);
    if (loads_crowd_) put_back(victim, crowded_filling_);
  }
}

void DryRunner::reprieve(const VictimList& list, DryRunAnswer& answer, std::uint64_t* kept) {
  for (std::size_t i = 0; i < list.victims.size(); ++i) {
    const PodEffect victim = effect_of(i, *list.victims[i].pod);
    overlay_.add(victim);
    if (filter().accepts()) {
      keep(i, answer, kept);
    } else {
      overlay_.remove(victim);
      answer.violations += list.victims[i].violates_budget ? 1 : 0;
    }
  }
}

NodeVerdict DryRunner::filter() {
  return filter_twice([&](const NodeOverlay& node) {
    return verdict_of_node(preemptor_->pod.pod_class(), preemptor_->pod.profile(), *side_, node,
                           preemptor_->of_class->affinity_skips);
  });
}

}  // namespace berth

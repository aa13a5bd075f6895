// SPDX-License-Identifier: Apache-2.0
#include "batching/dry_run.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {
namespace {

constexpr std::size_t kMaskBits = 64;

std::size_t mask_words(std::size_t victims) { return (victims + kMaskBits - 1) / kMaskBits; }

bool reads_tables(const PodClass& pod_class) { return pod_class.topology != nullptr && pod_class.topology->filters(); }

/// What a pod takes of its node.
struct Footprint {
  ResourceDelta delta;  ///< of the requested amounts, which alone are read by Filter
  std::vector<HostPort> ports;
};

void add_to(Footprint& sum, const Footprint& more) {
  for (const auto& [column, amount] : more.delta.requested) {
    const auto known = std::find_if(sum.delta.requested.begin(), sum.delta.requested.end(),
                                    [&, c = column](const auto& entry) { return entry.first == c; });
    if (known == sum.delta.requested.end()) {
      sum.delta.requested.emplace_back(column, amount);
    } else {
      known->second = add_wrapping(known->second, amount);
    }
  }
  sum.ports.insert(sum.ports.end(), more.ports.begin(), more.ports.end());
}

/// The victims of a request. Those of one template share their footprint and their kind: victims of equal kind change
/// the same tables.
class Victims {
 public:
  struct OfList {
    std::size_t first = 0;  ///< into the flat arrays
    std::size_t count = 0;
    Footprint all;  ///< of all victims together
  };

  /// @param with_kinds  kind_of() and pod_of_kind() will be read
  Victims(const DryRunRequest& request, const ClassTable& table, std::int32_t column_count, bool with_kinds)
      : column_count_(static_cast<std::size_t>(column_count)) {
    lists_.reserve(request.lists.size());
    for (const VictimList& list : request.lists) {
      OfList& of_list = lists_.emplace_back();
      of_list.first = footprint_of_.size();
      of_list.count = list.victims.size();
      for (const Victim& victim : list.victims) {
        footprint_of_.push_back(find_footprint(*victim.pod, table));
        if (with_kinds) kind_of_.push_back(find_kind(*victim.pod));
        add_to(of_list.all, footprints_[footprint_of_.back()]);
        append_amounts(footprints_[footprint_of_.back()].delta);
      }
    }
  }

  const OfList& list(std::size_t list) const { return lists_[list]; }
  const Footprint& footprint(std::size_t victim) const { return footprints_[footprint_of_[victim]]; }
  std::size_t kind_of(std::size_t victim) const { return kind_of_[victim]; }
  std::size_t kind_count() const { return pod_of_kind_.size(); }
  const Pod& pod_of_kind(std::size_t kind) const { return *pod_of_kind_[kind]; }
  /// [resource column] of the victim at a position of the flat arrays.
  const std::int64_t* amounts_of(std::size_t victim) const { return amounts_.data() + victim * column_count_; }

 private:
  void append_amounts(const ResourceDelta& delta) {
    const std::size_t first = amounts_.size();
    amounts_.resize(first + column_count_);
    for (const auto& [column, amount] : delta.requested) amounts_[first + static_cast<std::size_t>(column)] = amount;
  }
  std::size_t find_footprint(const Pod& pod, const ClassTable& table) {
    // Rare fields may change the requests of a running pod.
    const void* key = pod.rare_fields == nullptr ? static_cast<const void*>(pod.spec.get()) : &pod;
    const auto [at, is_new] = footprint_of_key_.try_emplace(key, footprints_.size());
    if (is_new) footprints_.push_back({table.delta_of(pod), wanted_host_ports(*pod.spec)});
    return at->second;
  }
  std::size_t find_kind(const Pod& pod) {
    const auto [at, is_new] =
        kind_of_key_.try_emplace({pod.spec.get(), pod.namespace_, pod.labels.bytes()}, pod_of_kind_.size());
    if (is_new) pod_of_kind_.push_back(&pod);
    return at->second;
  }

  struct KindKey {
    const PodSpec* spec;
    std::string_view name_space;
    std::string_view labels;
    friend bool operator==(const KindKey&, const KindKey&) = default;
  };
  struct KindKeyHash {
    std::size_t operator()(const KindKey& key) const {
      const std::hash<std::string_view> hash;
      return std::hash<const void*>()(key.spec) ^ (hash(key.name_space) * 31 + hash(key.labels));
    }
  };

  std::size_t column_count_;
  std::vector<std::int64_t> amounts_;  ///< [victim x column]: the usual case reads nothing else of a victim
  std::vector<OfList> lists_;
  std::vector<std::size_t> footprint_of_;
  std::vector<std::size_t> kind_of_;
  std::vector<Footprint> footprints_;
  std::unordered_map<const void*, std::size_t> footprint_of_key_;
  std::vector<const Pod*> pod_of_kind_;
  std::unordered_map<KindKey, std::size_t, KindKeyHash> kind_of_key_;
};

/// What all dry runs of a call read.
struct Call {
  const DryRunRequest& request;
  const ClassTable& table;
  const Nominations& nominations;
  const Snapshot& snapshot;
  const std::vector<PreparedPod>& preemptors;
  const Victims& victims;
};

/// Answers dry runs one after another, in one thread.
class DryRunner {
 public:
  explicit DryRunner(const Call& call) : call_(call), overlay_(call.snapshot) {}

  /// @param answer  first_kept is given  @param kept  the mask, all bits 0
  void answer(const DryRun& run, DryRunAnswer& answer, std::uint64_t* kept) {
    preemptor_ = &call_.preemptors[run.preemptor];
    const VictimList& list = call_.request.lists[run.list];
    row_ = nullptr;
    if (!preemptor_->error().empty()) {
      answer.without_victims.code = StatusCode::kError;
      return;
    }
    row_ = preemptor_->row_on(list.node.value);
    if (row_ == nullptr) {
      answer.without_victims = preemptor_->pre_filter_verdict();
      return;
    }
    begin_class();
    nominations_matter_ = call_.nominations.any_against(preemptor_->pod(), list.node.value);
    remove_all(list, call_.victims.list(run.list));
    answer.without_victims = judge();
    if (!answer.without_victims.accepts()) return;
    const std::size_t first = call_.victims.list(run.list).first;
    amounts_decide() ? reprieve_by_amounts(list, first, answer, kept) : reprieve(list, first, answer, kept);
  }

 private:
  void begin_class() {
    if (class_index_ == preemptor_->class_index()) return;
    class_index_ = preemptor_->class_index();
    const PodClass& pod_class = preemptor_->pod_class();
    overlay_.read_for(pod_class);
    requests_.clear();
    for (const std::int32_t column : overlay_.columns())
      requests_.push_back(
          std::find_if(pod_class.requested.begin(), pod_class.requested.end(), [&](const RequestedResource& r) {
            return r.column == column;
          })->amount);
    // PreFilter runs before any pod is removed.
    affinity_skips_ = affinity_pre_filter_skips(pod_class, call_.snapshot);
    moves_known_.assign(reads_tables(pod_class) ? call_.victims.kind_count() : 0, 0);
    moves_of_kind_.resize(call_.victims.kind_count());
  }

  /// Of the victim at a position of the flat arrays, in the tables that the class reads.
  const std::vector<CountMove>& moves_of(std::size_t victim) {
    static const std::vector<CountMove> kNone;
    if (moves_known_.empty()) return kNone;
    const std::size_t kind = call_.victims.kind_of(victim);
    if (moves_known_[kind] == 0) {
      moves_of_kind_[kind] = call_.table.topology().effect(call_.victims.pod_of_kind(kind),
                                                           *preemptor_->pod_class().topology, !affinity_skips_);
      moves_known_[kind] = 1;
    }
    return moves_of_kind_[kind];
  }

  PodEffect effect_of(std::size_t victim) {
    const Footprint& footprint = call_.victims.footprint(victim);
    return {footprint.delta, footprint.ports, moves_of(victim)};
  }

  void remove_all(const VictimList& list, const Victims::OfList& of_list) {
    overlay_.reset(list.node.value);
    overlay_.remove_all({of_list.all.delta, of_list.all.ports, {}}, static_cast<std::int64_t>(of_list.count));
    tables_matter_ = false;
    for (std::size_t v = of_list.first; v < of_list.first + of_list.count && !moves_known_.empty(); ++v) {
      const std::vector<CountMove>& moves = moves_of(v);
      overlay_.apply_moves(moves, -1);
      tables_matter_ = tables_matter_ || !moves.empty();
    }
  }

  static void keep(std::size_t victim, DryRunAnswer& answer, std::uint64_t* kept) {
    kept[victim / kMaskBits] |= std::uint64_t{1} << (victim % kMaskBits);
    ++answer.kept_count;
  }

  /// Whether victims can get in the way by their number, their amounts and the tables only: the usual case.
  bool amounts_decide() const {
    return !nominations_matter_ && preemptor_->pod_class().ports.empty() &&
           preemptor_->profile().filters<NodeResourcesFit>();
  }

  /// Adds the victim to the tables, if the node then still accepts the preemptor.
  bool add_to_tables(std::size_t victim) {
    const std::vector<CountMove>& moves = moves_of(victim);
    if (moves.empty()) return true;
    overlay_.apply_moves(moves, 1);
    if (filter_topology(preemptor_->pod_class(), overlay_, affinity_skips_).accepts()) return true;
    overlay_.apply_moves(moves, -1);
    return false;
  }

  /// reprieve() where amounts_decide(), over flat arrays.
  void reprieve_by_amounts(const VictimList& list, std::size_t first, DryRunAnswer& answer, std::uint64_t* kept) {
    node_.assign(overlay_.amounts().begin(), overlay_.amounts().end());
    std::int64_t pod_count = overlay_.pod_count();
    const std::int64_t allowed_pods = overlay_.allowed_pods();
    const std::span<const std::int32_t> columns = overlay_.columns();
    for (std::size_t i = 0; i < list.victims.size(); ++i) {
      const std::int64_t* const amounts = call_.victims.amounts_of(first + i);
      bool fits = !NodeResourcesFit::too_many_pods(pod_count + 1, allowed_pods);
      for (std::size_t r = 0; r < columns.size(); ++r)
        fits = fits && !NodeResourcesFit::is_short(
                           requests_[r], node_[r].allocatable,
                           add_wrapping(node_[r].requested, amounts[static_cast<std::size_t>(columns[r])]));
      if (!fits || (tables_matter_ && !add_to_tables(first + i))) {
        answer.violations += list.victims[i].violates_budget ? 1 : 0;
        continue;
      }
      keep(i, answer, kept);
      ++pod_count;
      for (std::size_t r = 0; r < columns.size(); ++r)
        node_[r].requested = add_wrapping(node_[r].requested, amounts[static_cast<std::size_t>(columns[r])]);
    }
  }

  void reprieve(const VictimList& list, std::size_t first, DryRunAnswer& answer, std::uint64_t* kept) {
    for (std::size_t i = 0; i < list.victims.size(); ++i) {
      const PodEffect victim = effect_of(first + i);
      overlay_.add(victim);
      if (judge().accepts()) {
        keep(i, answer, kept);
      } else {
        overlay_.remove(victim);
        answer.violations += list.victims[i].violates_budget ? 1 : 0;
      }
    }
  }

  /// Filter with and without the nominated pods that count against the preemptor.
  NodeVerdict judge() {
    if (nominations_matter_) {
      NodeOverlay crowded = overlay_;
      call_.nominations.add_against(preemptor_->pod(), preemptor_->pod_class(), affinity_skips_, crowded);
      if (const NodeVerdict verdict = judge_once(crowded); !verdict.accepts()) return verdict;
    }
    return judge_once(overlay_);
  }

  NodeVerdict judge_once(const NodeOverlay& node) const {
    return judge_node(preemptor_->pod_class(), preemptor_->profile(), *row_, node, affinity_skips_);
  }

  const Call& call_;
  NodeOverlay overlay_;
  // Of the current class:
  std::int32_t class_index_ = -1;
  bool affinity_skips_ = false;
  std::vector<std::int64_t> requests_;     ///< [NodeOverlay::columns]
  std::vector<std::uint8_t> moves_known_;  ///< [kind of victims]; empty: the class reads no table
  std::vector<std::vector<CountMove>> moves_of_kind_;
  // Of the current run:
  const PreparedPod* preemptor_ = nullptr;
  const NodeSideRow* row_ = nullptr;
  std::vector<NodeOverlay::Amounts> node_;  ///< [NodeOverlay::columns] with the victims that may stay
  bool nominations_matter_ = false;
  bool tables_matter_ = false;  ///< some victim changes a table that the class reads
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
                     const Snapshot& snapshot, const ForBlocks& for_blocks) {
  std::vector<PreparedPod> preemptors;
  preemptors.reserve(request.preemptors.size());
  bool with_kinds = false;
  for (const PodToPlace& pod : request.preemptors) {
    preemptors.emplace_back(pod, table, nominations);
    with_kinds = with_kinds || (preemptors.back().error().empty() && reads_tables(preemptors.back().pod_class()));
  }
  const Victims victims(request, table, snapshot.resource_count(), with_kinds);
  DryRunResult result = with_masks(request);
  const Call call{request, table, nominations, snapshot, preemptors, victims};
  for_blocks(request.runs.size(), [&](std::size_t begin, std::size_t end) {
    DryRunner runner(call);
    for (std::size_t i = begin; i < end; ++i)
      runner.answer(request.runs[i], result.answers[i], result.kept.data() + result.answers[i].first_kept);
  });
  return result;
}

}  // namespace berth

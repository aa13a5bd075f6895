// SPDX-License-Identifier: Apache-2.0
#include "batching/copies_that_fit.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "batching/copy_interplay.h"
#include "batching/node_filter.h"
#include "batching/prepared_pod.h"
#include "plugins/node_ports/rule.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

using Kind = CopiesOfPod::Kind;

/// Pods of classes that this may be asked about in one step of a thread.
constexpr std::size_t kPodsPerBlock = 16;

/// Amounts up to this are exact in doubles, and so is their quotient when it is rounded down.
constexpr std::int64_t kExactInDoubles = std::int64_t{1} << 53;

/// What nodes have left of each resource, once for all classes of a call, in doubles. By position among those of the
/// nodes that are asked about which take another pod.
class FreeAmounts {
 public:
  FreeAmounts(const Snapshot& snapshot, const std::vector<bool>* among) : snapshot_(snapshot) {
    for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) {
      if (!snapshot.has_node(i) || (among != nullptr && !is_in(*among, i))) continue;
      const std::int64_t left = NodeResourcesFit::slots_left(snapshot.pod_count(i), snapshot.allowed_pods(i));
      if (left == 0) continue;
      nodes_.push_back(i);
      pods_.push_back(static_cast<double>(std::min<std::int64_t>(left, INT32_MAX)));
    }
  }

  /// Ascending slots.
  std::span<const std::int32_t> nodes() const { return nodes_; }
  /// Pods that the nodes may still take.
  const std::vector<double>& pods() const { return pods_; }
  /// Call for every column before of().
  void read(std::int32_t column) {
    const auto at = static_cast<std::size_t>(column);
    if (at >= of_column_.size()) of_column_.resize(at + 1);
    if (of_column_[at].is_read) return;
    Column& free = of_column_[at];
    free.amounts.reserve(nodes_.size());
    for (const std::int32_t i : nodes_) {
      const std::int64_t allocatable = snapshot_.allocatable(column, i), requested = snapshot_.requested(column, i);
      free.is_exact = free.is_exact && std::max(allocatable, requested) < kExactInDoubles;
      free.amounts.push_back(static_cast<double>(allocatable - requested));
    }
    free.is_read = true;
  }
  /// null: some amount is too large for a double.
  const double* of(std::int32_t column) const {
    const Column& free = of_column_[static_cast<std::size_t>(column)];
    return free.is_exact ? free.amounts.data() : nullptr;
  }

 private:
  struct Column {
    bool is_read = false;
    bool is_exact = true;
    std::vector<double> amounts;
  };
  static bool is_in(const std::vector<bool>& among, std::int32_t node) {
    return static_cast<std::size_t>(node) < among.size() && among[static_cast<std::size_t>(node)];
  }

  const Snapshot& snapshot_;
  std::vector<std::int32_t> nodes_;
  std::vector<double> pods_;
  std::vector<Column> of_column_;
};

/// How many copies a node takes that is read as batching/load_rules.h says; in integers.
template <class Node>
std::int64_t copies_on(const PodClass& pod_class, const Node& node) {
  std::int64_t copies = NodeResourcesFit::slots_left(node.pod_count(), node.allowed_pods());
  for (const RequestedResource& request : pod_class.requested)
    if (request.amount > 0)
      copies = std::min(copies, NodeResourcesFit::requests_left(
                                    request.amount, node.allocatable(request.column) - node.requested(request.column)));
  return copies;
}

/// A pod of a class, as far as can be told without looking at nodes.
struct Asked {
  std::size_t pod = 0;
  std::optional<PreparedPod> prepared;
  CopyInterplay interplay;
  bool any_nominated_against = false;
  bool one_a_node = false;                         ///< by its ports
  const std::vector<double>* pods_left = nullptr;  ///< 0 of nodes that the node side refuses
};

class Counting {
 public:
  Counting(std::span<const PodToPlace> pods, const CopiesLimits& limits, const NodeSides& sides,
           const Nominations& nominations, const Snapshot& snapshot)
      : pods_(pods),
        limits_(limits),
        sides_(sides),
        nominations_(nominations),
        snapshot_(snapshot),
        free_(snapshot, limits.among) {
    answer_.slot_count = static_cast<std::size_t>(snapshot.slot_count());
    answer_.pods.resize(pods.size());
    if (limits.on_nodes) answer_.on_node.resize(pods.size() * answer_.slot_count);
  }

  CopiesAnswer run() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> first_of;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const PodToPlace& pod = pods_[i];
      answer_.pods[i].same_as = i;
      // Nominations tell priorities apart, and pods that are nominated themselves.
      const bool is_lone = nominations_.holds(*pod.pod) || pod.class_index < 0;
      const std::int32_t priority = nominations_.empty() ? 0 : pod.pod->priority;
      if (!is_lone) answer_.pods[i].same_as = first_of.try_emplace({pod.class_index, priority}, i).first->second;
      if (answer_.pods[i].same_as == i) ask(i);
    }
    count_all();
    for (CopiesOfPod& copies : answer_.pods) {
      const std::size_t same_as = copies.same_as;
      if (&copies != &answer_.pods[same_as]) copies = answer_.pods[same_as];
    }
    return std::move(answer_);
  }

 private:
  void ask(std::size_t i) {
    const PodToPlace& pod = pods_[i];
    CopiesOfPod& copies = answer_.pods[i];
    const ClassTable& table = sides_.table();
    // Answers of plugins on the host follow what is placed; a nominated pod goes to its own node first.
    if (nominations_.holds(*pod.pod)) return;
    if (!ClassTable::is_error(pod.class_index) && pod.class_index >= 0 && table.host_may_decide(pod.class_index))
      return;
    Asked asked{.pod = i,
                .prepared = std::nullopt,
                .interplay = {},
                .any_nominated_against = false,
                .one_a_node = false,
                .pods_left = nullptr};
    const PreparedPod& prepared = asked.prepared.emplace(pod, table, nominations_, snapshot_);
    if (!prepared.error().empty() || prepared.is_refused() || snapshot_.node_count() == 0) {
      copies.kind = Kind::kKnown;
      copies.error = prepared.error();
      return;
    }
    const PodClass& pod_class = prepared.pod_class();
    if (ends_in_errors(prepared) || !prepared.profile().filters<NodeResourcesFit>() || !read_amounts(pod_class)) return;
    asked.any_nominated_against = nominations_.any_against(*pod.pod);
    asked.one_a_node = !pod_class.ports.empty() && prepared.profile().filters<NodePorts>();
    if (pod_class.topology != nullptr)
      asked.interplay = interplay_of(*pod_class.topology, pod_class.moves, snapshot_.topology());
    if (const Kind kind = kind_of(asked); kind != Kind::kKnown) {
      copies.kind = kind;
      return;
    }
    asked.pods_left = &pods_left(prepared);
    asked_.push_back(std::move(asked));
  }

  /// Filters or scores may end the cycle, of which the first copy need not know.
  bool ends_in_errors(const PreparedPod& pod) const {
    const PodClass& pod_class = pod.pod_class();
    const bool of_topology = pod_class.topology != nullptr && !pod_class.topology->pre_score_error.empty();
    return pod.filter_may_fail() || pod_class.needs_int64 || scores_may_leave_range(pod_class, snapshot_) ||
           of_topology || !pod.row().pre_score_error.empty() || !pod.profile().missing_score_state.empty();
  }

  /// @return false: in doubles they would not be exact
  bool read_amounts(const PodClass& pod_class) {
    for (const RequestedResource& request : pod_class.requested) {
      if (request.amount <= 0 || request.column == kNoColumn) continue;
      free_.read(request.column);
      if (free_.of(request.column) == nullptr) return false;
    }
    return true;
  }

  Kind kind_of(const Asked& asked) const {
    using Interplay = CopyInterplay::Kind;
    const CopyInterplay& interplay = asked.interplay;
    if (interplay.kind == Interplay::kNone) return Kind::kKnown;
    if (interplay.kind == Interplay::kAfterFirst)
      return asked.any_nominated_against ? Kind::kUnknown : Kind::kAfterFirst;
    if (interplay.kind == Interplay::kAny || asked.any_nominated_against) return Kind::kUnknown;
    const std::int32_t column = interplay.kind == Interplay::kApart
                                    ? interplay.apart_column
                                    : snapshot_.topology().column_of(interplay.spread->table);
    // Which of the nodes of a domain get the copies depends on the order.
    if (limits_.on_nodes && !snapshot_.topology().column(column).one_node_each) return Kind::kUnknown;
    return snapshot_.guests().empty() ? Kind::kKnown : Kind::kUnknown;
  }

  /// The pods that nodes take which the node side accepts; one list for all classes of a node side.
  const std::vector<double>& pods_left(const PreparedPod& pod) {
    const NodeSideRow& row = pod.row();
    const bool has_guests = !snapshot_.guests().empty();
    if (!has_guests && row.refusal_of.empty()) return free_.pods();
    const NodeSideView view = sides_.view(row, pod.class_index());
    // Guests have rows by class.
    const std::pair<const NodeSideRow*, std::int32_t> key{&row, has_guests ? pod.class_index() : 0};
    std::unique_ptr<std::vector<double>>& list = of_node_side_[key];
    if (list != nullptr) return *list;
    auto left = std::make_unique<std::vector<double>>(free_.pods());
    for (std::size_t i = 0; i < left->size(); ++i)
      if (view.refusal(free_.nodes()[i]) != NodeSideRow::kAccepted) (*left)[i] = 0;
    list = std::move(left);
    return *list;
  }

  void count_all() {
    const std::size_t blocks = (asked_.size() + kPodsPerBlock - 1) / kPodsPerBlock;
    const auto count_blocks = [&](std::size_t begin, std::size_t end) {
      std::vector<double> copies;
      for (std::size_t a = begin * kPodsPerBlock; a < std::min(end * kPodsPerBlock, asked_.size()); ++a) {
        const Asked& asked = asked_[a];
        CopiesOfPod& of_pod = answer_.pods[asked.pod];
        const std::optional<std::int64_t> known = count(asked, copies);
        if (!known) continue;
        of_pod.count = *known;
        of_pod.kind = Kind::kKnown;
      }
    };
    if (limits_.in_blocks != nullptr && blocks > 1 &&
        snapshot_.guests().empty()) {  // whose rows are made when asked for
      (*limits_.in_blocks)(blocks, count_blocks);
    } else {
      count_blocks(0, blocks);
    }
  }

  /// @param copies  scratch, by position in FreeAmounts::nodes()
  /// @return nullopt: they have to be placed
  std::optional<std::int64_t> count(const Asked& asked, std::vector<double>& copies) {
    const PodClass& pod_class = asked.prepared->pod_class();
    fill_by_load(pod_class, *asked.pods_left, copies);
    const bool filters_topology = pod_class.topology != nullptr && pod_class.topology->filters();
    if (asked.one_a_node) {
      for (std::size_t i = 0; i < copies.size(); ++i) {
        if (copies[i] < 1) continue;
        const bool accepts = load_accepts(pod_class, asked.prepared->profile(), snapshot_, free_.nodes()[i]);
        copies[i] = accepts ? 1 : 0;
      }
    }
    if (asked.any_nominated_against) count_beside_nominated(asked, copies);
    if (filters_topology) leave_out_by_topology(asked, copies);
    const std::optional<std::int64_t> total = sum_up(asked.interplay, copies);
    if (total && limits_.on_nodes) write_on_nodes(asked.pod, copies);
    return total;
  }

  /// Rounded down, since only whole copies are placed.
  void fill_by_load(const PodClass& pod_class, const std::vector<double>& pods_left,
                    std::vector<double>& copies) const {
    copies = pods_left;
    for (const RequestedResource& request : pod_class.requested) {
      if (request.amount <= 0) continue;
      if (request.column == kNoColumn) return copies.assign(copies.size(), 0);
      const double* const free = free_.of(request.column);
      const auto amount = static_cast<double>(request.amount);
      for (std::size_t i = 0; i < copies.size(); ++i)
        copies[i] = std::min(copies[i], NodeResourcesFit::requests_left(amount, free[i]));
    }
    for (double& on_node : copies) on_node = static_cast<double>(static_cast<std::int32_t>(on_node));
  }

  /// With the pods that are nominated to a node and without them a copy must fit.
  void count_beside_nominated(const Asked& asked, std::vector<double>& copies) const {
    const PreparedPod& pod = *asked.prepared;
    Nominations::CrowdedNode crowded = nominations_.crowded_node(pod.pod_class(), snapshot_);
    const NodeSideView side = sides_.view(pod.row(), pod.class_index());
    for (const std::int32_t node : nominations_.nominated_nodes()) {
      const auto at = std::ranges::lower_bound(free_.nodes(), node);
      if (at == free_.nodes().end() || *at != node) continue;
      double& here = copies[static_cast<std::size_t>(at - free_.nodes().begin())];
      if (here < 1 || !nominations_.crowd(pod.pod(), pod.pod_class(), node, crowded)) continue;
      const std::int64_t beside = copies_on(pod.pod_class(), crowded.overlay);
      const bool accepts =
          nominations_
              .verdict_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot_, node, crowded)
              .accepts();
      here = accepts ? std::min(here, static_cast<double>(beside)) : 0;
    }
  }

  void leave_out_by_topology(const Asked& asked, std::vector<double>& copies) const {
    const PodClass& pod_class = asked.prepared->pod_class();
    const bool skew_moves = asked.interplay.kind == CopyInterplay::Kind::kSpread;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i] < 1) continue;
      const TopologyVerdict verdict = filter_topology(pod_class, snapshot_, free_.nodes()[i]);
      const bool spread_accepts =
          verdict.spread == SpreadVerdict::kAccepted || (skew_moves && verdict.spread == SpreadVerdict::kSkew);
      if (!spread_accepts || verdict.affinity != AffinityVerdict::kAccepted) copies[i] = 0;
    }
  }

  /// @param copies  that nodes take by themselves; becomes those that they get where the order leaves no choice
  std::optional<std::int64_t> sum_up(const CopyInterplay& interplay, std::vector<double>& copies) const {
    const TopologyCounts& counts = snapshot_.topology();
    if (interplay.apart_column >= 0) close_domains(counts, interplay.apart_column, copies);
    if (interplay.kind != CopyInterplay::Kind::kSpread) return sum_of(copies);
    const std::int32_t table = interplay.spread->table;
    const std::int32_t column = counts.column_of(table);
    std::vector<std::int64_t> of_domain(static_cast<std::size_t>(counts.domain_count(column)) + 1);
    const auto domain_of = [&](std::size_t i) -> std::int64_t& {
      return of_domain[static_cast<std::size_t>(counts.domain_of(column, free_.nodes()[i]))];
    };
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i] < 1) continue;
      if (!counts.counts_node(table, free_.nodes()[i])) return std::nullopt;
      domain_of(i) += static_cast<std::int64_t>(copies[i]);
    }
    const std::int64_t total = copies_under_skew(*interplay.spread, interplay.spread_amount, of_domain, counts);
    if (limits_.on_nodes)  // of domains of one node: kind_of()
      for (std::size_t i = 0; i < copies.size(); ++i)
        if (copies[i] >= 1) copies[i] = static_cast<double>(domain_of(i));
    return total;
  }

  /// Of integers whose sum is far below 2^53. In four parts, since each addition waits for the one before.
  static std::int64_t sum_of(const std::vector<double>& copies) {
    std::array<double, 4> sums{};
    std::size_t i = 0;
    for (; i + 4 <= copies.size(); i += 4)
      for (std::size_t k = 0; k < 4; ++k) sums[k] += copies[i + k];
    for (; i < copies.size(); ++i) sums[0] += copies[i];
    return static_cast<std::int64_t>(sums[0] + sums[1] + sums[2] + sums[3]);
  }

  /// One copy a domain; nodes without the key take what they can.
  void close_domains(const TopologyCounts& counts, std::int32_t column, std::vector<double>& copies) const {
    std::vector<std::uint8_t> is_closed(static_cast<std::size_t>(counts.domain_count(column)) + 1);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i] < 1) continue;
      const auto domain = static_cast<std::size_t>(counts.domain_of(column, free_.nodes()[i]));
      if (domain == 0) continue;
      copies[i] = is_closed[domain] != 0 ? 0 : 1;
      is_closed[domain] = 1;
    }
  }

  void write_on_nodes(std::size_t pod, const std::vector<double>& copies) {
    std::int32_t* const on_node = answer_.on_node.data() + pod * answer_.slot_count;
    for (std::size_t i = 0; i < copies.size(); ++i)
      on_node[static_cast<std::size_t>(free_.nodes()[i])] = static_cast<std::int32_t>(copies[i]);
  }

  std::span<const PodToPlace> pods_;
  const CopiesLimits& limits_;
  const NodeSides& sides_;
  const Nominations& nominations_;
  const Snapshot& snapshot_;
  FreeAmounts free_;
  std::map<std::pair<const NodeSideRow*, std::int32_t>, std::unique_ptr<std::vector<double>>> of_node_side_;
  std::vector<Asked> asked_;
  CopiesAnswer answer_;
};

}  // namespace

CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits, const NodeSides& sides,
                             const Nominations& nominations, const Snapshot& snapshot) {
  return Counting(pods, limits, sides, nominations, snapshot).run();
}

}  // namespace berth

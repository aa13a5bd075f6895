// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/row_tile.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "batching/node_filter.h"
#include "host/framework/draw.h"
#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_balanced_allocation/rule.h"

namespace berth {
namespace {

// A refresh of the node that a placement went to is all that another class's row needs.
static_assert(NodePorts::touches == Touches::kColumnOfNode);
static_assert(NodeResourcesFit::touches == Touches::kColumnOfNode);
static_assert(NodeResourcesBalancedAllocation::touches == Touches::kColumnOfNode);

constexpr int kArity = 4;
/// The tournament stops here: a class looks through so few entries sooner than every class keeps further levels.
constexpr std::int32_t kTopEntries = 96;
constexpr std::int32_t kBuildNodes = 256;  ///< nodes a task of build(); a divisor of kPageNodes
constexpr double kAsksNothing = -std::numeric_limits<double>::infinity();
std::size_t pages_for(std::int32_t entries) {
  return static_cast<std::size_t>((entries + kPageNodes - 1) / kPageNodes);
}

void add_count(std::vector<std::pair<std::int64_t, std::int64_t>>& counts, std::int64_t raw, std::int64_t change) {
  const auto at = std::lower_bound(counts.begin(), counts.end(), raw,
                                   [](const auto& entry, std::int64_t value) { return entry.first > value; });
  if (at != counts.end() && at->first == raw) {
    at->second += change;
  } else {
    counts.insert(at, {raw, change});
  }
}

std::int64_t max_raw(const std::vector<std::pair<std::int64_t, std::int64_t>>& counts) {
  for (const auto& [raw, count] : counts)
    if (count > 0) return std::max<std::int64_t>(raw, 0);
  return 0;
}

/// Reads one amount into a lane and notes whether it is too large for it. Sums that wrapped to below 0 are, too.
double lane(std::int64_t amount, bool& exact) {
  exact = exact && amount >= 0 && amount < kExactBelow;
  return static_cast<double>(amount);
}

}  // namespace

RowTile::RowTile(std::span<const std::int32_t> classes, ClassTable& table, const Snapshot& snapshot, bool draws,
                 RowTile* retired)
    : table_(table),
      classes_(classes.begin(), classes.end()),
      slot_count_((static_cast<int>(classes.size()) + kSlotStep - 1) / kSlotStep * kSlotStep),
      node_count_(snapshot.node_count()),
      normalizers_(classes.size()) {
  for (const std::int32_t c : classes_) {
    node_sides_.push_back(&table_.node_side(c));
    const PodClass& pod_class = table_[c];
    in_integers_ = in_integers_ || pod_class.needs_int64;
    if (!pod_class.ports.empty() && table_.profile_of(c).rank_node_ports != kNotEnabled)
      port_slots_.push_back(static_cast<int>(node_sides_.size()) - 1);
  }
  fill_params();
  params_.draws = draws;
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    normalizers_[s].maxima = node_sides_[s]->accepted_maxima;
    // What is normalised over nodes that topology may refuse is not the tile's to sum up.
    normalizers_[s].tracked = node_sides_[s]->raws_vary && !has_topology(static_cast<int>(s));
    if (normalizers_[s].tracked) tracked_slots_.push_back(static_cast<int>(s));
  }
  shares_base_ = tracked_slots_.empty();
  for (std::size_t s = 0; s < classes_.size(); ++s)
    shares_base_ = shares_base_ && node_sides_[s] == node_sides_.front() && !has_topology(static_cast<int>(s));
  take_storage(retired);
}

void RowTile::take_storage(RowTile* retired) {
  if (retired != nullptr && retired->slot_count_ == slot_count_ && retired->node_count_ == node_count_ &&
      retired->shares_base_ == shares_base_) {
    base_ = std::move(retired->base_);
    levels_ = std::move(retired->levels_);
    top_entries_ = retired->top_entries_;
    base_.fill(-1);
    levels_.front().fill(0);
    return;
  }
  if (!shares_base_)
    base_ = Pages<std::int32_t>(pages_for(node_count_), static_cast<std::size_t>(kPageNodes * slot_count_), -1);
  std::int32_t entries = std::max(node_count_, 1);
  for (;;) {
    const std::int32_t page_entries = std::min(kPageNodes, (entries + kArity - 1) / kArity * kArity);
    levels_.emplace_back(pages_for(entries), static_cast<std::size_t>(page_entries * slot_count_), 0);
    top_entries_ = entries;
    if (entries <= kTopEntries) break;
    entries = (entries + kArity - 1) / kArity;
  }
}

void RowTile::fill_params() {
  const CompiledProfile& profile = table_.profile_of(classes_.front());
  for (const std::int32_t c : classes_) {
    if (profile.rank_node_resources_fit == kNotEnabled) break;
    for (const RequestedResource& request : table_[c].requested)
      if (std::find(filter_columns_.begin(), filter_columns_.end(), request.column) == filter_columns_.end())
        filter_columns_.push_back(request.column);
  }
  if (profile.weight_fit != 0)
    for (const ScoredResource& resource : profile.fit.resources) fit_columns_.push_back(resource.column);
  if (profile.weight_balanced != 0)
    for (const ScoredResource& resource : profile.balanced_resources) balanced_columns_.push_back(resource.column);
  const auto too_many = [](const std::vector<std::int32_t>& columns) { return columns.size() > kMaxKernelResources; };
  in_integers_ = in_integers_ || too_many(filter_columns_) || too_many(fit_columns_) || too_many(balanced_columns_);
  if (in_integers_) filter_columns_.clear(), fit_columns_.clear(), balanced_columns_.clear();

  const std::size_t lists = filter_columns_.size() + 2 * fit_columns_.size() + 2 * balanced_columns_.size() + 1;
  doubles_.assign(lists * static_cast<std::size_t>(slot_count_), 0.0);
  draw_seeds_.assign(static_cast<std::size_t>(slot_count_), 0);
  params_.slot_count = slot_count_;
  params_.filter_count = static_cast<int>(filter_columns_.size());
  params_.fit_count = static_cast<int>(fit_columns_.size());
  params_.balanced_count = static_cast<int>(balanced_columns_.size());
  params_.strategy = profile.fit.type;
  params_.balance_of_change = profile.release != Release::k1_35;
  params_.fit_weight = profile.weight_fit;
  for (std::size_t p = 0; p < score_of_utilization_.size(); ++p)
    score_of_utilization_[p] = profile.fit.score_of_utilization[p];
  fill_filter_params();
  fill_score_params();
}

void RowTile::fill_filter_params() {
  const auto slots = static_cast<std::size_t>(slot_count_);
  double* request = doubles_.data();
  std::fill_n(request, filter_columns_.size() * slots, kAsksNothing);
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    draw_seeds_[s] = table_[classes_[s]].draw_seed;
    for (const RequestedResource& asked : table_[classes_[s]].requested)
      for (std::size_t r = 0; r < filter_columns_.size(); ++r)
        // Resources that no node offers share one column of zeroes; the largest request decides.
        if (filter_columns_[r] == asked.column)
          request[r * slots + s] = std::max(request[r * slots + s], static_cast<double>(asked.amount));
  }
  params_.request = request;
  params_.draw_seed = draw_seeds_.data();
}

void RowTile::fill_score_params() {
  const CompiledProfile& profile = table_.profile_of(classes_.front());
  const auto slots = static_cast<std::size_t>(slot_count_);
  double* fit_request = doubles_.data() + filter_columns_.size() * slots;
  double* fit_weight = fit_request + fit_columns_.size() * slots;
  double* balanced_request = fit_weight + fit_columns_.size() * slots;
  double* balanced_counts = balanced_request + balanced_columns_.size() * slots;
  double* balanced_weight = balanced_counts + balanced_columns_.size() * slots;
  params_.fit_counts_always = params_.balanced_counts_always = true;
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    const PodClass& pod_class = table_[classes_[s]];
    for (std::size_t r = 0; r < fit_columns_.size(); ++r) {
      const ScoredRequest& asked = pod_class.fit_requests[r];
      fit_request[r * slots + s] = static_cast<double>(asked.amount);
      fit_weight[r * slots + s] = asked.counts ? static_cast<double>(profile.fit.resources[r].weight) : 0.0;
      params_.fit_counts_always = params_.fit_counts_always && asked.counts;
    }
    for (std::size_t r = 0; r < balanced_columns_.size(); ++r) {
      const ScoredRequest& asked = pod_class.balanced_requests[r];
      balanced_request[r * slots + s] = static_cast<double>(asked.amount);
      balanced_counts[r * slots + s] = asked.counts ? 1.0 : 0.0;
      params_.balanced_counts_always = params_.balanced_counts_always && asked.counts;
    }
    balanced_weight[s] = pod_class.balanced_skips ? 0.0 : profile.weight_balanced;
  }
  params_.fit_request = fit_request;
  params_.fit_part_weight = fit_weight;
  params_.balanced_request = balanced_request;
  params_.balanced_counts = balanced_counts;
  params_.balanced_weight = balanced_weight;
  params_.score_of_utilization = score_of_utilization_.data();
}

int RowTile::slot_of(std::int32_t pod_class) const {
  const auto at = std::find(classes_.begin(), classes_.end(), pod_class);
  return at == classes_.end() ? -1 : static_cast<int>(at - classes_.begin());
}

bool RowTile::fill_lanes(const Snapshot& snapshot, std::int32_t node, NodeLanes& lanes) const {
  bool exact = true;
  const auto allocatable = [&](std::int32_t column) {
    return column == kNoColumn ? 0.0 : lane(snapshot.allocatable(column, node), exact);
  };
  const auto requested = [&](std::int32_t column) {
    return column == kNoColumn ? 0.0 : lane(snapshot.requested(column, node), exact);
  };
  for (std::size_t r = 0; r < filter_columns_.size(); ++r)
    lanes.free[r] = allocatable(filter_columns_[r]) - requested(filter_columns_[r]);
  for (std::size_t r = 0; r < fit_columns_.size(); ++r) {
    const std::int32_t column = fit_columns_[r];
    lanes.fit_allocatable[r] = LaneDivisor(allocatable(column));
    lanes.fit_requested[r] = column == kCpuColumn      ? lane(snapshot.non_zero_milli_cpu(node), exact)
                             : column == kMemoryColumn ? lane(snapshot.non_zero_memory_bytes(node), exact)
                                                       : requested(column);
  }
  for (std::size_t r = 0; r < balanced_columns_.size(); ++r) {
    lanes.balanced_allocatable[r] = allocatable(balanced_columns_[r]);
    lanes.balanced_requested[r] = requested(balanced_columns_[r]);
  }
  const std::int64_t pods = snapshot.pod_count(node);
  lanes.draw_seed = node_draw_seed(snapshot.node_hash(node), static_cast<std::uint32_t>(pods));
  lanes.room = !checks_fit() || !NodeResourcesFit::too_many_pods(pods, snapshot.allowed_pods(node));
  return exact;
}

const std::int32_t* RowTile::node_base(const Snapshot& snapshot, std::int32_t node, std::int32_t* scratch) const {
  const std::int32_t* base = scratch;
  if (shares_base_) {
    std::fill_n(scratch, classes_.size(), node_sides_.front()->total_of[static_cast<std::size_t>(node)]);
    std::fill(scratch + classes_.size(), scratch + slot_count_, -1);
  } else {
    base = base_.read(static_cast<std::size_t>(node >> kPageNodesLog2)) + (node & (kPageNodes - 1)) * slot_count_;
  }
  if (port_slots_.empty() || snapshot.used_ports(node).empty()) return base;
  if (base != scratch) std::copy_n(base, slot_count_, scratch);
  for (const int s : port_slots_)
    if (ports_conflict(table_[classes_[static_cast<std::size_t>(s)]].ports, snapshot.used_ports(node))) scratch[s] = -1;
  return scratch;
}

bool RowTile::evaluate(const Snapshot& snapshot, std::int32_t node, std::int64_t* feasible_count) {
  const auto page = static_cast<std::size_t>(node >> kPageNodesLog2);
  const std::int32_t offset = (node & (kPageNodes - 1)) * slot_count_;
  std::array<std::int32_t, kMaxSlots> scratch;
  const std::int32_t* base = node_base(snapshot, node, scratch.data());
  NodeKey* keys = levels_.front().write(page) + offset;
  NodeLanes lanes;
  if (in_integers_ || !fill_lanes(snapshot, node, lanes))
    return evaluate_in_integers(snapshot, node, base, keys, feasible_count);
  return slot_kernels().refresh(params_, lanes, base, keys, feasible_count);
}

bool RowTile::evaluate_in_integers(const Snapshot& snapshot, std::int32_t node, const std::int32_t* base, NodeKey* keys,
                                   std::int64_t* feasible_count) {
  const std::uint32_t node_seed =
      node_draw_seed(snapshot.node_hash(node), static_cast<std::uint32_t>(snapshot.pod_count(node)));
  bool changed = false;
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    const PodClass& pod_class = table_[classes_[s]];
    const CompiledProfile& profile = table_.profile_of(classes_[s]);
    NodeKey key = 0;
    if (base[s] >= 0 && load_accepts(pod_class, profile, snapshot, node))
      key = make_node_key(base[s] + load_total(pod_class, profile, snapshot, node),
                          params_.draws ? tie_draw(pod_class.draw_seed, node_seed) : 1u);
    const int change = (key > 0 ? 1 : 0) - (keys[s] > 0 ? 1 : 0);
    feasible_count[s] += change;
    changed = changed || change != 0;
    keys[s] = key;
  }
  return changed;
}

std::int32_t RowTile::initial_base(int slot, std::int32_t node) const {
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const std::int32_t total = row.total_of[static_cast<std::size_t>(node)];
  if (total < 0 || !has_topology(slot)) return total;
  return static_cast<std::int32_t>(row.image(node) * table_.profile_of(classes_.front()).weight_image_locality);
}

void RowTile::fill_base(std::int32_t first, std::int32_t last) {
  if (shares_base_) return;
  for (std::int32_t i = first; i < last; ++i) {
    std::int32_t* base =
        base_.write(static_cast<std::size_t>(i >> kPageNodesLog2)) + (i & (kPageNodes - 1)) * slot_count_;
    for (std::size_t s = 0; s < classes_.size(); ++s) base[s] = initial_base(static_cast<int>(s), i);
  }
}

void RowTile::build(const Snapshot& snapshot) {
  std::mutex mutex;
  // A fresh tile shares no page, so ranges of one page may be written side by side.
  const std::int32_t range_count = (node_count_ + kBuildNodes - 1) / kBuildNodes;
  tbb::parallel_for(0, range_count, [&](std::int32_t range) {
    std::array<std::int64_t, kMaxSlots> counts{};
    const std::int32_t first = range * kBuildNodes;
    const std::int32_t last = std::min(first + kBuildNodes, node_count_);
    fill_base(first, last);
    for (std::int32_t i = first; i < last; ++i) evaluate(snapshot, i, counts.data());
    const std::lock_guard lock(mutex);
    for (std::size_t s = 0; s < counts.size(); ++s) feasible_count_[s] += counts[s];
  });
  refresh_count += static_cast<std::int64_t>(node_count_) * static_cast<std::int64_t>(classes_.size());
  build_upper_levels(1);
  for (const int slot : tracked_slots_) count_raws(snapshot, slot);
  finish_refresh(snapshot);
}

void RowTile::build_upper_levels(std::size_t from_level) {
  std::int32_t entries = std::max(node_count_, 1);
  for (std::size_t l = 1; l < levels_.size(); ++l) {
    entries = (entries + kArity - 1) / kArity;
    if (l < from_level) continue;
    const Keys& below = levels_[l - 1];
    const auto combine_range = [&, l](std::int32_t first, std::int32_t last) {
      for (std::int32_t e = first; e < last; ++e) {
        const std::int32_t child = e * kArity;
        slot_kernels().combine(
            below.read(static_cast<std::size_t>(child >> kPageNodesLog2)) + (child & (kPageNodes - 1)) * slot_count_,
            levels_[l].write(static_cast<std::size_t>(e >> kPageNodesLog2)) + (e & (kPageNodes - 1)) * slot_count_,
            slot_count_, kAllGroups);
      }
    };
    combine_range(0, entries);
  }
}

void RowTile::climb(std::int32_t node) {
  std::int32_t entry = node;
  std::uint32_t groups = kAllGroups;
  for (std::size_t l = 1; l < levels_.size(); ++l) {
    entry /= kArity;
    const std::int32_t child = entry * kArity;
    const NodeKey* children = levels_[l - 1].read(static_cast<std::size_t>(child >> kPageNodesLog2)) +
                              (child & (kPageNodes - 1)) * slot_count_;
    NodeKey* parent =
        levels_[l].write(static_cast<std::size_t>(entry >> kPageNodesLog2)) + (entry & (kPageNodes - 1)) * slot_count_;
    groups = slot_kernels().combine(children, parent, slot_count_, groups);
    if (groups == 0) return;
  }
}

void RowTile::prefetch(std::int32_t node) const {
  constexpr int kKeysPerLine = 8;
  // The keys of the node and its siblings lie together, and so do those of their parent and its siblings.
  std::int32_t entry = node;
  for (std::size_t l = 0; l < std::min<std::size_t>(2, levels_.size() - 1); ++l, entry /= kArity) {
    const std::int32_t first = entry / kArity * kArity;
    const NodeKey* keys =
        levels_[l].read(static_cast<std::size_t>(first >> kPageNodesLog2)) + (first & (kPageNodes - 1)) * slot_count_;
    for (int k = 0; k < kArity * slot_count_; k += kKeysPerLine) __builtin_prefetch(keys + k, 1);
  }
}

void RowTile::refresh(const Snapshot& snapshot, std::int32_t node) {
  std::array<bool, kMaxSlots> was_feasible;
  for (const int slot : tracked_slots_) was_feasible[static_cast<std::size_t>(slot)] = key(slot, node) > 0;
  const bool flipped = evaluate(snapshot, node, feasible_count_.data());
  refresh_count += static_cast<std::int64_t>(classes_.size());
  if (flipped)
    for (const int slot : tracked_slots_) {
      const int change = (key(slot, node) > 0 ? 1 : 0) - (was_feasible[static_cast<std::size_t>(slot)] ? 1 : 0);
      if (change != 0) note_flip(snapshot, slot, node, change);
    }
  climb(node);
}

void RowTile::count_raws(const Snapshot& snapshot, int slot) {
  for (std::int32_t i = 0; i < node_count_; ++i)
    if (key(slot, i) > 0) note_flip(snapshot, slot, i, 1);
  // Even when no node is feasible the maxima that were assumed may be wrong.
  normalizers_[static_cast<std::size_t>(slot)].moved = true;
}

void RowTile::note_flip(const Snapshot& snapshot, int slot, std::int32_t node, int change) {
  Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  add_count(normalizer.taint_counts, row.taint_raw(snapshot, node), change);
  add_count(normalizer.affinity_counts, row.affinity(node), change);
  normalizer.moved = true;
}

void RowTile::finish_refresh(const Snapshot& snapshot) {
  for (const int slot : tracked_slots_) {
    Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
    if (!normalizer.moved) continue;
    normalizer.moved = false;
    const RawMaxima now{max_raw(normalizer.taint_counts), max_raw(normalizer.affinity_counts)};
    if (now == normalizer.maxima) continue;
    normalizer.maxima = now;
    renormalize(snapshot, slot);
  }
}

void RowTile::renormalize(const Snapshot& snapshot, int slot) {
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const CompiledProfile& profile = table_.profile_of(classes_.front());
  const RawMaxima& maxima = normalizers_[static_cast<std::size_t>(slot)].maxima;
  for (std::int32_t i = 0; i < node_count_; ++i) {
    if (row.refusal(i) != NodeSideRow::kAccepted) continue;
    const auto page = static_cast<std::size_t>(i >> kPageNodesLog2);
    const std::int32_t offset = (i & (kPageNodes - 1)) * slot_count_ + slot;
    std::int32_t& base = base_.write(page)[offset];
    // A node that is full may exceed what the feasible ones reach. Any base of an accepted node serves it: when it is
    // feasible again, the maxima move.
    const bool within = row.taint_raw(snapshot, i) <= maxima.taint && row.affinity(i) <= maxima.affinity;
    const std::int32_t now = within ? static_cast<std::int32_t>(node_side_total(row, profile, snapshot, i, maxima))
                                    : row.total_of[static_cast<std::size_t>(i)];
    NodeKey& key = levels_.front().write(page)[offset];
    if (key > 0) key += static_cast<std::int64_t>(now - base) << 32;
    base = now;
  }
  build_upper_levels(1);
}

RowTile::Best RowTile::best(int slot) const {
  const NodeKey* top = levels_.back().read(0) + slot;
  Best best;
  for (std::int32_t e = 0; e < top_entries_; ++e)
    if (top[e * slot_count_] > best.key) best = {top[e * slot_count_], e};
  for (std::size_t l = levels_.size() - 1; l-- > 0;) {
    best.node *= kArity;
    while (key_at(levels_[l], slot, best.node) != best.key) ++best.node;
  }
  return best;
}

std::int32_t RowTile::base(int slot, std::int32_t node) const {
  if (shares_base_) return node_sides_.front()->total_of[static_cast<std::size_t>(node)];
  return base_.read(static_cast<std::size_t>(node >> kPageNodesLog2))[(node & (kPageNodes - 1)) * slot_count_ + slot];
}

RowTile::MaximaHolders RowTile::maxima_holders(int slot) const {
  const Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
  const auto holders_of = [](const auto& counts, std::int64_t maximum) {
    for (const auto& [raw, count] : counts)
      if (raw == maximum) return count;
    return std::int64_t{0};
  };
  return {holders_of(normalizer.taint_counts, normalizer.maxima.taint),
          holders_of(normalizer.affinity_counts, normalizer.maxima.affinity)};
}

bool RowTile::loses_holder(int slot, const Snapshot& snapshot, std::int32_t node, MaximaHolders& holders) const {
  if (!tracks_maxima(slot)) return false;
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const bool last_taint = row.taint_raw(snapshot, node) == maxima(slot).taint && --holders.taint == 0;
  const bool last_affinity = row.affinity(node) == maxima(slot).affinity && --holders.affinity == 0;
  return last_taint || last_affinity;
}

CopySteps RowTile::copy_steps(int slot) const {
  const PodClass& pod_class = table_[classes_[static_cast<std::size_t>(slot)]];
  const auto slots = static_cast<std::size_t>(slot_count_);
  const auto step_of = [&](std::int32_t column) {
    for (const auto& [r, amount] : pod_class.delta.requested)
      if (r == column) return static_cast<double>(amount);
    return 0.0;
  };
  CopySteps steps{};
  for (std::size_t r = 0; r < filter_columns_.size(); ++r) {
    steps.request[r] = params_.request[r * slots + static_cast<std::size_t>(slot)];
    steps.filter_step[r] = step_of(filter_columns_[r]);
  }
  for (std::size_t r = 0; r < fit_columns_.size(); ++r) {
    const std::int32_t column = fit_columns_[r];
    steps.fit_request[r] = params_.fit_request[r * slots + static_cast<std::size_t>(slot)];
    steps.fit_step[r] = column == kCpuColumn      ? static_cast<double>(pod_class.delta.non_zero_milli_cpu)
                        : column == kMemoryColumn ? static_cast<double>(pod_class.delta.non_zero_memory_bytes)
                                                  : step_of(column);
  }
  for (std::size_t r = 0; r < balanced_columns_.size(); ++r) {
    steps.balanced_request[r] = params_.balanced_request[r * slots + static_cast<std::size_t>(slot)];
    steps.balanced_step[r] = step_of(balanced_columns_[r]);
  }
  return steps;
}

std::uint64_t RowTile::bytes() const {
  std::uint64_t bytes = base_.bytes();
  for (const Keys& level : levels_) bytes += level.bytes();
  return bytes;
}

}  // namespace berth

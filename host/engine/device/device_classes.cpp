// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_classes.h"

#include <algorithm>
#include <map>

#include "batching/usual_profile.h"

namespace berth {
namespace {

DeviceProfile device_profile(const CompiledProfile& profile) {
  DeviceProfile device;
  device.strategy = profile.fit.type;
  device.checks_fit = profile.filters<NodeResourcesFit>();
  device.checks_ports = profile.filters<NodePorts>();
  device.balance_of_change = profile.release != Release::k1_35;
  device.scores_anything = profile.scores_anything;
  device.weight_fit = profile.weight<NodeResourcesFit>();
  device.weight_balanced = profile.weight<NodeResourcesBalancedAllocation>();
  device.weight_spread = profile.weight<PodTopologySpread>();
  device.weight_pod_affinity = profile.weight<InterPodAffinity>();
  std::copy(profile.fit.score_of_utilization.begin(), profile.fit.score_of_utilization.end(),
            device.score_of_utilization);
  device.draw = profile.draw;
  return device;
}

/// One of the two resources. @param index  of the resource in the lists of scored ones
UsualRequest usual_request(const PodClass& pod_class, const CompiledProfile& profile, std::int32_t column,
                           std::size_t index) {
  UsualRequest usual;
  for (const RequestedResource& request : pod_class.requested)
    if (request.column == column) usual.filtered = static_cast<double>(request.amount);
  usual.fit = static_cast<double>(pod_class.fit_requests[index].amount);
  usual.fit_weight = static_cast<double>(profile.fit.resources[index].weight);
  usual.balanced = static_cast<double>(pod_class.balanced_requests[index].amount);
  return usual;
}

/// DeviceClass::usual: the class counts cpu and memory alone and always, in amounts that doubles hold exactly.
UsualLoad usual_load_of(const PodClass& pod_class, const CompiledProfile& profile) {
  const auto is_usual = [](const ScoredRequest& request) { return request.counts && is_exact_amount(request.amount); };
  const auto are_usual = [&](const std::vector<ScoredRequest>& requests) {
    return std::all_of(requests.begin(), requests.end(), is_usual);
  };
  const bool is_exact = std::all_of(pod_class.requested.begin(), pod_class.requested.end(),
                                    [](const RequestedResource& request) { return is_exact_amount(request.amount); });
  UsualLoad usual;
  usual.applies = profile.filters<NodeResourcesFit>() && scores_usual_load(profile) &&
                  are_usual(pod_class.fit_requests) && are_usual(pod_class.balanced_requests) && is_exact;
  if (!usual.applies) return usual;
  usual.most_allocated = profile.fit.type == ScoringStrategyType::kMostAllocated;
  usual.scores_change = profile.release != Release::k1_35;
  usual.cpu = usual_request(pod_class, profile, kCpuColumn, 0);
  usual.memory = usual_request(pod_class, profile, kMemoryColumn, 1);
  usual.fit_weights = LaneDivisor(usual.cpu.fit_weight + usual.memory.fit_weight);
  usual.weight_fit = profile.weight<NodeResourcesFit>();
  if (!pod_class.balanced_skips) usual.weight_balanced = profile.weight<NodeResourcesBalancedAllocation>();
  return usual;
}

/// Uploads the values from index `uploaded` on.
template <class T>
void append(const std::vector<T>& values, std::size_t& uploaded, DeviceArray<T>& device) {
  if (uploaded >= values.size()) return;
  device.reserve(values.size(), uploaded);
  device.upload(uploaded, std::span(values).subspan(uploaded));
  uploaded = values.size();
}

DeviceRead device_read(const TableRead& read, bool by_node) {
  DeviceRead device;
  device.table = read.table;
  device.attribute = read.by_count() ? (by_node ? 0 : DeviceRead::kFoldedIn) : read.coarse;
  return device;
}

}  // namespace

DeviceClassTable::DeviceClassTable(Accelerator& accelerator, const DeviceTuning& tuning)
    : tuning_(tuning),
      layouts_(accelerator, tuning),
      classes_(accelerator, "pod classes"),
      profiles_(accelerator, "profiles"),
      requests_(accelerator, "requests of pod classes"),
      reads_(accelerator, "topology terms of pod classes"),
      moves_(accelerator, "topology terms of pod classes") {}

bool DeviceClassTable::can_serve(const PodClass& pod_class, const CompiledProfile& profile) {
  if (!profile.has_keys || profile.balanced_resources.size() > kDeviceResourcesMax) return false;
  return pod_class.topology == nullptr || (pod_class.topology->hard.size() <= kDeviceConstraintsMax &&
                                           pod_class.topology->soft.size() <= kDeviceConstraintsMax);
}

void DeviceClassTable::add(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot,
                           DeviceSnapshot& columns) {
  const auto c = static_cast<std::size_t>(pod_class);
  if (layout_of_class_.size() <= c) {
    layout_of_class_.resize(c + 1, -1);
    classes_on_host_.resize(c + 1);
  }
  if (layout_of_class_[c] >= 0) return;
  const PodClass& host = table[pod_class];
  const CompiledProfile& profile = table.profile_of(pod_class);
  DeviceClass device;
  device.profile = host.profile;
  device.draw_seed = host.draw_seed;
  device.balanced_skips = host.balanced_skips;
  device.node_side_weights = table.compiled_node_side(pod_class).normalized_weights();
  device.fails_scoring = !table.score_error(pod_class).empty();
  if (!host.ports.empty()) device.port_set = columns.port_set(host.ports);
  add_requests(host, profile, device);
  if (host.topology != nullptr) {
    const TableReads reads(*host.topology, snapshot.topology(), tuning_.coarse_domains_max);
    const DeviceLayouts::Place place = layouts_.layout_of(pod_class, &reads, table, snapshot);
    layout_of_class_[c] = place.layout;
    add_topology(*host.topology, reads, place.by_node, snapshot.topology(), device);
  } else {
    layout_of_class_[c] = layouts_.layout_of(pod_class, nullptr, table, snapshot).layout;
  }
  std::map<std::int32_t, std::int32_t> amount_of_table;
  for (const CountMove& move : host.moves) amount_of_table[move.table] += move.amount;
  device.moves = {static_cast<std::int32_t>(moves_on_host_.size()), static_cast<std::int32_t>(amount_of_table.size())};
  for (const auto& [moved, amount] : amount_of_table) moves_on_host_.push_back({moved, amount});
  classes_on_host_[c] = device;
  first_changed_class_ = std::min(first_changed_class_, c);
}

void DeviceClassTable::add_requests(const PodClass& pod_class, const CompiledProfile& profile, DeviceClass& device) {
  const auto add_list = [&](std::size_t count, auto request) {
    const DeviceList list{static_cast<std::int32_t>(requests_on_host_.size()), static_cast<std::int32_t>(count)};
    for (std::size_t r = 0; r < count; ++r) requests_on_host_.push_back(request(r));
    return list;
  };
  const auto scored = [](const std::vector<ScoredResource>& resources, const std::vector<ScoredRequest>& requests) {
    return [&](std::size_t r) {
      return DeviceRequest{resources[r].column, requests[r].amount, requests[r].counts ? resources[r].weight : 0};
    };
  };
  std::vector<RequestedResource> filtered = pod_class.requested;
  const auto beside = std::stable_partition(filtered.begin(), filtered.end(), [](const RequestedResource& request) {
    return request.column == kCpuColumn || request.column == kMemoryColumn;
  });
  device.filter = add_list(filtered.size(),
                           [&](std::size_t r) { return DeviceRequest{filtered[r].column, filtered[r].amount, 0}; });
  const auto of_both = static_cast<std::int32_t>(beside - filtered.begin());
  device.filter_beside = {device.filter.first + of_both, device.filter.count - of_both};
  device.usual = usual_load_of(pod_class, profile);
  device.fit = add_list(profile.fit.resources.size(), scored(profile.fit.resources, pod_class.fit_requests));
  device.balanced =
      add_list(profile.balanced_resources.size(), scored(profile.balanced_resources, pod_class.balanced_requests));
  device.delta = add_list(pod_class.delta.requested.size(), [&](std::size_t r) {
    const auto& [column, amount] = pod_class.delta.requested[r];
    return DeviceRequest{column, amount, 0};
  });
  device.delta_milli_cpu = pod_class.delta.non_zero_milli_cpu;
  device.delta_memory_bytes = pod_class.delta.non_zero_memory_bytes;
}

DeviceList DeviceClassTable::add_reads(const std::vector<DeviceRead>& reads) {
  const DeviceList list{static_cast<std::int32_t>(reads_on_host_.size()), static_cast<std::int32_t>(reads.size())};
  reads_on_host_.insert(reads_on_host_.end(), reads.begin(), reads.end());
  return list;
}

void DeviceClassTable::add_topology(const TopologyProgram& program, const TableReads& reads, bool by_node,
                                    const TopologyCounts& counts, DeviceClass& device) {
  device.has_topology = true;
  device.matches_itself = program.matches_itself;
  const auto plain = [&](const std::vector<TableRead>& list) {
    std::vector<DeviceRead> result;
    result.reserve(list.size());
    for (const TableRead& read : list) result.push_back(device_read(read, by_node));
    return result;
  };
  // Terms on single nodes are part of the key in every layout.
  const auto terms = [&](const std::vector<TableRead>& list) {
    std::vector<DeviceRead> result = plain(list);
    for (std::size_t t = 0; t < list.size(); ++t) {
      if (!is_folded_in(list[t], counts)) continue;
      result[t].attribute = DeviceRead::kFoldedIn;
      folded_columns_.insert(counts.column_of(list[t].table));
    }
    return result;
  };
  std::vector<DeviceRead> hard = plain(reads.hard);
  for (std::size_t h = 0; h < hard.size(); ++h) {
    hard[h].max_skew = program.hard[h].max_skew;
    hard[h].min_domains = program.hard[h].min_domains;
    hard[h].self = program.hard[h].self;
  }
  std::vector<DeviceRead> soft = plain(reads.soft);
  for (std::size_t s = 0; s < soft.size(); ++s) {
    soft[s].max_skew = program.soft[s].max_skew;
    soft[s].label_column = program.soft[s].label_column;
    soft[s].counts_nodes = program.soft[s].counts_nodes;
    if (!soft[s].counts_nodes) soft_columns_.insert(counts.column_of(soft[s].table));
  }
  find_soft_domains_max(counts);
  std::vector<DeviceRead> preferred = plain(reads.scores);
  for (std::size_t p = 0; p < preferred.size(); ++p) preferred[p].multiplier = program.scores[p].multiplier;
  device.hard = add_reads(hard);
  device.soft = add_reads(soft);
  device.affinity = add_reads(plain(reads.affinity));
  device.anti = add_reads(terms(reads.anti));
  device.existing_anti = add_reads(terms(reads.existing_anti));
  device.preferred = add_reads(preferred);
}

DeviceClasses DeviceClassTable::classes(const ClassTable& table, const DeviceSnapshot& columns) {
  if (!has_profiles_) {
    std::vector<DeviceProfile> profiles;
    profiles.reserve(static_cast<std::size_t>(table.profile_count()));
    for (std::int32_t p = 0; p < table.profile_count(); ++p) profiles.push_back(device_profile(table.profile(p)));
    profiles_.assign(profiles);
    has_profiles_ = true;
  }
  append(classes_on_host_, first_changed_class_, classes_);
  append(requests_on_host_, uploaded_requests_, requests_);
  append(reads_on_host_, uploaded_reads_, reads_);
  append(moves_on_host_, uploaded_moves_, moves_);
  return {classes_.data(), profiles_.data(),         requests_.data(),        reads_.data(),
          moves_.data(),   columns.port_conflicts(), columns.port_set_count()};
}

void DeviceClassTable::find_soft_domains_max(const TopologyCounts& counts) {
  for (const std::int32_t column : soft_columns_)
    soft_domains_max_ = std::max<std::int64_t>(soft_domains_max_, counts.column(column).domain_count);
}

bool DeviceClassTable::can_follow(const TopologyCounts& counts) const {
  return std::all_of(folded_columns_.begin(), folded_columns_.end(),
                     [&](std::int32_t column) { return counts.column(column).one_node_each; });
}

std::vector<std::int32_t> DeviceClassTable::drop_classes_of_other_sides(ClassTable& table) {
  std::vector<std::int32_t> dropped;
  std::vector<std::int32_t> class_of_layout(static_cast<std::size_t>(layouts_.count()), -1);
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(layout_of_class_.size()); ++c) {
    std::int32_t& layout = layout_of_class_[static_cast<std::size_t>(c)];
    if (layout < 0) continue;
    if (table.node_side_number(c) == layouts_.node_side_of(layout)) {
      class_of_layout[static_cast<std::size_t>(layout)] = c;
    } else {
      dropped.push_back(c);
      layout = -1;
    }
  }
  layouts_.keep(class_of_layout);
  return dropped;
}

void DeviceClassTable::follow(ClassTable& table, const Snapshot& snapshot, NodeEventDelta& delta) {
  layouts_.follow(table, snapshot, delta);
  find_soft_domains_max(snapshot.topology());
}

void DeviceClassTable::clear() {
  layouts_.clear();
  soft_columns_.clear();
  folded_columns_.clear();
  layout_of_class_.clear();
  classes_on_host_.clear();
  requests_on_host_.clear();
  reads_on_host_.clear();
  moves_on_host_.clear();
  soft_domains_max_ = 0;
  first_changed_class_ = uploaded_requests_ = uploaded_reads_ = uploaded_moves_ = 0;
  has_profiles_ = false;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/capi/saved_pods.h"

#include <array>
#include <utility>

#include "host/objects/interruption.h"
#include "host/objects/json_out.h"
#include "host/objects/pod_copy.h"
#include "host/objects/utf8.h"

namespace berth::capi {
namespace {

/// Pods that are made between two looks at the interruption.
constexpr std::size_t kPodsAtOnce = 256;

/// What pods of one template have in common, by the address of what they share.
struct SharedParts {
  const PodSpec* spec;
  const std::vector<OwnerReference>* owners;
  const PodRare* rare;
  std::string_view name_space;
  PreemptionPolicy preemption_policy;
  PodPhase phase;
  bool terminating;

  explicit SharedParts(const Pod& pod)
      : spec(pod.spec.get()),
        owners(pod.owners.get()),
        rare(pod.rare_fields.get()),
        name_space(pod.namespace_),
        preemption_policy(pod.preemption_policy),
        phase(pod.phase),
        terminating(pod.terminating) {}
  friend bool operator==(const SharedParts&, const SharedParts&) = default;
};

struct SharedPartsHash {
  std::size_t operator()(const SharedParts& parts) const {
    const std::array<const void*, 3> addresses = {parts.spec, parts.owners, parts.rare};
    return hash_bytes({reinterpret_cast<const char*>(addresses.data()), sizeof addresses});
  }
};

/// The pod with other values of what columns have.
std::string template_of(const Pod& pod) {
  const std::shared_ptr<Pod> neutral = copy_of(pod);
  neutral->name = "pod";
  neutral->stored_uid.clear();
  neutral->labels = {};
  neutral->node_name = "node";
  neutral->priority = 0;
  neutral->creation_time_us = neutral->start_time_us = 0;
  std::string json;
  append_json(json, *neutral);
  return json;
}

}  // namespace

struct PodColumnsOut::Columns {
  std::uint32_t template_number(const Pod& pod);

  std::deque<std::string> templates;  ///< a text keeps its address
  NumberedTexts templates_by_content;
  tsl::robin_map<SharedParts, std::uint32_t, SharedPartsHash> template_of_parts;
  NumberedTexts labels;
  NumberedTexts nodes;
  std::vector<std::uint32_t> template_of;
  std::vector<std::uint32_t> labels_of;
  std::vector<std::uint32_t> node_of;
  std::string flags;
  std::vector<std::int32_t> priorities;
  std::vector<std::int64_t> creation_times_us;
  std::vector<std::int64_t> start_times_us;
  TextsOut names;
  TextsOut uids;
};

std::uint32_t PodColumnsOut::Columns::template_number(const Pod& pod) {
  const SharedParts parts(pod);
  if (const auto at = template_of_parts.find(parts); at != template_of_parts.end()) return at->second;
  const std::string json = capi::template_of(pod);
  if (!templates_by_content.contains(json)) templates_by_content.number_of(templates.emplace_back(json));
  const std::uint32_t number = templates_by_content.number_of(json);
  template_of_parts.emplace(parts, number);
  return number;
}

PodColumnsOut::PodColumnsOut() : columns_(std::make_unique<Columns>()) {}
PodColumnsOut::~PodColumnsOut() = default;

void PodColumnsOut::add(const Pod& pod, std::string_view node_name, bool is_assumed) {
  Columns& columns = *columns_;
  columns.template_of.push_back(columns.template_number(pod));
  columns.labels_of.push_back(columns.labels.number_of(pod.labels.bytes()));
  columns.node_of.push_back(columns.nodes.number_of(node_name));
  columns.flags += static_cast<char>((is_assumed ? PodColumns::kAssumed : 0) |
                                     (pod.node_name.empty() ? PodColumns::kHasNoNodeName : 0));
  columns.priorities.push_back(pod.priority);
  columns.creation_times_us.push_back(pod.creation_time_us);
  columns.start_times_us.push_back(pod.start_time_us);
  columns.names.add(pod.name);
  columns.uids.add(pod.stored_uid);
}

const std::deque<std::string>& PodColumnsOut::templates() const { return columns_->templates; }

void PodColumnsOut::write(BytesOut& out) const {
  const Columns& columns = *columns_;
  TextsOut(columns.nodes).write(out);
  TextsOut(columns.labels).write(out);
  out.column(columns.template_of);
  out.column(columns.labels_of);
  out.column(columns.node_of);
  out.text(columns.flags);
  out.column(columns.priorities);
  out.column(columns.creation_times_us);
  out.column(columns.start_times_us);
  columns.names.write(out);
  columns.uids.write(out);
}

PodColumns::PodColumns(BytesIn& in) {
  nodes_ = TextsIn(in);
  labels_ = TextsIn(in);
  template_of_ = in.column<std::uint32_t>();
  labels_of_ = in.column<std::uint32_t>();
  node_of_ = in.column<std::uint32_t>();
  flags_ = in.view();
  priorities_ = in.column<std::int32_t>();
  creation_times_us_ = in.column<std::int64_t>();
  start_times_us_ = in.column<std::int64_t>();
  names_ = TextsIn(in);
  uids_ = TextsIn(in);
  const auto is_whole = [&](const auto& column) { return column.size() == size(); };
  if (!is_whole(labels_of_) || !is_whole(node_of_) || !is_whole(flags_) || !is_whole(priorities_) ||
      !is_whole(creation_times_us_) || !is_whole(start_times_us_) || !is_whole(names_) || !is_whole(uids_))
    BytesIn::throw_damaged();
  for (const std::uint32_t node : node_of_)
    if (node >= nodes_.size()) BytesIn::throw_damaged();
}

/// @param pod  with the fields of its template
void PodColumns::fill(std::size_t i, std::span<const LabelMap> labels, Pod& pod) const {
  const std::string_view name = names_[i];
  if (name.empty() || !is_utf8(name) || !is_utf8(uids_[i]) || labels_of_[i] >= labels.size()) BytesIn::throw_damaged();
  pod.name = name;
  pod.stored_uid = uids_[i];
  pod.labels = labels[labels_of_[i]];
  if ((flags_[i] & kHasNoNodeName) != 0) {
    pod.node_name.clear();
  } else {
    pod.node_name = node_name(i);
  }
  pod.priority = priorities_[i];
  pod.creation_time_us = creation_times_us_[i];
  pod.start_time_us = start_times_us_[i];
}

void PodsMaking::begin(std::vector<PodPtr> templates, ObjectPools& pools, WorkArena& arena) {
  templates_ = std::move(templates);
  for (std::size_t i = 0; i < columns_.nodes_.size(); ++i)
    if (columns_.nodes_[i].empty() || !is_utf8(columns_.nodes_[i])) BytesIn::throw_damaged();
  labels_.resize(columns_.labels_.size());
  const Interruption* const interruption = current_interruption();
  arena.for_ranges(labels_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if ((i - begin) % kPodsAtOnce == 0) check_interruption(interruption);
      const std::string_view packed = columns_.labels_[i];
      if (!LabelMap::is_packed(packed)) BytesIn::throw_damaged();
      labels_[i] = pools.labels(packed, hash_bytes(packed));
    }
  });
  pods_.resize(columns_.size());
  has_begun_.store(true, std::memory_order_release);
}

void PodsMaking::make() {
  if (!has_begun_.load(std::memory_order_acquire)) return;
  const Interruption* const interruption = current_interruption();
  while (true) {
    const std::size_t begin = next_.fetch_add(kPodsAtOnce, std::memory_order_relaxed);
    if (begin >= pods_.size()) return;
    check_interruption(interruption);
    for (std::size_t i = begin; i < std::min(begin + kPodsAtOnce, pods_.size()); ++i) {
      if (columns_.template_of_[i] >= templates_.size()) BytesIn::throw_damaged();
      const std::shared_ptr<Pod> pod = copy_of(*templates_[columns_.template_of_[i]]);
      columns_.fill(i, labels_, *pod);
      pods_[i] = pod;
    }
  }
}

}  // namespace berth::capi

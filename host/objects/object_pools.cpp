// SPDX-License-Identifier: Apache-2.0
#include "host/objects/object_pools.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <type_traits>

namespace berth {
namespace {

/// Writes values one behind the other, each with its length, so that different values never give equal bytes.
class ContentWriter {
 public:
  explicit ContentWriter(std::string& out) : out_(out) {}

  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, __int128>)
  void add(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void add(std::string_view text) {
    add(text.size());
    out_.append(text);
  }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const LabelMap& map) { add(map.bytes()); }
  void add(const Quantity& quantity) { add(quantity.nano); }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    add(pair.first);
    add(pair.second);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& element : list) add(element);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class... T>
  void all(const T&... values) {
    (add(values), ...);
  }

  void add(const ContainerPort& p) { all(p.host_port, p.container_port, p.protocol, p.host_ip); }
  void add(const Container& c) {
    all(c.name, c.image, c.requests, c.limits, c.ports, c.restart_always, c.restarts_all_containers);
  }
  void add(const SelectorRequirement& r) { all(r.key, r.op, r.values); }
  void add(const LabelSelector& s) { all(s.match_labels, s.match_expressions); }
  void add(const NodeSelectorTerm& t) { all(t.match_expressions, t.match_fields); }
  void add(const PreferredSchedulingTerm& t) { all(t.weight, t.preference); }
  void add(const NodeAffinity& a) { all(a.required, a.preferred); }
  void add(const PodAffinityTerm& t) {
    all(t.label_selector, t.namespaces, t.namespace_selector, t.topology_key, t.match_label_keys,
        t.mismatch_label_keys);
  }
  void add(const WeightedPodAffinityTerm& t) { all(t.weight, t.term); }
  void add(const PodAffinity& a) { all(a.required, a.preferred); }
  void add(const Toleration& t) { all(t.key, t.op, t.value, t.effect); }
  void add(const TopologySpreadConstraint& c) {
    all(c.max_skew, c.topology_key, c.schedule_anyway, c.label_selector, c.min_domains, c.honor_node_affinity,
        c.honor_node_taints, c.match_label_keys);
  }

 private:
  std::string& out_;
};

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void append_content(std::string& out, const PodSpec& spec) {
  ContentWriter(out).all(spec.scheduler_name, spec.containers, spec.init_containers, spec.overhead,
                         spec.pod_level_requests, spec.pod_level_limits, spec.has_pod_level_resources,
                         spec.host_network, spec.node_selector, spec.node_affinity, spec.pod_affinity,
                         spec.pod_anti_affinity, spec.tolerations, spec.topology_spread_constraints,
                         spec.runtime_class_name, spec.termination_grace_s, spec.has_empty_dir,
                         spec.has_empty_dir_on_disk, spec.has_host_path, spec.tolerations_hash, spec.volumes_hash);
}

LabelMap ObjectPools::labels(std::string_view packed, std::uint64_t hash) {
  if (packed.empty()) return {};
  LabelShard& shard = label_shards_[hash % label_shards_.size()];
  const std::lock_guard lock(shard.mutex);
  if (const auto at = shard.maps.find(packed, hash); at != shard.maps.end()) return *at;
  return *shard.maps.insert(LabelMap::from_packed(packed)).first;
}

SharedTexts ObjectPools::texts(std::vector<std::string>&& texts) {
  if (texts.empty()) return {};
  constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15u;
  std::uint64_t hash = texts.size();
  for (const std::string& text : texts) hash = hash * kHashFactor + hash_bytes(text);
  return SharedTexts(texts_.intern(hash, std::move(texts)));
}

SpecPtr ObjectPools::spec(PodSpec&& spec) {
  std::string content;
  append_content(content, spec);
  return specs_.intern(hash_bytes(content), std::move(spec));
}

}  // namespace berth

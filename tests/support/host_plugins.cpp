// SPDX-License-Identifier: Apache-2.0
#include "tests/support/host_plugins.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace berth::test {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr std::int64_t kPodsOfZone = 5;

using PodSpan = std::span<const Pod* const>;

/// FNV-1a.
std::uint64_t hash_of(std::string_view text, std::uint64_t salt) {
  std::uint64_t hash = 14695981039346656037ull + salt;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash ^ (hash >> 29);
}

/// claims_with() has some. Allocates nothing.
bool has_claims_with(const Pod& pod, std::string_view letters) noexcept {
  const std::vector<PodVolume>& volumes = pod.rare().volumes;
  return std::any_of(volumes.begin(), volumes.end(), [&](const PodVolume& volume) {
    return volume.kind == PodVolume::Kind::kClaim &&
           (letters.empty() || letters.find(volume.name[0]) != std::string_view::npos);
  });
}

std::vector<std::string> claims_with(const Pod& pod, std::string_view letters) {
  std::vector<std::string> claims = claims_of(pod);
  std::erase_if(claims, [&](const std::string& claim) {
    return !letters.empty() && letters.find(claim[0]) == std::string_view::npos;
  });
  std::sort(claims.begin(), claims.end());
  return claims;
}

bool has_claim(const Pod& pod, std::string_view name) {
  const std::vector<std::string> claims = claims_of(pod);
  return std::find(claims.begin(), claims.end(), name) != claims.end();
}

std::string joined(const std::vector<std::string>& claims) {
  std::string text;
  for (const std::string& claim : claims) text += claim + ",";
  return text;
}

/// Sum over the pods of a node, with some added and removed.
std::int64_t sum_over(const NodeInfo& node, PodSpan added, PodSpan removed,
                      const std::function<std::int64_t(const Pod&)>& value) {
  std::int64_t sum = 0;
  for (const PodPtr& pod : node.pods) {
    const auto left = [&](const Pod* gone) { return gone->uid() == pod->uid(); };
    if (std::none_of(removed.begin(), removed.end(), left)) sum += value(*pod);
  }
  for (const Pod* pod : added) sum += value(*pod);
  return sum;
}

/// evaluate() in terms of filter_changed() without changes.
class NodeByNode : public HostPlugin {
 public:
  void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Status status = filter_changed(query, *nodes[i], {}, {});
      if (!status.ok()) answers.refuse(i, status.code, status.reasons);
      answers.score(i, score(query, *nodes[i]));
    }
  }
  virtual std::int64_t score(const HostQuery& /*query*/, const NodeInfo& /*node*/) const { return 0; }
};

class Limits : public NodeByNode {
 public:
  std::string_view name() const override { return "NodeVolumeLimits"; }
  std::optional<std::string> sign(const Pod& pod) const override { return joined(claims_with(pod, "")); }
  HostReach reach(const HostQuery& query, const Node& /*node*/) const override {
    const Pod& pod = query.pod;
    return {!has_claims_with(pod, "") ? HostReach::Kind::kNothing : HostReach::Kind::kNode};
  }
  HostPreFilter pre_filter(const HostQuery& query) const override {
    return {claims_of(query.pod).empty() ? StatusCode::kSkip : StatusCode::kSuccess};
  }
  Status filter_changed(const HostQuery& query, const NodeInfo& node, PodSpan added, PodSpan removed) const override {
    const auto claims = [](const Pod& pod) { return static_cast<std::int64_t>(claims_of(pod).size()); };
    const auto limit = static_cast<std::int64_t>(2 + hash_of(node.name, 0) % 4);
    if (claims(query.pod) + sum_over(node, added, removed, claims) <= limit) return {};
    return {StatusCode::kUnschedulable, "", {"node(s) exceed max volume count"}};
  }
};

class Restrictions : public NodeByNode {
 public:
  std::string_view name() const override { return "VolumeRestrictions"; }
  std::optional<std::string> sign(const Pod& pod) const override { return joined(claims_with(pod, "x")); }
  HostReach reach(const HostQuery& query, const Node& /*node*/) const override {
    const Pod& pod = query.pod;
    return {!has_claims_with(pod, "x") ? HostReach::Kind::kNothing : HostReach::Kind::kEverything};
  }
  HostPreFilter pre_filter(const HostQuery& query) const override {
    const std::vector<std::string> claims = claims_with(query.pod, "x");
    if (claims.empty()) return {StatusCode::kSkip};
    if (claims.front().starts_with("xb") && is_used(query, claims, nullptr, {}, {}))
      return {StatusCode::kUnschedulable, {"the claim is in use"}};
    return {};
  }
  Status filter_changed(const HostQuery& query, const NodeInfo& node, PodSpan added, PodSpan removed) const override {
    if (!is_used(query, claims_with(query.pod, "x"), &node, added, removed)) return {};
    return {StatusCode::kUnschedulable, "", {"another pod uses the claim"}};
  }

 private:
  static bool is_used(const HostQuery& query, const std::vector<std::string>& claims, const NodeInfo* changed,
                      PodSpan added, PodSpan removed) {
    const auto uses = [&](const Pod& pod) {
      const bool shares = std::any_of(claims.begin(), claims.end(), [&](const auto& c) { return has_claim(pod, c); });
      return std::int64_t{shares};
    };
    std::int64_t users = 0;
    for (const NodeInfo* node : query.cluster.nodes())
      users += node == changed ? sum_over(*node, added, removed, uses) : sum_over(*node, {}, {}, uses);
    return users > 0;
  }
};

class Zones : public NodeByNode {
 public:
  explicit Zones(std::shared_ptr<const HostPluginState> state) : state_(std::move(state)) {}
  std::string_view name() const override { return "VolumeZone"; }
  std::optional<std::string> sign(const Pod& pod) const override { return joined(claims_with(pod, "z")); }
  std::uint64_t version() const noexcept override { return state_->version; }
  HostReach reach(const HostQuery& /*query*/, const Node& /*node*/) const override {
    return {HostReach::Kind::kNothing};
  }
  HostPreFilter pre_filter(const HostQuery& query) const override {
    const Pod& pod = query.pod;
    if (claims_with(pod, "z").empty()) return {StatusCode::kSkip};
    if (has_claim(pod, "zbroken")) return {StatusCode::kError, {"the claim is broken"}};
    if (has_claim(pod, "znever")) return {StatusCode::kUnschedulableAndUnresolvable, {"never", "ever"}};
    if (has_claim(pod, "zghost")) return {StatusCode::kSuccess, {}, std::set<std::string>{"ghost"}};
    if (!has_claim(pod, "zset")) return {};
    std::set<std::string> names{"ghost"};
    for (const NodeInfo* node : query.cluster.nodes())
      if (hash_of(node->name, 7) % 2 == 0) names.insert(node->name);
    return {StatusCode::kSuccess, {}, std::move(names)};
  }
  Status filter_changed(const HostQuery& query, const NodeInfo& node, PodSpan /*added*/,
                        PodSpan /*removed*/) const override {
    if (has_claim(query.pod, "zthrow")) throw std::runtime_error("no zone today");
    for (const std::string& claim : claims_with(query.pod, "z")) {
      if (claim == "zlater") return {StatusCode::kPending, "", {"the zone comes later"}};
      const std::uint64_t hash = hash_of(claim + node.name, state_->version);
      if (claim == "zfail" && hash % 4 == 0) return {StatusCode::kError, "", {"no zone of " + node.name}};
      if (hash % 3 == 0)
        return {StatusCode::kUnschedulableAndUnresolvable, "", {"wrong zone " + std::to_string(hash % 2)}};
    }
    return {};
  }

 private:
  std::shared_ptr<const HostPluginState> state_;
};

class Binding : public NodeByNode {
 public:
  std::string_view name() const override { return "VolumeBinding"; }
  std::optional<std::string> sign(const Pod& pod) const override {
    if (has_claim(pod, "uthrow")) throw std::runtime_error("no signature today");
    if (!claims_with(pod, "u").empty()) return std::nullopt;
    return joined(claims_with(pod, "d"));
  }
  HostReach reach(const HostQuery& query, const Node& /*node*/) const override {
    const Pod& pod = query.pod;
    if (!counts(pod)) return {HostReach::Kind::kNothing};
    return {HostReach::Kind::kDomain, kZone};
  }
  HostPreFilter pre_filter(const HostQuery& query) const override {
    return {counts(query.pod) ? StatusCode::kSuccess : StatusCode::kSkip};
  }
  Status filter_changed(const HostQuery& query, const NodeInfo& node, PodSpan added, PodSpan removed) const override {
    if (hash_of(node.name, 3) % 7 == 0)
      return {StatusCode::kUnschedulableAndUnresolvable, "", {"no provisioner", "no matching volume"}};
    if (count_in_zone(query, node, added, removed) < kPodsOfZone) return {};
    return {StatusCode::kUnschedulable, "", {"the zone has too many volumes"}};
  }
  Status pre_score(const HostQuery& query) const override {
    if (has_claim(query.pod, "dsad")) return {StatusCode::kError, "", {"no scores today"}};
    return {counts(query.pod) ? StatusCode::kSuccess : StatusCode::kSkip, "", {}};
  }
  std::int64_t score(const HostQuery& query, const NodeInfo& node) const override {
    const auto raw = static_cast<std::int64_t>(hash_of(node.name, 5) % 40);
    return (has_claim(query.pod, "dwild") ? 90 : 0) + raw + 13 * count_in_zone(query, node, {}, {});
  }
  void normalize(const Pod& pod, std::span<std::int64_t> scores) const override {
    if (has_claim(pod, "dwild")) return;
    const std::int64_t highest = *std::max_element(scores.begin(), scores.end());
    for (std::int64_t& score : scores) score = highest == 0 ? 100 : 100 - 100 * score / highest;
  }

 private:
  static bool counts(const Pod& pod) { return !claims_with(pod, "du").empty(); }
  static std::int64_t count_in_zone(const HostQuery& query, const NodeInfo& node, PodSpan added, PodSpan removed) {
    const auto counted = [](const Pod& pod) { return std::int64_t{counts(pod)}; };
    const auto zone = node.node->labels.find(kZone);
    std::int64_t count = sum_over(node, added, removed, counted);
    for (const NodeInfo* other : query.cluster.nodes())
      if (zone && other != &node && other->node->labels.find(kZone) == zone) count += sum_over(*other, {}, {}, counted);
    return count;
  }
};

}  // namespace

std::vector<std::string> claims_of(const Pod& pod) {
  std::vector<std::string> claims;
  for (const PodVolume& volume : pod.rare().volumes)
    if (volume.kind == PodVolume::Kind::kClaim) claims.push_back(volume.name);
  return claims;
}

HostPlugins make_host_plugins(std::shared_ptr<const HostPluginState> state) {
  return {std::make_shared<Limits>(), std::make_shared<Restrictions>(), std::make_shared<Zones>(std::move(state)),
          std::make_shared<Binding>()};
}

}  // namespace berth::test

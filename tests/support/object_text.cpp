// SPDX-License-Identifier: Apache-2.0
#include "tests/support/object_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace berth::test {
namespace {

[[noreturn]] void fail(std::string_view what, std::string_view word) {
  throw TextError(std::string(what) + ": \"" + std::string(word) + "\"");
}

/// "key=value" at the first '='; without one the value is empty.
std::pair<std::string, std::string> key_value(std::string_view word) {
  const std::size_t at = word.find('=');
  if (at == std::string_view::npos) return {std::string(word), ""};
  return {std::string(word.substr(0, at)), std::string(word.substr(at + 1))};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::int64_t integer(std::string_view text) {
  const std::optional<std::int64_t> number = parse_int64(text);
  if (!number) fail("not a number", text);
  return *number;
}

std::int32_t small_integer(std::string_view text) { return static_cast<std::int32_t>(integer(text)); }

Quantity quantity(std::string_view text) {
  const std::optional<Quantity> amount = Quantity::parse(text);
  if (!amount) fail("not a quantity", text);
  return amount->rounded_up_to_milli();
}

void set_amount(ResourceList& list, const std::string& name, std::string_view text) {
  const auto at = std::lower_bound(list.begin(), list.end(), name,
                                   [](const auto& entry, const std::string& key) { return entry.first < key; });
  if (at != list.end() && at->first == name) fail("resource named twice", name);
  list.insert(at, {name, quantity(text)});
}

/// "cpu", "memory", "ephemeral" or "res:<full name>"; nullopt for words that are no resources.
std::optional<std::string> resource_name(const std::string& key) {
  if (key == "cpu" || key == "memory") return key;
  if (key == "ephemeral") return std::string(kEphemeralStorage);
  if (key.starts_with("res:")) return key.substr(4);
  return std::nullopt;
}

TaintEffect taint_effect(std::string_view text) {
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  fail("no taint effect", text);
}

/// "key[=value]:Effect"
Taint taint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) fail("a taint needs an effect", text);
  auto [key, value] = key_value(text.substr(0, colon));
  return Taint{std::move(key), std::move(value), taint_effect(text.substr(colon + 1))};
}

/// "key", "key=value", "key>5" or "key<5", each with ":Effect" or without; "*" is the empty key.
Toleration toleration(std::string_view text) {
  Toleration result;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    result.effect = taint_effect(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  const std::size_t at = text.find_first_of("=<>");
  result.key = std::string(text.substr(0, at));
  if (result.key == "*") result.key.clear();
  result.op = TolerationOperator::kExists;
  if (at == std::string_view::npos) return result;
  result.value = std::string(text.substr(at + 1));
  result.op = text[at] == '='   ? TolerationOperator::kEqual
              : text[at] == '>' ? TolerationOperator::kGt
                                : TolerationOperator::kLt;
  return result;
}

/// "key:Operator[:value,value]"
SelectorRequirement requirement(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) fail("not key:Operator:values", text);
  const std::optional<SelectorOperator> op = parse_selector_operator(parts[1]);
  if (!op) fail("no operator", parts[1]);
  SelectorRequirement result{parts[0], *op, {}};
  if (parts.size() == 3) result.values = split(parts[2], ',');
  return result;
}

/// Requirements joined with '&'; one that starts with '@' is a field. Nothing at all is an empty term.
NodeSelectorTerm term(std::string_view text) {
  NodeSelectorTerm result;
  if (text.empty()) return result;
  for (const std::string& part : split(text, '&')) {
    if (part.starts_with("@")) {
      result.match_fields.push_back(requirement(std::string_view(part).substr(1)));
    } else {
      result.match_expressions.push_back(requirement(part));
    }
  }
  return result;
}

/// "weight:term"
PreferredSchedulingTerm preferred_term(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {small_integer(text), {}};
  return {small_integer(text.substr(0, colon)), term(text.substr(colon + 1))};
}

/// "[ip/][protocol/]port"; an IPv6 address may hold colons but no slash.
ContainerPort host_port(std::string_view text) {
  const std::vector<std::string> parts = split(text, '/');
  ContainerPort port;
  port.host_port = small_integer(parts.back());
  port.container_port = port.host_port;
  if (parts.size() >= 2) port.protocol = parts[parts.size() - 2];
  if (parts.size() >= 3) port.host_ip = parts[parts.size() - 3];
  return port;
}

/// "size*name,name"
NodeImage node_image(std::string_view text) {
  const std::size_t star = text.find('*');
  if (star == std::string_view::npos) fail("not size*name,name", text);
  return NodeImage{split(text.substr(star + 1), ','), quantity(text.substr(0, star)).value()};
}

struct NodeText {
  Node node;
  ResourceList allocatable;
  std::vector<std::pair<std::string, std::string>> labels;

  void take(const std::string& word) {
    const auto [key, value] = key_value(word);
    if (const std::optional<std::string> name = resource_name(key)) {
      set_amount(allocatable, *name, value);
    } else if (key == "pods") {
      node.allowed_pod_number = integer(value);
    } else if (key.starts_with("label:")) {
      labels.emplace_back(key.substr(6), value);
    } else if (key == "zone") {
      labels.emplace_back("topology.kubernetes.io/zone", value);
    } else if (key == "taint") {
      node.taints.push_back(taint(value));
    } else if (key == "unschedulable") {
      node.unschedulable = true;
    } else if (key == "image") {
      node.images.push_back(node_image(value));
    } else if (key == "feature") {
      node.declared_features.push_back(value);
    } else {
      fail("no word of a node", word);
    }
  }
};

struct PodText {
  Pod pod;
  PodSpec spec;
  PodRare rare;
  std::vector<std::pair<std::string, std::string>> selector;
  Container* container = nullptr;  ///< the one that words apply to

  void take(const std::string& word) {
    const auto [key, value] = key_value(word);
    if (take_container(key, value) || take_rule(key, value) || take_rare(key, value)) return;
    fail("no word of a pod", word);
  }

  Container& current() {
    if (container == nullptr) container = &spec.containers.emplace_back();
    return *container;
  }

  bool take_container(const std::string& key, const std::string& value) {
    if (key == "container") {
      container = &spec.containers.emplace_back();
    } else if (key == "init" || key == "sidecar") {
      container = &spec.init_containers.emplace_back();
      container->restart_always = key == "sidecar";
    } else if (const std::optional<std::string> name = resource_name(key)) {
      set_amount(current().requests, *name, value);
    } else if (key == "image") {
      current().image = value;
    } else if (key == "port") {
      current().ports.push_back(host_port(value));
    } else if (key == "restarts-all") {
      current().restarts_all_containers = true;
    } else {
      return false;
    }
    return true;
  }

  NodeAffinity& affinity() {
    if (!spec.node_affinity) spec.node_affinity.emplace();
    return *spec.node_affinity;
  }

  std::vector<NodeSelectorTerm>& required() {
    if (!affinity().required) affinity().required.emplace();
    return *affinity().required;
  }

  bool take_rule(const std::string& key, const std::string& value) {
    if (key == "tolerate") {
      spec.tolerations.push_back(toleration(value));
    } else if (key.starts_with("select:")) {
      selector.emplace_back(key.substr(7), value);
    } else if (key == "need") {
      required().push_back(term(value));
    } else if (key == "need-nothing") {
      required();
    } else if (key == "prefer") {
      affinity().preferred.push_back(preferred_term(value));
    } else if (key.starts_with("overhead:")) {
      set_amount(spec.overhead, key.substr(9), value);
    } else if (key.starts_with("pod-level:")) {
      set_amount(spec.pod_level_requests, key.substr(10), value);
      spec.has_pod_level_resources = true;
    } else if (key == "image-volume") {
      spec.image_volumes.push_back(value);
    } else if (key == "spread") {
      spec.topology_spread_constraints.push_back({1, value, false, {}, {}, true, false, {}});
    } else if (key == "pod-affinity" || key == "pod-anti-affinity") {
      auto& slot = key == "pod-affinity" ? spec.pod_affinity : spec.pod_anti_affinity;
      if (!slot) slot.emplace();
      slot->required.push_back({{}, {}, {}, value, {}, {}});
    } else {
      return false;
    }
    return true;
  }

  bool take_rare(const std::string& key, const std::string& value) {
    if (key == "on") {
      pod.node_name = value;
      pod.phase = PodPhase::kRunning;
    } else if (key == "priority") {
      pod.priority = small_integer(value);
    } else if (key == "namespace") {
      pod.namespace_ = value;
    } else if (key == "nominated") {
      rare.nominated_node_name = value;
    } else if (key == "gate") {
      rare.scheduling_gates.push_back(value);
    } else if (key == "terminating") {
      pod.terminating = true;
    } else if (key == "claim") {
      rare.volumes.push_back({PodVolume::Kind::kClaim, value});
    } else if (key == "resource-claim") {
      rare.resource_claims.push_back(value);
    } else {
      return false;
    }
    return true;
  }
};

/// "name*3" -> name0, name1, name2; "name" -> name.
std::vector<std::string> expand_name(const std::string& word) {
  const std::size_t star = word.find('*');
  if (star == std::string::npos) return {word};
  std::vector<std::string> names;
  const std::int64_t count = integer(std::string_view(word).substr(star + 1));
  for (std::int64_t i = 0; i < count; ++i) names.push_back(word.substr(0, star) + std::to_string(i));
  return names;
}

/// Nodes and pods of one line share what they can, as those of a load do.
Pod copy_with(const PodText& text, const std::string& name, std::shared_ptr<const PodSpec> spec) {
  Pod pod;
  pod.name = name;
  pod.namespace_ = text.pod.namespace_;
  pod.spec = std::move(spec);
  pod.node_name = text.pod.node_name;
  pod.priority = text.pod.priority;
  pod.phase = text.pod.phase;
  pod.terminating = text.pod.terminating;
  pod.rare_fields = std::make_unique<const PodRare>(text.rare);
  return pod;
}

// Configuration

std::vector<ResourceWeight> resource_weights(const std::string& text) {
  std::vector<ResourceWeight> weights;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    weights.push_back({pair[0], pair.size() > 1 ? integer(pair[1]) : 1});
  }
  return weights;
}

std::vector<ShapePoint> shape_points(const std::string& text) {
  std::vector<ShapePoint> points;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    if (pair.size() != 2) fail("not utilization:score", part);
    points.push_back({small_integer(pair[0]), small_integer(pair[1])});
  }
  return points;
}

ScoringStrategyType strategy(std::string_view text) {
  if (text == "LeastAllocated") return ScoringStrategyType::kLeastAllocated;
  if (text == "MostAllocated") return ScoringStrategyType::kMostAllocated;
  if (text == "RequestedToCapacityRatio") return ScoringStrategyType::kRequestedToCapacityRatio;
  fail("no strategy", text);
}

void disable(Profile& profile, const std::string& plugin) {
  for (std::vector<EnabledPlugin>& point : profile.plugins) {
    std::erase_if(point, [&](const EnabledPlugin& enabled) { return enabled.name == plugin; });
  }
}

NodeAffinity& added_affinity(Profile& profile) {
  auto& added = profile.args.node_affinity.added_affinity;
  if (!added) added.emplace();
  return *added;
}

bool apply_args(const std::string& key, const std::string& value, PluginArgs& args) {
  if (key == "strategy") {
    args.node_resources_fit.strategy = strategy(value);
  } else if (key == "resources") {
    args.node_resources_fit.resources = resource_weights(value);
  } else if (key == "shape") {
    args.node_resources_fit.shape = shape_points(value);
  } else if (key == "ignored") {
    args.node_resources_fit.ignored_resources = split(value, ',');
  } else if (key == "ignored-groups") {
    args.node_resources_fit.ignored_resource_groups = split(value, ',');
  } else if (key == "balanced") {
    args.balanced_allocation.resources = resource_weights(value);
  } else {
    return false;
  }
  return true;
}

bool apply_profile(const std::string& key, const std::string& value, Profile& profile) {
  if (key == "disable") {
    disable(profile, value);
  } else if (key == "weight") {
    const std::vector<std::string> pair = split(value, ':');
    for (EnabledPlugin& plugin : profile.plugins[static_cast<std::size_t>(ExtensionPoint::kScore)]) {
      if (plugin.name == pair.at(0)) plugin.weight = small_integer(pair.at(1));
    }
  } else if (key == "percentage") {
    profile.percentage_of_nodes_to_score = small_integer(value);
  } else if (key == "added-need") {
    auto& required = added_affinity(profile).required;
    if (!required) required.emplace();
    required->push_back(term(value));
  } else if (key == "added-prefer") {
    added_affinity(profile).preferred.push_back(preferred_term(value));
  } else {
    return apply_args(key, value, profile.args);
  }
  return true;
}

}  // namespace

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool open = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size() && line[i + 1] == '"') {
      word += line[++i];
      open = true;
    } else if (c == '"') {
      quoted = !quoted;
      open = true;
    } else if (!quoted && (c == ' ' || c == '\t')) {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quoted) fail("a quote is not closed", line);
  if (open) words.push_back(word);
  return words;
}

void add_nodes(const std::vector<std::string>& words, ClusterObjects& objects) {
  NodeText text;
  text.node.allowed_pod_number = 110;
  for (std::size_t i = 2; i < words.size(); ++i) text.take(words[i]);
  text.node.allocatable = to_amounts(text.allocatable);
  text.node.labels = LabelMap(std::move(text.labels));
  for (const std::string& name : expand_name(words.at(1))) {
    text.node.name = name;
    objects.nodes.push_back(std::make_shared<const Node>(text.node));
  }
}

void add_pods(const std::vector<std::string>& words, ClusterObjects& objects) {
  PodText text;
  for (std::size_t i = 2; i < words.size(); ++i) text.take(words[i]);
  if (text.spec.containers.empty()) text.spec.containers.emplace_back();
  text.spec.node_selector = LabelMap(std::move(text.selector));
  const auto spec = std::make_shared<const PodSpec>(std::move(text.spec));
  for (const std::string& name : expand_name(words.at(1))) {
    objects.pods.push_back(std::make_shared<const Pod>(copy_with(text, name, spec)));
  }
}

void apply_config(const std::vector<std::string>& words, SchedulerConfig& config) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "release") {
      config = default_scheduler_config(FeatureGates(parse_release(value)));
    } else if (key == "gates") {
      FeatureGates gates(config.gates.release());
      gates.apply(value);
      config = default_scheduler_config(gates);
    } else {
      for (Profile& profile : config.profiles) {
        if (!apply_profile(key, value, profile)) fail("no word of a config", words[i]);
      }
    }
  }
}

void apply_engine(const std::vector<std::string>& words, EngineConfig& engine) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "ties") {
      engine.tie_break = parse_tie_break(value);
    } else if (key == "sampling") {
      engine.node_sampling = parse_node_sampling(value);
    } else if (key == "seed") {
      engine.seed = static_cast<std::uint64_t>(integer(value));
    } else {
      fail("no word of an engine", words[i]);
    }
  }
}

}  // namespace berth::test

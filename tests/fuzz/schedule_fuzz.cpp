// SPDX-License-Identifier: Apache-2.0
// Any text is a cluster, a generator spec, a configuration, an engine configuration and gates, each in its section, or
// is refused with a reason. Accepted input is scheduled and explained by both backends, and they must agree. A section
// begins with a line "=== NAME"; a missing one has its defaults.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/generate/cluster_spec.h"
#include "host/generate/generate.h"
#include "host/objects/errors.h"
#include "host/objects/loader.h"
#include "host/objects/text/text_reader.h"
#include "host/scheduler/explainer.h"
#include "host/scheduler/scheduler.h"
#include "tests/fuzz/token_mutator.h"

namespace {

using namespace berth;

/// The reference visits every pod for every pod and node.
constexpr std::size_t kNodesMax = 24;
constexpr std::size_t kPodsMax = 60;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

using Sections = std::map<std::string, std::string, std::less<>>;

Sections split(std::string_view text) {
  constexpr std::string_view kHead = "=== ";
  Sections sections;
  std::string* section = &sections["cluster"];
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kHead)) {
      section = &sections[std::string(line.substr(kHead.size()))];
    } else {
      section->append(line).push_back('\n');
    }
    at = end + 1;
  }
  return sections;
}

/// A spec may request ten million objects of a kind.
bool is_small(const ClusterSpec& spec) {
  std::int64_t nodes = 0;
  std::int64_t others = 0;
  for (const NodePoolSpec& pool : spec.node_pools) nodes += pool.count;
  for (const PodGroupSpec& group : spec.pod_groups) others += group.running + group.pending;
  for (const ServiceSpec& service : spec.services) others += service.count.value_or(1);
  for (const NamespaceSpec& name_space : spec.namespaces) others += name_space.count.value_or(1);
  return nodes <= static_cast<std::int64_t>(kNodesMax) && others <= static_cast<std::int64_t>(kPodsMax);
}

/// @return false when there is nothing small enough to schedule
bool read_cluster(const Sections& sections, ClusterObjects& objects) {
  if (const auto text = sections.find("spec"); text != sections.end()) {
    for (const JsonDocument& document : documents_from_text(text->second, "fuzz")) {
      ClusterSpec spec = parse_cluster_spec(document.json, "fuzz");
      if (!is_small(spec)) return false;
      if (spec.random) spec.random->max_nodes = std::min(spec.random->max_nodes, 12);
      objects = generate_cluster(spec, 1);
    }
  } else {
    LoadOptions options;
    options.threads = 1;
    options.expansion.pods_max = static_cast<std::int64_t>(kPodsMax);
    objects = load_cluster_from_text(sections.at("cluster"), "fuzz", options).objects;
  }
  return !objects.pods.empty() && objects.nodes.size() <= kNodesMax && objects.pods.size() <= kPodsMax;
}

ScheduleOptions read_options(const Sections& sections) {
  const auto section = [&](std::string_view name) {
    const auto at = sections.find(name);
    return at == sections.end() ? std::string() : at->second;
  };
  FeatureGates gates(section("release").starts_with("1.36") ? Release::k1_36 : Release::k1_35);
  if (std::string flag = section("gates"); !flag.empty()) gates.apply(flag.substr(0, flag.size() - 1));
  ScheduleOptions options;
  options.config = default_scheduler_config(gates);
  if (const std::string text = section("config"); !text.empty())
    options.config = parse_scheduler_config(text, "fuzz", gates);
  if (const std::string text = section("engine"); !text.empty()) options.engine = parse_engine_config(text, "fuzz");
  options.engine.threads = 1;
  return options;
}

std::vector<std::string> answers(const ScheduleResult& result) {
  std::vector<std::string> lines;
  for (const Placement& placed : result.placements)
    lines.push_back(placed.pod->full_name() + " on " + result.node_names[static_cast<std::size_t>(placed.node.value)] +
                    " with " + std::to_string(placed.score));
  for (const Unplaced& pod : result.unplaced)
    lines.push_back(pod.pod->full_name() + ": " + std::string(pod.reason) + ": " +
                    result.messages[static_cast<std::size_t>(pod.message)]);
  return lines;
}

std::vector<std::string> answers(const Evaluation& evaluation) {
  std::vector<std::string> lines = {evaluation.message, evaluation.error};
  for (const NodeEvaluation& node : evaluation.nodes) {
    std::string line = std::to_string(node.node.value) + " " + std::string(to_string(node.status.code)) + " " +
                       node.status.plugin + " " + node.status.message() + " " + std::to_string(node.total);
    for (const PluginScore& score : node.scores)
      line += " " + std::string(score.plugin) + "=" + std::to_string(score.raw) + "/" +
              std::to_string(score.normalized) + "*" + std::to_string(score.weight);
    lines.push_back(std::move(line));
  }
  for (const NodeIndex best : evaluation.best) lines.push_back("best " + std::to_string(best.value));
  return lines;
}

void expect_equal(const std::vector<std::string>& reference, const std::vector<std::string>& cpu) {
  for (std::size_t i = 0; i < std::max(reference.size(), cpu.size()); ++i) {
    const std::string expected = i < reference.size() ? reference[i] : "nothing";
    const std::string actual = i < cpu.size() ? cpu[i] : "nothing";
    if (expected != actual) fail("reference: " + expected + "\ncpu:       " + actual);
  }
}

void compare(const ClusterObjects& objects, ScheduleOptions options) {
  options.engine.backend = "reference";
  const ScheduleResult expected = schedule(objects, options);
  Explainer expects(objects, options);
  options.engine.backend = "cpu";
  const ScheduleResult actual = schedule(objects, options);  // throws where the weights are beyond it
  expect_equal(answers(expected), answers(actual));
  Explainer acts(objects, options);
  for (const PodPtr& pod : expects.pending()) expect_equal(answers(expects.explain(pod)), answers(acts.explain(pod)));
}

/// Words that rules read; a mutation replaces a token by one of them.
const std::vector<std::string_view>& words() {
  static const std::vector<std::string_view> kWords = {"0",
                                                       "1",
                                                       "-1",
                                                       "2",
                                                       "100",
                                                       "2147483647",
                                                       "-2147483648",
                                                       "9223372036854775807",
                                                       "null",
                                                       "{}",
                                                       "[]",
                                                       "true",
                                                       "false",
                                                       "\"\"",
                                                       "\"a\"",
                                                       "\"b\"",
                                                       "\"app\"",
                                                       "\"web\"",
                                                       "\"n0\"",
                                                       "\"n1\"",
                                                       "\"default\"",
                                                       "\"other\"",
                                                       "\"kubernetes.io/hostname\"",
                                                       "\"topology.kubernetes.io/zone\"",
                                                       "\"DoNotSchedule\"",
                                                       "\"ScheduleAnyway\"",
                                                       "\"In\"",
                                                       "\"NotIn\"",
                                                       "\"Exists\"",
                                                       "\"DoesNotExist\"",
                                                       "\"Gt\"",
                                                       "\"Lt\"",
                                                       "\"Honor\"",
                                                       "\"Ignore\"",
                                                       "\"labelSelector\"",
                                                       "\"matchLabels\"",
                                                       "\"matchExpressions\"",
                                                       "\"matchLabelKeys\"",
                                                       "\"mismatchLabelKeys\"",
                                                       "\"namespaceSelector\"",
                                                       "\"namespaces\"",
                                                       "\"minDomains\"",
                                                       "\"maxSkew\"",
                                                       "\"topologyKey\"",
                                                       "\"podAffinity\"",
                                                       "\"podAntiAffinity\"",
                                                       "\"nodeAffinity\"",
                                                       "\"requiredDuringSchedulingIgnoredDuringExecution\"",
                                                       "\"preferredDuringSchedulingIgnoredDuringExecution\"",
                                                       "\"topologySpreadConstraints\"",
                                                       "\"nodeSelector\"",
                                                       "\"nodeName\"",
                                                       "\"nominatedNodeName\"",
                                                       "\"deletionTimestamp\"",
                                                       "\"2026-01-01T00:00:00Z\"",
                                                       "\"ownerReferences\"",
                                                       "\"NoSchedule\"",
                                                       "\"PreferNoSchedule\"",
                                                       "\"priority\"",
                                                       "\"hostPort\"",
                                                       "\"cpu\"",
                                                       "\"memory\"",
                                                       "\"1e9\"",
                                                       "\"1n\"",
                                                       "\"9223372036854775807\"",
                                                       "\"random\"",
                                                       "\"first\"",
                                                       "\"kube\"",
                                                       "\"all\"",
                                                       "\"hardPodAffinityWeight\"",
                                                       "\"ignorePreferredTermsOfExistingPods\"",
                                                       "\"defaultConstraints\"",
                                                       "\"defaultingType\"",
                                                       "\"disabled\"",
                                                       "\"enabled\"",
                                                       "\"multiPoint\"",
                                                       "\"*\"",
                                                       "\"PodTopologySpread\"",
                                                       "\"InterPodAffinity\"",
                                                       "\"NodeResourcesFit\"",
                                                       "\"NodeAffinity\""};
  return kWords;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max,
                                               unsigned int seed) {
  constexpr unsigned int kBytesEvery = 8;
  if (seed % kBytesEvery == 0) return LLVMFuzzerMutate(data, size, size_max);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (unsigned int changes = 1 + seed % 3; changes > 0; --changes)
    text = berth::fuzz::mutate_tokens(text, words(), seed + changes);
  if (text.size() > size_max) return size;
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Sections sections = split({reinterpret_cast<const char*>(data), size});
  try {
    ClusterObjects objects;
    if (!read_cluster(sections, objects)) return 0;
    compare(objects, read_options(sections));
  } catch (const InputError& error) {
    if (error.problems().empty()) fail("a refusal that says nothing");
  }
  return 0;
}

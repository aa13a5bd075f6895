// SPDX-License-Identifier: Apache-2.0
// What a plugin by C ABI costs: examples/plugin beside the same rule as a HostPlugin in C++, on one cluster.
//
//   bench_plugin CLUSTER.json [runs] [one Deployment in N takes licenses]
//
// Every node is given 20 licenses, and the pods of one Deployment in N (by the number behind "app-") take one each.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/loader.h"
#include "host/objects/pod_copy.h"
#include "host/plugin_abi/abi_plugin.h"
#include "host/scheduler/scheduler.h"

namespace berth {
namespace {

constexpr const char* kConfig =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    "  - plugins: {multiPoint: {enabled: [{name: Licenses, weight: 5}]}}\n";
constexpr double kLeast = 0.95;

std::int64_t count_of(const DeclaredValues& values) {
  const std::string* const text = find_declared(values, 0);
  std::int64_t count = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), count);
  return count;
}

std::int64_t taken_by(const Pod& pod) { return count_of(pod.rare().declared); }

std::int64_t taken_on(const NodeInfo& node) {
  std::int64_t taken = 0;
  for (const PodPtr& pod : node.pods) taken += taken_by(*pod);
  return taken;
}

/// The rule of examples/plugin/licenses.c.
class Licenses : public HostPlugin {
 public:
  std::string_view name() const override { return "Licenses"; }
  bool concerns(const Pod& pod) const override { return taken_by(pod) > 0; }
  std::optional<std::string> sign(const Pod& pod) const override { return "v" + std::to_string(taken_by(pod)); }
  HostReach reach(const HostQuery& /*query*/, const Node& /*node*/) const override { return {HostReach::Kind::kNode}; }
  void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override {
    const std::int64_t wanted = taken_by(query.pod);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t offered = count_of(nodes[i]->node->declared);
      const std::int64_t taken = offered == 0 ? 0 : taken_on(*nodes[i]);
      if (Status status = verdict(offered, taken, wanted); !status.ok())
        answers.refuse(i, status.code, std::move(status.reasons));
      answers.score(i, offered - taken);
    }
  }
  Status filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                        std::span<const Pod* const> removed) const override {
    std::int64_t taken = taken_on(node);
    for (const Pod* pod : added) taken += taken_by(*pod);
    for (const Pod* pod : removed) taken -= taken_by(*pod);
    return verdict(count_of(node.node->declared), taken, taken_by(query.pod));
  }
  void normalize(const Pod& /*pod*/, std::span<std::int64_t> scores) const override {
    std::int64_t most = 1;
    for (const std::int64_t score : scores) most = std::max(most, score);
    for (std::int64_t& score : scores) score = 100 * score / most;
  }

 private:
  static Status verdict(std::int64_t offered, std::int64_t taken, std::int64_t wanted) {
    if (wanted > offered)
      return {StatusCode::kUnschedulableAndUnresolvable, "", {"node(s) did not offer enough licenses"}};
    if (taken + wanted > offered) return {StatusCode::kUnschedulable, "", {"node(s) had no free license"}};
    return {};
  }
};

ClusterObjects with_licenses(ClusterObjects objects, std::uint64_t one_in) {
  for (NodePtr& node : objects.nodes) {
    auto copy = std::make_shared<Node>(*node);
    copy->declared = {{0, false, "20"}};
    node = std::move(copy);
  }
  for (PodPtr& pod : objects.pods) {
    const std::string app(pod->labels.find("app").value_or("app-1"));
    if (std::strtoull(app.c_str() + 4, nullptr, 10) % one_in != 0) continue;
    auto copy = copy_of(*pod);
    PodRare rare = pod->rare();
    rare.declared = {{0, false, "1"}};
    copy->rare_fields = std::make_unique<const PodRare>(std::move(rare));
    pod = std::move(copy);
  }
  return objects;
}

/// Who went where.
std::map<std::string, NodeIndex> places_of(const ScheduleResult& result) {
  std::map<std::string, NodeIndex> places;
  for (const Placement& placement : result.placements) places[placement.pod->full_name()] = placement.node;
  return places;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run(const std::string& path, int runs, std::uint64_t one_in) {
  LoadResult loaded = load_cluster({path});
  loaded.throw_if_problems();
  const ClusterObjects objects = with_licenses(std::move(loaded.objects), one_in);
  ScheduleOptions with_abi;
  std::vector<PluginTable> tables = {read_plugin_table(berth_plugin_init(), "examples/plugin")};
  with_abi.config = parse_scheduler_config(kConfig, "bench", FeatureGates(parse_release("1.35")), OutOfTree::kRefuse,
                                           outside_plugins(tables));
  ScheduleOptions built_in = with_abi;
  const AbiPlugins plugins = open_plugins(std::move(tables), with_abi.config);
  with_abi.engine.host_plugins.assign(plugins.begin(), plugins.end());
  built_in.engine.host_plugins = {std::make_shared<Licenses>()};

  std::vector<double> abi_rates;
  std::vector<double> built_in_rates;
  std::vector<double> ratios;
  for (int i = 0; i < runs; ++i) {
    // In turns, so that a machine that is busy for a while slows both.
    const bool is_first = i % 2 == 0;
    const ScheduleResult first = schedule(objects, is_first ? with_abi : built_in);
    const ScheduleResult second = schedule(objects, is_first ? built_in : with_abi);
    if (places_of(first) != places_of(second)) {
      fmt::print("the plugin and the rule built in place pods differently\n");
      return EXIT_FAILURE;
    }
    const double abi = (is_first ? first : second).stats.pods_per_second;
    const double own = (is_first ? second : first).stats.pods_per_second;
    abi_rates.push_back(abi);
    built_in_rates.push_back(own);
    ratios.push_back(abi / own);
    if (i > 0) continue;
    fmt::print("{} nodes, {} pods, {} placed; {} pods decided by plugins, asked about {} nodes in {} columns\n",
               first.stats.nodes, first.stats.pods, first.placements.size(), first.stats.host.at("pods"),
               first.stats.host.at("nodes"), first.stats.host.at("columns"));
  }
  fmt::print("plugin by C ABI   {:>10.0f} pods/s (median of {})\n", median(abi_rates), runs);
  fmt::print("rule built in     {:>10.0f} pods/s\n", median(built_in_rates));
  const double ratio = median(ratios);
  fmt::print("bench-plugin: ratio {:.3f}, at least {:.2f}: {}\n", ratio, kLeast, ratio >= kLeast ? "met" : "short");
  return ratio >= kLeast ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("usage: bench_plugin CLUSTER.json [runs] [one Deployment in N takes licenses]\n");
    return EXIT_FAILURE;
  }
  const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::uint64_t one_in = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 4;
  return berth::run(argv[1], std::max(runs, 1), std::max<std::uint64_t>(one_in, 1));
}

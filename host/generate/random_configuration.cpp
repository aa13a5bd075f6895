// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_configuration.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "host/generate/random.h"
#include "host/objects/json_writer.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

constexpr std::uint64_t kStream = 0x5851F42D4C957F2DULL;
/// Of the gates of volumes and what comes with them, apart so that other draws of a seed stay what they are.
constexpr std::uint64_t kVolumesStream = 0xA0761D6478BD642FULL;
const Names kScorers = {"NodeResourcesFit", "NodeResourcesBalancedAllocation",
                        "ImageLocality",    "TaintToleration",
                        "NodeAffinity",     "PodTopologySpread",
                        "InterPodAffinity"};
const Names kFilters = {"NodeUnschedulable", "NodeName",         "TaintToleration",   "NodeAffinity",
                        "NodePorts",         "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"};
/// Plugins that a profile can do without altogether.
const Names kDispensable = {"NodeUnschedulable", "NodeName",          "TaintToleration",
                            "NodeAffinity",      "NodePorts",         "NodeResourcesBalancedAllocation",
                            "ImageLocality",     "PodTopologySpread", "InterPodAffinity"};
/// Plugins whose filters or scores read what an earlier point wrote.
const Names kStateful = {"NodePorts",       "NodeAffinity",      "NodeResourcesFit",
                         "TaintToleration", "PodTopologySpread", "InterPodAffinity"};
const Names kResources = {"cpu",
                          "memory",
                          "ephemeral-storage",
                          "nvidia.com/gpu",
                          "example.com/license",
                          "example.org/fpga",
                          "hugepages-2Mi",
                          "hugepages-1Gi",
                          "pods",
                          "example.com/none"};
const Names kLabels = {"disk",  "gen", "example.com/pool", "topology.kubernetes.io/zone", "kubernetes.io/hostname",
                       "absent"};
const Names kValues = {"ssd", "hdd", "general", "gpu", "zone-a", "zone-b", "1", "7", "100", "node-0", "node-1", ""};
const Names kTopologyKeys = {"topology.kubernetes.io/zone", "kubernetes.io/hostname", "topology.kubernetes.io/region",
                             "example.com/rack", "absent"};

class ConfigurationWriter {
 public:
  ConfigurationWriter(std::uint64_t seed, std::string& out)
      : random_(seed ^ kStream),
        volumes_(seed ^ kVolumesStream),
        scores_storage_(volumes_.chance(30)),
        needs_drivers_(volumes_.chance(30)),
        w_(out) {
    if (!scores_storage_) return;
    for (Names* names : {&scorers_, &filters_, &stateful_}) names->emplace_back("VolumeBinding");
  }

  Names write() {
    Names names = {"default-scheduler"};
    if (random_.chance(40)) names.emplace_back("second");
    w_.open('{');
    w_.text("apiVersion", "kubescheduler.config.k8s.io/v1");
    w_.text("kind", "KubeSchedulerConfiguration");
    w_.objects("profiles", names, [&](const std::string& name) { write_profile(name); });
    w_.close('}');
    return names;
  }

  std::string feature_gates() {
    std::string gates;
    const auto add = [&](std::string_view text) { gates.append(gates.empty() ? "" : ",").append(text); };
    if (random_.chance(25)) add("TaintTolerationComparisonOperators=true");
    if (random_.chance(15)) add("NodeDeclaredFeatures=true");  // 1.36 has gates on that need it
    if (random_.chance(15)) {
      add("MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false");
    }
    if (scores_storage_) add("StorageCapacityScoring=true");
    if (needs_drivers_) add("VolumeLimitScaling=true");
    return gates;
  }

 private:
  /// Different ones, in random order.
  Names sample(const Names& from, std::int64_t least, std::int64_t most) {
    Names left = from;
    Names taken;
    const std::int64_t count = random_.between(least, most);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t at = random_.below(left.size());
      taken.push_back(std::move(left[at]));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return taken;
  }

  void write_profile(const std::string& name) {
    w_.text("schedulerName", name);
    w_.key("pluginConfig");
    w_.open('[');
    if (random_.chance(70)) write_args("NodeResourcesFit", [&] { write_fit_args(); });
    if (random_.chance(50)) write_args("NodeResourcesBalancedAllocation", [&] { write_resources(6, {1}); });
    if (random_.chance(40)) write_args("NodeAffinity", [&] { write_added_affinity(); });
    if (random_.chance(50)) write_args("PodTopologySpread", [&] { write_spread_args(); });
    if (random_.chance(50)) write_args("InterPodAffinity", [&] { write_pod_affinity_args(); });
    if (scores_storage_ && volumes_.chance(70)) write_args("VolumeBinding", [&] { write_shape(volumes_); });
    w_.close(']');
    if (random_.chance(60)) w_.object("plugins", [&] { write_plugins(); });
  }

  template <class Body>
  void write_args(std::string_view plugin, Body&& body) {
    w_.open('{');
    w_.text("name", plugin);
    w_.object("args", body);
    w_.close('}');
  }

  void write_resources(std::int64_t most, const std::vector<std::int64_t>& weights) {
    w_.objects("resources", sample(kResources, 1, most), [&](const std::string& name) {
      w_.text("name", name);
      w_.field("weight", random_.pick(weights));
    });
  }

  void write_fit_args() {
    static constexpr std::array<std::string_view, 3> kStrategies = {"LeastAllocated", "MostAllocated",
                                                                    "RequestedToCapacityRatio"};
    const std::string_view strategy = random_.pick(kStrategies);
    w_.object("scoringStrategy", [&] {
      w_.text("type", strategy);
      if (random_.chance(80)) write_resources(5, {1, 1, 2, 3, 50, 100});
      if (strategy == kStrategies[2]) w_.object("requestedToCapacityRatio", [&] { write_shape(random_); });
    });
    if (random_.chance(30)) {
      w_.strings("ignoredResources",
                 sample({"example.com/license", "nvidia.com/gpu", "example.org/fpga", "cpu"}, 1, 2));
    }
    if (random_.chance(30)) {
      w_.strings("ignoredResourceGroups", sample({"example.com", "nvidia.com", "example.org", "kubernetes.io"}, 1, 2));
    }
  }

  void write_shape(Random& random) {
    std::set<std::int64_t> utilizations;
    const std::int64_t count = random.between(1, 5);
    for (std::int64_t i = 0; i < count; ++i) utilizations.insert(random.between(0, 100));
    w_.objects("shape", utilizations, [&](std::int64_t utilization) {
      w_.field("utilization", utilization);
      w_.field("score", random.between(0, 10));
    });
  }

  void write_expression() {
    static constexpr std::array<std::string_view, 6> kOperators = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    const std::string_view op = random_.pick(kOperators);
    w_.text("key", random_.pick(kLabels));
    w_.text("operator", op);
    if (op == "In" || op == "NotIn") w_.strings("values", sample(kValues, 1, 4));
    if (op == "Gt" || op == "Lt") w_.strings("values", sample({"0", "1", "5", "007", "99"}, 1, 1));
  }

  void write_field() {
    w_.text("key", "metadata.name");
    w_.text("operator", random_.chance(50) ? "In" : "NotIn");
    w_.strings("values", {"node-" + std::to_string(random_.between(0, 6))});
  }

  void write_term() {
    const std::vector<int> expressions(random_.chance(85) ? 1 + random_.below(2) : 0);
    const std::vector<int> fields(random_.chance(25) ? 1 : 0);
    w_.objects("matchExpressions", expressions, [&](int) { write_expression(); });
    w_.objects("matchFields", fields, [&](int) { write_field(); });
  }

  void write_added_affinity() {
    const std::vector<int> required(random_.chance(25) ? 1 + random_.below(3) : 0);
    const std::vector<int> preferred(random_.chance(70) ? 1 + random_.below(3) : 0);
    w_.object("addedAffinity", [&] {
      if (!required.empty()) {
        w_.object("requiredDuringSchedulingIgnoredDuringExecution",
                  [&] { w_.objects("nodeSelectorTerms", required, [&](int) { write_term(); }); });
      }
      w_.objects("preferredDuringSchedulingIgnoredDuringExecution", preferred, [&](int) {
        w_.field("weight", random_.between(1, 100));
        w_.object("preference", [&] { write_term(); });
      });
    });
  }

  void write_spread_args() {
    if (random_.chance(25)) return w_.text("defaultingType", "System");
    w_.text("defaultingType", "List");
    std::set<std::pair<std::string, bool>> kinds;  // each once
    const std::int64_t count = random_.between(0, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string& key = random_.pick(kTopologyKeys);
      kinds.emplace(key, random_.chance(60));
    }
    w_.objects("defaultConstraints", kinds, [&](const auto& kind) { write_constraint(kind.first, kind.second); });
  }

  void write_constraint(const std::string& key, bool schedule_anyway) {
    w_.text("topologyKey", key);
    w_.text("whenUnsatisfiable", schedule_anyway ? "ScheduleAnyway" : "DoNotSchedule");
    w_.field("maxSkew", random_.between(1, 5));
    if (!schedule_anyway && random_.chance(20)) w_.field("minDomains", random_.between(1, 5));
    if (random_.chance(15)) w_.text("nodeAffinityPolicy", random_.chance(30) ? "Honor" : "Ignore");
    if (random_.chance(15)) w_.text("nodeTaintsPolicy", random_.chance(70) ? "Honor" : "Ignore");
  }

  void write_pod_affinity_args() {
    static constexpr std::array<std::int64_t, 6> kWeights = {0, 0, 1, 7, 50, 100};
    w_.field("hardPodAffinityWeight", random_.pick(kWeights));
    if (random_.chance(60)) w_.field("ignorePreferredTermsOfExistingPods", random_.chance(70));
  }

  void write_names(std::string_view field, const Names& names) {
    w_.objects(field, names, [&](const std::string& name) { w_.text("name", name); });
  }

  void write_weighted(const Names& names, const std::vector<std::int64_t>& weights) {
    w_.objects("enabled", names, [&](const std::string& name) {
      w_.text("name", name);
      w_.field("weight", random_.pick(weights));
    });
  }

  void write_plugins() {
    const Names off = random_.chance(30) ? sample(kDispensable, 1, 2) : Names();
    if (!off.empty())
      w_.object("multiPoint", [&] { write_names("disabled", off); });
    else if (random_.chance(30))
      w_.object("multiPoint", [&] { write_weighted(sample(scorers_, 1, 3), {1, 2, 5, 11, 20}); });
    if (random_.chance(30))
      w_.object("filter", [&] { write_names("enabled", sample(filters_, 1, 4)); });
    else if (random_.chance(30))
      w_.object("filter", [&] { write_names("disabled", sample(filters_, 1, 2)); });
    write_score_point(off);
    for (const std::string_view point : {"preFilter", "preScore"}) {
      if (random_.chance(10)) w_.object(point, [&] { write_names("disabled", sample(stateful_, 1, 1)); });
    }
  }

  /// @param off  plugins without a PreScore, whose Score would only end every cycle with an error
  void write_score_point(const Names& off) {
    if (!random_.chance(50)) {
      if (random_.chance(20)) w_.object("score", [&] { write_names("disabled", {"*"}); });
      return;
    }
    Names names = sample(scorers_, 1, 4);
    std::erase_if(names, [&](const std::string& name) { return std::find(off.begin(), off.end(), name) != off.end(); });
    w_.object("score", [&] {
      write_weighted(names, {1, 2, 3, 7, 100});
      if (!random_.chance(40)) return;
      write_names("disabled", random_.chance(70) ? sample(scorers_, 1, 1) : Names{"*"});
    });
  }

  Random random_;
  Random volumes_;
  const bool scores_storage_;  ///< the gate StorageCapacityScoring
  const bool needs_drivers_;   ///< VolumeLimitScaling
  // Plugins of which some are enabled, disabled and weighted.
  Names scorers_ = kScorers;
  Names filters_ = kFilters;
  Names stateful_ = kStateful;
  JsonWriter w_;
};

}  // namespace

RandomConfiguration random_configuration(std::uint64_t seed) {
  RandomConfiguration made;
  ConfigurationWriter writer(seed, made.json);
  made.scheduler_names = writer.write();
  made.json += '\n';
  made.feature_gates = writer.feature_gates();
  return made;
}

}  // namespace berth

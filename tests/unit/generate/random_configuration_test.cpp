// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_configuration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "host/config/scheduler_config.h"

namespace berth {
namespace {

TEST(RandomConfiguration, BothReleasesAcceptEveryConfiguration) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const RandomConfiguration made = random_configuration(seed);
    for (const Release release : {Release::k1_35, Release::k1_36}) {
      FeatureGates gates(release);
      ASSERT_NO_THROW(gates.apply(made.feature_gates)) << made.feature_gates;
      SchedulerConfig config;
      ASSERT_NO_THROW(config = parse_scheduler_config(made.json, "seed " + std::to_string(seed), gates)) << made.json;
      std::vector<std::string> names;
      for (const Profile& profile : config.profiles) names.push_back(profile.scheduler_name);
      EXPECT_EQ(names, made.scheduler_names);
    }
  }
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

TEST(RandomConfiguration, ASeedGivesTheSameConfigurationInEveryVersion) {
  EXPECT_EQ(random_configuration(3).json, random_configuration(3).json);
  EXPECT_NE(random_configuration(3).json, random_configuration(4).json);
  EXPECT_EQ(hash_of(random_configuration(2).json), 4792115028438707135ULL);
}

/// How often each choice of a configuration occurs.
class Count {
 public:
  void add(const RandomConfiguration& made) {
    FeatureGates gates;
    gates.apply(made.feature_gates);
    const SchedulerConfig config = parse_scheduler_config(made.json, "c", gates);
    see(config.profiles.size() == 2, "second profile");
    for (const char* gate : {"TaintTolerationComparisonOperators", "NodeDeclaredFeatures",
                             "MatchLabelKeysInPodTopologySpread", "StorageCapacityScoring", "VolumeLimitScaling"}) {
      see(gates.enabled(gate), std::string(gate) + " on");
      see(!gates.enabled(gate), std::string(gate) + " off");
    }
    for (const Profile& profile : config.profiles) add(profile);
  }
  int operator[](const std::string& what) { return counts_[what]; }

 private:
  void see(bool condition, const std::string& what) { counts_[what] += condition ? 1 : 0; }

  void add(const Profile& profile) {
    const PluginArgs& args = profile.args;
    see(args.node_resources_fit.strategy == ScoringStrategyType::kMostAllocated, "most allocated");
    see(!args.node_resources_fit.shape.empty(), "shape");
    see(args.volume_binding.shape.size() > 2, "shape of volumes");
    see(!args.node_resources_fit.ignored_resources.empty(), "ignored resources");
    see(!args.node_resources_fit.ignored_resource_groups.empty(), "ignored groups");
    see(args.node_affinity.added_affinity.has_value(), "added affinity");
    see(!args.pod_topology_spread.system_defaulting, "list defaulting");
    see(args.inter_pod_affinity.hard_pod_affinity_weight == 0, "no hard weight");
    see(args.inter_pod_affinity.hard_pod_affinity_weight == 100, "full hard weight");
    see(args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods, "ignores preferred terms");
    for (const TopologySpreadConstraint& constraint : args.pod_topology_spread.default_constraints) {
      see(constraint.schedule_anyway, "soft default");
      see(!constraint.schedule_anyway, "hard default");
    }
    see(profile.at(ExtensionPoint::kScore).empty(), "no scores");
    for (const char* plugin : {"PodTopologySpread", "InterPodAffinity", "NodePorts", "VolumeBinding"}) {
      const bool filters = profile.enables(ExtensionPoint::kFilter, plugin);
      const bool has_state = profile.enables(ExtensionPoint::kPreFilter, plugin);
      see(!filters, std::string(plugin) + " does not filter");
      see(filters && !has_state, std::string(plugin) + " filters without its state");
    }
  }

  std::map<std::string, int> counts_;
};

TEST(RandomConfiguration, EveryChoiceOccursWithinAThousandSeeds) {
  Count count;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) count.add(random_configuration(seed));
  for (const char* what : {"second profile",
                           "TaintTolerationComparisonOperators on",
                           "TaintTolerationComparisonOperators off",
                           "NodeDeclaredFeatures on",
                           "NodeDeclaredFeatures off",
                           "MatchLabelKeysInPodTopologySpread on",
                           "MatchLabelKeysInPodTopologySpread off",
                           "StorageCapacityScoring on",
                           "StorageCapacityScoring off",
                           "VolumeLimitScaling on",
                           "VolumeLimitScaling off",
                           "shape of volumes",
                           "VolumeBinding does not filter",
                           "most allocated",
                           "shape",
                           "ignored resources",
                           "ignored groups",
                           "added affinity",
                           "list defaulting",
                           "soft default",
                           "hard default",
                           "no hard weight",
                           "full hard weight",
                           "ignores preferred terms",
                           "no scores",
                           "PodTopologySpread does not filter",
                           "PodTopologySpread filters without its state",
                           "InterPodAffinity does not filter",
                           "InterPodAffinity filters without its state",
                           "NodePorts does not filter",
                           "NodePorts filters without its state"}) {
    EXPECT_GE(count[what], 5) << what;
  }
}

}  // namespace
}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
// A plugin in several profiles: an instance for each of the arguments that are not equal.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/capi/scripted_plugin.h"

namespace berth::test {
namespace {

/// What a test has of its plugin: the instances that are there, and how many there were.
struct Instances {
  int created = 0;
  int destroyed = 0;
  std::uint64_t versions[2] = {};  ///< of the instances, in the order in which they were created
};

/// Refuses the node that its arguments name, {"refuses":"NAME"}, and one node more where a pod called "reaching"
/// stands.
struct Instance {
  Instances* all;
  int number;
  std::string refused_node;
  const berth_plugin_host* host;
};

Instance& instance_of(void* self) { return *static_cast<Instance*>(self); }

std::int32_t create(void* user_data, const berth_plugin_host* host, berth_plugin_call* call, const char* arguments,
                    std::size_t size, void** self) {
  auto& all = *static_cast<Instances*>(user_data);
  const std::string text(arguments, size);
  if (text.find("fails") != std::string::npos) {
    host->add_reason(call, "it was told to");
    return BERTH_CODE_ERROR;
  }
  const std::size_t begin = text.find(":\"") + 2;
  *self = new Instance{&all, all.created++, text.substr(begin, text.size() - begin - 2), host};
  return BERTH_CODE_SUCCESS;
}

std::int32_t evaluate(void* self, berth_plugin_call* call, const berth_plugin_pod* /*pod*/,
                      const berth_plugin_nodes* nodes, berth_plugin_columns* columns) {
  const Instance& instance = instance_of(self);
  for (std::size_t i = 0; i < nodes->count; ++i) {
    const berth_plugin_text name = instance.host->node_name(call, nodes->nodes[i]);
    if (std::string_view(name.data, name.size) != instance.refused_node) continue;
    const std::string reason =
        "refused " + std::to_string(instance.all->versions[instance.number]) + " by " + std::to_string(instance.number);
    const char* const reasons = reason.c_str();
    columns->codes[i] = BERTH_CODE_UNSCHEDULABLE;
    columns->reasons[i] = instance.host->make_reasons(call, &reasons, 1);
  }
  return BERTH_CODE_SUCCESS;
}

berth_plugin table_of(Instances& instances) {
  berth_plugin table{};
  table.abi_version = BERTH_PLUGIN_ABI_VERSION;
  table.struct_size = sizeof table;
  table.name = "Scripted";
  table.flags = BERTH_PLUGIN_FILTERS;
  table.user_data = &instances;
  table.create = create;
  table.destroy = [](void* self) {
    ++instance_of(self).all->destroyed;
    delete &instance_of(self);
  };
  table.sign = [](void*, berth_plugin_call*, const berth_plugin_pod*) { return std::int32_t{BERTH_CODE_SUCCESS}; };
  table.version = [](void* self) { return instance_of(self).all->versions[instance_of(self).number]; };
  table.reach = [](void*, berth_plugin_call*, const berth_plugin_pod*, const berth_plugin_node*,
                   berth_plugin_reach* reach) { reach->kind = BERTH_REACH_NOTHING; };
  table.evaluate = evaluate;
  table.filter_changed = [](void*, berth_plugin_call*, const berth_plugin_pod*, const berth_plugin_node*,
                            const berth_plugin_pod* const*, std::size_t, const berth_plugin_pod* const*,
                            std::size_t) { return std::int32_t{BERTH_CODE_SUCCESS}; };
  return table;
}

/// Profiles "one", "two" and so on, each with these arguments.
std::string config_of(const std::vector<std::string>& arguments) {
  const char* const names[] = {"one", "two", "three"};
  std::string profiles;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    profiles += std::string(i > 0 ? "," : "") + R"({"schedulerName":")" + names[i] +
                R"(","plugins":{"filter":{"enabled":[{"name":"Scripted"}]}},)" +
                R"("pluginConfig":[{"name":"Scripted","args":)" + arguments[i] + "}]}";
  return R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[)" +
         profiles + "]}";
}

OwnedPod pod_of_profile(berth_cluster* cluster, const std::string& profile) {
  return pod_of(cluster, pod_with("p-" + profile, "", R"("schedulerName":")" + profile + R"(",)"));
}

TEST(PluginInProfiles, HasAnInstanceForEachOfTheArguments) {
  Instances instances;
  const berth_plugin table = table_of(instances);
  {
    const OwnedEngine engine =
        engine_with({&table}, config_of({R"({"refuses":"n0"})", R"({"refuses":"n1"})", R"({ "refuses" : "n0" })"}));
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(instances.created, 2);
    berth_cluster* made = nullptr;
    ASSERT_EQ(berth_cluster_create(engine.get(), &made, nullptr), BERTH_OK);
    const OwnedCluster cluster(made);
    upsert(cluster.get(), node_with("n0", ""));
    upsert(cluster.get(), node_with("n1", ""));
    const OwnedPod one = pod_of_profile(cluster.get(), "one");
    const OwnedPod two = pod_of_profile(cluster.get(), "two");
    const OwnedPod three = pod_of_profile(cluster.get(), "three");
    EXPECT_EQ(checked(cluster.get(), one.get()), "n0=2 refused 0 by 0; n1=0");
    EXPECT_EQ(checked(cluster.get(), two.get()), "n0=0; n1=2 refused 0 by 1");
    EXPECT_EQ(checked(cluster.get(), three.get()), "n0=2 refused 0 by 0; n1=0");
    EXPECT_EQ(placed(cluster.get(), two.get()), "n0");
    // New data of one of them.
    instances.versions[1] = 7;
    EXPECT_EQ(checked(cluster.get(), one.get()), "n0=2 refused 0 by 0; n1=0");
    EXPECT_EQ(checked(cluster.get(), two.get()), "n0=0; n1=2 refused 7 by 1");
  }
  EXPECT_EQ(instances.destroyed, 2);
}

TEST(PluginInProfiles, ThoseThatWereCreatedGoWhereOneFails) {
  Instances instances;
  const berth_plugin table = table_of(instances);
  Refused refused;
  EXPECT_EQ(engine_with({&table}, config_of({R"({"refuses":"n0"})", R"({"fails":"yes"})"}), &refused), nullptr);
  EXPECT_EQ(refused.text, "plugins[0]: plugin Scripted: it was told to");
  EXPECT_EQ(instances.created, 1);
  EXPECT_EQ(instances.destroyed, 1);
}

TEST(PluginInProfiles, WithoutCreateIsOneWhateverTheArguments) {
  Instances instances;
  Instance only{&instances, 0, "n1", nullptr};
  berth_plugin table = table_of(instances);
  table.create = nullptr;
  table.destroy = nullptr;
  table.user_data = &only;
  table.evaluate = [](void* self, berth_plugin_call*, const berth_plugin_pod*, const berth_plugin_nodes*,
                      berth_plugin_columns*) {
    ++instance_of(self).all->created;
    return std::int32_t{BERTH_CODE_SUCCESS};
  };
  const OwnedEngine engine = engine_with({&table}, config_of({R"({"a":1})", R"({"a":2})"}));
  ASSERT_NE(engine, nullptr);
  berth_cluster* made = nullptr;
  ASSERT_EQ(berth_cluster_create(engine.get(), &made, nullptr), BERTH_OK);
  const OwnedCluster cluster(made);
  upsert(cluster.get(), node_with("n0", ""));
  const OwnedPod two = pod_of_profile(cluster.get(), "two");
  EXPECT_EQ(checked(cluster.get(), two.get()), "n0=0");
  EXPECT_GT(instances.created, 0);
}

}  // namespace
}  // namespace berth::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/scripted_plugin.h"

#include <gtest/gtest.h>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

Script& script_of(void* self) { return *static_cast<Script*>(self); }
std::string text_of(berth_plugin_text text) { return text.data != nullptr ? std::string(text.data, text.size) : ""; }

}  // namespace

const berth_plugin* ScriptedPlugin::table() {
  table_ = {};
  table_.struct_size = sizeof table_;
  table_.abi_version = BERTH_PLUGIN_ABI_VERSION;
  table_.flags = flags;
  table_.name = "Scripted";
  table_.node_paths = node_paths.data();
  table_.node_path_count = node_paths.size();
  table_.pod_paths = pod_paths.data();
  table_.pod_path_count = pod_paths.size();
  table_.user_data = this;
  table_.create = [](void* user_data, const berth_plugin_host* given, berth_plugin_call* call, const char* arguments,
                     std::size_t size, void** self) {
    *self = user_data;
    Script& script = script_of(user_data);
    script.host = given;
    return script.create ? script.create(call, std::string(arguments, size)) : std::int32_t{BERTH_CODE_SUCCESS};
  };
  table_.destroy = [](void* self) { ++script_of(self).destroyed; };
  if (sign) table_.sign = [](void* self, berth_plugin_call* call, Pod pod) { return script_of(self).sign(call, pod); };
  if (version) table_.version = [](void* self) { return script_of(self).version(); };
  if (reach)
    table_.reach = [](void* self, berth_plugin_call* call, Pod pod, Node node, berth_plugin_reach* out) {
      script_of(self).reach(call, pod, node, out);
    };
  if (pre_filter)
    table_.pre_filter = [](void* self, berth_plugin_call* call, Pod pod) {
      return script_of(self).pre_filter(call, pod);
    };
  if ((flags & (BERTH_PLUGIN_FILTERS | BERTH_PLUGIN_SCORES)) != 0)
    table_.evaluate = [](void* self, berth_plugin_call* call, Pod pod, const berth_plugin_nodes* nodes,
                         berth_plugin_columns* columns) {
      Script& script = script_of(self);
      return script.evaluate ? script.evaluate(call, pod, nodes, columns) : std::int32_t{BERTH_CODE_SUCCESS};
    };
  if ((flags & BERTH_PLUGIN_FILTERS) != 0)
    table_.filter_changed = [](void* self, berth_plugin_call* call, Pod pod, Node node, const Pod* added,
                               std::size_t added_count, const Pod* removed, std::size_t removed_count) {
      Script& script = script_of(self);
      if (!script.filter_changed) return std::int32_t{BERTH_CODE_SUCCESS};
      return script.filter_changed(call, pod, node, PodList(added, added + added_count),
                                   PodList(removed, removed + removed_count));
    };
  if (pre_score)
    table_.pre_score = [](void* self, berth_plugin_call* call, Pod pod) {
      return script_of(self).pre_score(call, pod);
    };
  if (normalize)
    table_.normalize = [](void* self, berth_plugin_call* call, Pod pod, std::int64_t* scores, std::size_t count) {
      return script_of(self).normalize(call, pod, scores, count);
    };
  if (pre_enqueue)
    table_.pre_enqueue = [](void* self, berth_plugin_call* call, Pod pod) {
      return script_of(self).pre_enqueue(call, pod);
    };
  if (queueing_hint)
    table_.queueing_hint = [](void* self, berth_plugin_call* call, Pod pod, const berth_plugin_change* change) {
      return script_of(self).queueing_hint(call, pod, change);
    };
  return &table_;
}

std::string ScriptedPlugin::label(berth_plugin_call* call, Node node, const char* key) const {
  berth_plugin_text text{nullptr, 0};
  host->node_label(call, node, key, &text);
  return text_of(text);
}

std::string ScriptedPlugin::value(berth_plugin_call* call, Pod pod, std::uint32_t path) const {
  berth_plugin_text text{nullptr, 0};
  return host->pod_value(call, pod, path, &text) != 0 ? text_of(text) : "(none)";
}

std::string ScriptedPlugin::name(berth_plugin_call* call, Node node) const {
  return text_of(host->node_name(call, node));
}

std::string config_with_scripted(const std::string& args) {
  return R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{)"
         R"("schedulerName":"default-scheduler","plugins":{"multiPoint":{"enabled":[{"name":"Scripted","weight":7}]}})" +
         (args.empty() ? "" : R"(,"pluginConfig":[{"name":"Scripted","args":)" + args + "}]") + "}]}";
}

OwnedEngine engine_with(const std::vector<const berth_plugin*>& plugins, const std::string& config, Refused* refused,
                        const std::vector<const char*>& files) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.scheduler_config = config.c_str();
  options.backend = "cpu";
  options.threads = 2;
  options.plugins = plugins.data();
  options.plugin_count = plugins.size();
  options.plugin_files = files.data();
  options.plugin_file_count = files.size();
  berth_engine* engine = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  const berth_status status = berth_engine_create(&options, &engine, &error);
  if (refused != nullptr) {
    *refused = {status, error.object, error.text};
  } else {
    EXPECT_EQ(status, BERTH_OK) << error.object << ": " << error.text;
  }
  return OwnedEngine(engine);
}

OwnedCluster cluster_with(ScriptedPlugin& plugin) {
  const OwnedEngine engine = engine_with({plugin.table()}, config_with_scripted());
  berth_cluster* cluster = nullptr;
  EXPECT_EQ(berth_cluster_create(engine.get(), &cluster, nullptr), BERTH_OK);
  return OwnedCluster(cluster);
}

std::string node_with(const std::string& name, const std::string& annotation, const std::string& labels) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"(","labels":{)" + labels +
         R"(},"annotations":{"example.com/pool":")" + annotation + R"("}},"spec":{"providerID":"p-)" + name +
         R"("},"status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"20"}}})";
}

std::string pod_with(const std::string& name, const std::string& annotation, const std::string& rest,
                     const std::string& status) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" +
         name + R"(","annotations":{"example.com/pool":")" + annotation + R"("}},"spec":{)" + rest +
         R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},"status":)" + status + "}";
}

namespace {

std::string verdicts(berth_cluster* cluster, const berth_result& result) {
  std::string text;
  const auto nodes = values_of<std::uint32_t>(result, BERTH_COLUMN_NODE);
  const auto codes = values_of<std::uint8_t>(result, BERTH_COLUMN_CODE);
  const auto reasons = texts_of(result, BERTH_COLUMN_REASONS);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    berth_str name{};
    EXPECT_EQ(berth_cluster_node_name(cluster, nodes[i], &name, nullptr), BERTH_OK);
    text += (i > 0 ? "; " : "") + std::string(name.data) + "=" + std::to_string(codes[i]);
    if (!reasons[i].empty()) text += " " + reasons[i];
  }
  return text;
}

}  // namespace

std::string checked(berth_cluster* cluster, const berth_pod* pod) {
  berth_result* result = nullptr;
  EXPECT_EQ(berth_snapshot_check_bulk(snapshot_of(cluster).get(), &pod, 1, nullptr, 0, &result, nullptr), BERTH_OK);
  return verdicts(cluster, *OwnedResult(result));
}

std::string placed(berth_cluster* cluster, berth_fork* fork, const berth_pod* pod) {
  berth_result* result = nullptr;
  EXPECT_EQ(berth_fork_schedule(fork, &pod, 1, nullptr, &result, nullptr), BERTH_OK);
  const OwnedResult owned(result);
  const std::uint32_t node = values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).at(0);
  if (node == BERTH_NO_NODE) return texts_of(*result, BERTH_COLUMN_MESSAGE).at(0);
  berth_str name{};
  EXPECT_EQ(berth_cluster_node_name(cluster, node, &name, nullptr), BERTH_OK);
  return name.data;
}

std::string placed(berth_cluster* cluster, const berth_pod* pod) {
  return placed(cluster, fork_of(snapshot_of(cluster).get()).get(), pod);
}

void refuse(const Script& script, berth_plugin_call* call, berth_plugin_columns* columns, std::size_t i,
            std::int32_t code, const char* reason) {
  columns->codes[i] = static_cast<std::uint8_t>(code);
  columns->reasons[i] = script.host->make_reasons(call, &reason, 1);
}

Script by_pool() {
  Script script;
  script.node_paths = {"metadata.annotations['example.com/pool']", "spec.providerID"};
  script.pod_paths = {"metadata.annotations[\"example.com/pool\"]"};
  script.sign = [](berth_plugin_call*, Script::Pod) { return std::int32_t{BERTH_CODE_SUCCESS}; };
  script.reach = [](berth_plugin_call*, Script::Pod, Script::Node, berth_plugin_reach* reach) {
    reach->kind = BERTH_REACH_NOTHING;
  };
  return script;
}

}  // namespace berth::test

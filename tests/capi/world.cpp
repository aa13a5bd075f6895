// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/world.h"

#include <gtest/gtest.h>

namespace berth::test {
namespace {

template <class T>
void append_values(const berth_column& column, std::string& out) {
  for (std::size_t i = 0; i < column.length; ++i)
    out += ' ' + std::to_string(*reinterpret_cast<const T*>(static_cast<const char*>(column.data) + i * column.stride));
}

void append_texts(const berth_result& result, const berth_column& column, std::string& out) {
  for (std::size_t i = 0; i < column.length; ++i) {
    berth_str text{};
    EXPECT_EQ(berth_result_text(&result, static_cast<const std::uint32_t*>(column.data)[i], &text, nullptr), BERTH_OK);
    out += " '" + std::string(text.data, text.size) + "'";
  }
}

bool is_of_texts(std::uint32_t id) {
  return id == BERTH_COLUMN_PLUGIN || id == BERTH_COLUMN_REASONS || id == BERTH_COLUMN_MESSAGE ||
         id == BERTH_COLUMN_VICTIM || id == BERTH_COLUMN_CAP_RESOURCE || id == BERTH_COLUMN_RESOURCE ||
         id == BERTH_COLUMN_BLOCKING_POD || id == BERTH_COLUMN_POD;
}

}  // namespace

OwnedEngine make_engine(const char* backend, std::uint64_t seed, std::int32_t threads) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.backend = backend;
  options.seed = seed;
  options.threads = threads;
  berth_engine* engine = nullptr;
  EXPECT_EQ(berth_engine_create(&options, &engine, nullptr), BERTH_OK);
  return OwnedEngine(engine);
}

OwnedCluster make_cluster(const char* backend, std::uint64_t seed) {
  const OwnedEngine engine = make_engine(backend, seed);
  berth_cluster* cluster = nullptr;
  EXPECT_EQ(berth_cluster_create(engine.get(), &cluster, nullptr), BERTH_OK);
  return OwnedCluster(cluster);
}

std::string text_of(const berth_result& result) {
  std::string out;
  for (std::uint32_t id = BERTH_COLUMN_NODE; id <= BERTH_COLUMN_PRICE; ++id) {
    berth_column column{};
    if (berth_result_column(&result, id, &column, nullptr) != BERTH_OK) continue;
    out += "column " + std::to_string(id) + ":";
    if (is_of_texts(id)) {
      append_texts(result, column, out);
    } else if (column.type == BERTH_TYPE_U8) {
      append_values<std::uint8_t>(column, out);
    } else if (column.type == BERTH_TYPE_U32) {
      append_values<std::uint32_t>(column, out);
    } else if (column.type == BERTH_TYPE_I32) {
      append_values<std::int32_t>(column, out);
    } else {
      append_values<std::int64_t>(column, out);
    }
    out += '\n';
  }
  berth_str text{};
  if (berth_result_json(&result, &text, nullptr) == BERTH_OK) out.append(text.data, text.size) += '\n';
  if (berth_result_message(&result, &text, nullptr) == BERTH_OK) out.append(text.data, text.size) += '\n';
  std::uint32_t start = 0;
  std::uint64_t version = 0;
  EXPECT_EQ(berth_result_next_start(&result, &start, nullptr), BERTH_OK);
  EXPECT_EQ(berth_result_origin(&result, &version, nullptr, nullptr, nullptr, nullptr), BERTH_OK);
  return out + "start " + std::to_string(start) + " version " + std::to_string(version);
}

std::string node_json(const NodeShape& shape) {
  const std::string labels = R"({"kubernetes.io/hostname":")" + shape.name + R"(","topology.kubernetes.io/zone":"z)" +
                             std::to_string(shape.zone) + "\"}";
  std::string spec = shape.cordoned ? R"("unschedulable":true)" : "";
  if (shape.tainted)
    spec += std::string(spec.empty() ? "" : ",") + R"("taints":[{"key":"t","value":"v","effect":"NoSchedule"}])";
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + shape.name + R"(","labels":)" + labels +
         R"(},"spec":{)" + spec + R"(},"status":{"allocatable":{"cpu":")" + std::to_string(shape.cpu) +
         R"(","memory":"16Gi","pods":"12"}}})";
}

std::string pod_json(const PodShape& shape) {
  const std::string app = "x" + std::to_string(shape.app);
  const std::string matches = R"({"matchLabels":{"app":")" + app + "\"}}";
  std::string spec;
  if (!shape.node.empty()) spec += R"("nodeName":")" + shape.node + "\",";
  if (shape.priority != 0) spec += R"("priority":)" + std::to_string(shape.priority) + ",";
  if (shape.wants_zone >= 0)
    spec += R"("nodeSelector":{"topology.kubernetes.io/zone":"z)" + std::to_string(shape.wants_zone) + "\"},";
  if (shape.spreads)
    spec += R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone",)"
            R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":)" +
            matches + "}],";
  std::string affinity;
  if (shape.alone)
    affinity = R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":)"
               R"("kubernetes.io/hostname","labelSelector":)" +
               matches + "}]}";
  if (shape.near)
    affinity += std::string(shape.alone ? "," : "") +
                R"("podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":)"
                R"("topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"app":"x)" +
                std::to_string((shape.app + 1) % 3) + R"("}}}]})";
  if (!affinity.empty()) spec += R"("affinity":{)" + affinity + "},";
  if (shape.has_claim) spec += R"("resourceClaims":[{"name":"gpu","resourceClaimName":"g"}],)";
  const std::string ports = shape.has_port ? R"("ports":[{"containerPort":80,"hostPort":8080}],)" : "";
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":")" + shape.name +
         R"(","uid":"uid-)" + shape.name + R"(","labels":{"app":")" + app + R"("}},"spec":{)" + spec +
         R"("containers":[{"name":"c",)" + ports + R"("resources":{"requests":{"cpu":")" +
         std::to_string(shape.milli_cpu) + R"(m","memory":"1Gi"}}}]}})";
}

}  // namespace berth::test

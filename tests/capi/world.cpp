// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/world.h"

#include <gtest/gtest.h>

#include <cstdlib>

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
         id == BERTH_COLUMN_VICTIM || id == BERTH_COLUMN_VALUE ||
         (id >= BERTH_COLUMN_TRY_KEY && id <= BERTH_COLUMN_UID && id != BERTH_COLUMN_TRY_PLACED &&
          id != BERTH_COLUMN_TRY_POD && id != BERTH_COLUMN_TRY_TAKEN) ||
         id == BERTH_COLUMN_CAP_RESOURCE || id == BERTH_COLUMN_RESOURCE || id == BERTH_COLUMN_BLOCKING_POD ||
         id == BERTH_COLUMN_POD;
}

}  // namespace

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

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

OwnedCancel make_cancel() {
  berth_cancel* cancel = nullptr;
  EXPECT_EQ(berth_cancel_create(&cancel, nullptr), BERTH_OK);
  return OwnedCancel(cancel);
}

std::string text_of(const berth_result& result) {
  std::string out;
  for (std::uint32_t id = BERTH_COLUMN_NODE; id <= BERTH_COLUMN_PENDING_REJECTORS; ++id) {
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
  const bool is_explanation = out.empty();  // records of columns say nothing more, but for the backend
  if (is_explanation && berth_result_json(&result, &text, nullptr) == BERTH_OK)
    out.append(text.data, text.size) += '\n';
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
         R"(","memory":"16Gi",)" +
         (shape.gpus > 0 ? R"("example.com/gpu":")" + std::to_string(shape.gpus) + "\"," : "") + R"("pods":")" +
         std::to_string(shape.pods) + "\"}}}";
}

std::string pod_json(const PodShape& shape) {
  const std::string app = "x" + std::to_string(shape.app);
  const std::string matches = R"({"matchLabels":{"app":")" + app + "\"}}";
  std::string spec;
  if (!shape.node.empty()) spec += R"("nodeName":")" + shape.node + "\",";
  if (shape.priority != 0) spec += R"("priority":)" + std::to_string(shape.priority) + ",";
  if (shape.wants_zone >= 0)
    spec += R"("nodeSelector":{"topology.kubernetes.io/zone":"z)" + std::to_string(shape.wants_zone) + "\"},";
  std::string spread;
  const auto add_spread = [&](const char* key) {
    spread += std::string(spread.empty() ? "" : ",") + R"({"maxSkew":1,"topologyKey":")" + key +
              R"(","whenUnsatisfiable":"DoNotSchedule","labelSelector":)" + matches + "}";
  };
  if (shape.spreads) add_spread("topology.kubernetes.io/zone");
  if (shape.spreads_hosts) add_spread("kubernetes.io/hostname");
  if (!spread.empty()) spec += R"("topologySpreadConstraints":[)" + spread + "],";
  const auto terms = [](const std::string& list) {
    return R"({"requiredDuringSchedulingIgnoredDuringExecution":[)" + list + "]}";
  };
  const auto term = [](const char* key, const std::string& selector) {
    return R"({"topologyKey":")" + std::string(key) + R"(","labelSelector":)" + selector + "}";
  };
  std::string apart = shape.alone ? term("kubernetes.io/hostname", matches) : "";
  if (shape.apart_in_zone) apart += (apart.empty() ? "" : ",") + term("topology.kubernetes.io/zone", matches);
  std::string near = shape.together ? term("topology.kubernetes.io/zone", matches) : "";
  if (shape.near_app >= 0)
    near += (near.empty() ? "" : ",") + term("topology.kubernetes.io/zone",
                                             R"({"matchLabels":{"app":"x)" + std::to_string(shape.near_app) + "\"}}");
  std::string affinity = apart.empty() ? "" : "\"podAntiAffinity\":" + terms(apart);
  if (!near.empty()) affinity += (affinity.empty() ? "" : ",") + ("\"podAffinity\":" + terms(near));
  if (!affinity.empty()) spec += "\"affinity\":{" + affinity + "},";
  if (shape.has_claim) spec += R"("resourceClaims":[{"name":"gpu","resourceClaimName":"g"}],)";
  const std::string gpus =
      shape.gpus > 0 ? R"(,"example.com/gpu":")" + std::to_string(shape.gpus) + "\"" : std::string();
  const std::string status =
      shape.nominated.empty() ? "" : R"(,"status":{"nominatedNodeName":")" + shape.nominated + "\"}";
  const std::string ports = shape.has_port ? R"("ports":[{"containerPort":80,"hostPort":8080}],)" : "";
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":")" + shape.name +
         R"(","uid":"uid-)" + shape.name + R"(","labels":{"app":")" + app + R"("}},"spec":{)" + spec +
         R"("containers":[{"name":"c",)" + ports + R"("resources":{"requests":{"cpu":")" +
         std::to_string(shape.milli_cpu) + R"(m","memory":")" + std::to_string(shape.memory_mib) + "Mi\"" + gpus + "}" +
         (gpus.empty() ? "" : R"(,"limits":{)" + gpus.substr(1) + "}") + "}}]}" + status + "}";
}

}  // namespace berth::test

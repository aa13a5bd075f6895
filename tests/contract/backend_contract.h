// SPDX-License-Identifier: Apache-2.0
#pragma once

// The suite that every backend passes. A case describes a cluster in words (docs/testing.md) and checks the backend's
// results.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/framework/host_plugin.h"
#include "tests/support/scenario.h"

namespace berth {

// What a failed expectation shows.
inline void PrintTo(const PluginNames& plugins, std::ostream* out) { *out << "{" << to_string(plugins) << "}"; }
inline void PrintTo(const Message& message, std::ostream* out) {
  *out << message.text << " {" << to_string(message.rejectors) << "}";
  if (!message.pending.empty()) *out << " pending {" << to_string(message.pending) << "}";
}
inline void PrintTo(const NodeVerdict& verdict, std::ostream* out) {
  *out << to_string(verdict.code) << " " << verdict.plugin << (verdict.is_of_pre_filter ? " in PreFilter" : "");
}
inline void PrintTo(const NodeStatus& here, std::ostream* out) {
  *out << to_string(here.status.code) << " " << here.status.plugin << " " << here.status.message()
       << (here.is_of_pre_filter ? " in PreFilter" : "");
}

}  // namespace berth

namespace berth::test {

class BackendContract : public testing::TestWithParam<const char*> {
 protected:
  /// Skips when the backend is not available, and fails when BERTH_REQUIRE_DEVICE requires it.
  void SetUp() override;

  /// Opens the backend on this cluster and closes the previous one.
  void given(std::string_view text);

  PodPtr pod(std::string_view name) const;
  NodeIndex node(std::string_view name) const;
  Evaluation ask(const PodPtr& pod);
  Evaluation ask(std::string_view pod_name) { return ask(pod(pod_name)); }
  /// The evaluation of the pod on the node.
  NodeEvaluation ask(std::string_view pod_name, std::string_view node_name);
  NodeEvaluation on(const Evaluation& evaluation, std::string_view node_name) const;

  void expect_pass(std::string_view pod_name, std::string_view node_name);
  void expect_refusal(std::string_view pod_name, std::string_view node_name, std::string_view plugin, StatusCode code,
                      const std::vector<std::string>& reasons);
  /// The score on a feasible node; -1 when the plugin did not score.
  std::int64_t raw(std::string_view pod_name, std::string_view node_name, std::string_view plugin);
  /// Normalised scores of a plugin over all nodes, in cluster order; -1 where it did not score.
  std::vector<std::int64_t> normalized(std::string_view pod_name, std::string_view plugin);
  std::string fit_error(std::string_view pod_name) { return ask(pod_name).message; }

  /// Commits these pods, all in one call.
  BatchResult place(const std::vector<PodPtr>& pods, const BatchLimits& limits = {});
  BatchResult place_pending(const BatchLimits& limits = {}) { return place(scenario_.pending(), limits); }
  std::vector<PodToPlace> compiled(const std::vector<PodPtr>& pods);
  std::vector<PodToPlace> prepared(const std::vector<PodPtr>& pods);
  /// Node names of the outcomes; "" for a pod without one.
  std::vector<std::string> nodes_of(const BatchResult& result) const;

  /// The call throws std::logic_error with the name of the pod.
  template <class Call>
  static void expect_error_that_names(const Pod& pod, Call call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find(pod.full_name()), std::string::npos) << error.what();
    }
  }

  HostPlugins host_plugins_;  ///< of backends that given() opens
  StorageObjects storage_;    ///< likewise
  Scenario scenario_;
  std::shared_ptr<ClusterCache> cache_;
  std::unique_ptr<Backend> backend_;  ///< reads the two above, so it goes first
};

}  // namespace berth::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/backend_contract.h"

#include <cstdlib>

#include "tests/support/open_backend.h"

namespace berth::test {

void BackendContract::SetUp() {
  given("");
  if (backend_ == nullptr) {
    ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
    GTEST_SKIP() << GetParam() << " is not available here";
  }
  ASSERT_EQ(backend_->name(), GetParam());
}

void BackendContract::given(std::string_view text) {
  backend_.reset();
  scenario_ = parse_scenario(text);
  scenario_.engine.host_plugins = host_plugins_;
  scenario_.objects.storage = storage_;
  cache_ = fill_cache(scenario_.objects);
  backend_ = open_backend(GetParam(), cache_, scenario_.objects, scenario_.config, scenario_.engine);
}

PodPtr BackendContract::pod(std::string_view name) const {
  for (const PodPtr& pod : scenario_.objects.pods) {
    if (pod->name == name) return pod;
  }
  throw std::invalid_argument("no pod " + std::string(name));
}

std::vector<PodToPlace> BackendContract::compiled(const std::vector<PodPtr>& pods) {
  std::vector<PodToPlace> batch;
  for (const PodPtr& pod : pods) batch.push_back({pod, 0, -1});
  backend_->compile(batch);
  return batch;
}

std::vector<PodToPlace> BackendContract::prepared(const std::vector<PodPtr>& pods) {
  std::vector<PodToPlace> batch;
  for (const PodPtr& pod : pods) batch.push_back({pod, 0, -1});
  backend_->prepare(batch);
  return batch;
}

NodeIndex BackendContract::node(std::string_view name) const {
  for (std::int32_t i = 0; i < backend_->slot_count(); ++i)
    if (backend_->node_name({i}) == name) return {i};
  throw std::invalid_argument("no node " + std::string(name));
}

Evaluation BackendContract::ask(const PodPtr& pod) { return backend_->evaluate(prepared({pod}).front()); }

NodeEvaluation BackendContract::ask(std::string_view pod_name, std::string_view node_name) {
  return on(ask(pod(pod_name)), node_name);
}

NodeEvaluation BackendContract::on(const Evaluation& evaluation, std::string_view node_name) const {
  for (const NodeEvaluation& node : evaluation.nodes) {
    if (backend_->node_name(node.node) == node_name) return node;
  }
  ADD_FAILURE() << "nothing is said of node " << node_name << (evaluation.error.empty() ? "" : ": ")
                << evaluation.error;
  return {};
}

void BackendContract::expect_pass(std::string_view pod_name, std::string_view node_name) {
  const NodeEvaluation node = ask(pod_name, node_name);
  EXPECT_TRUE(node.feasible) << node.status.plugin << ": " << node.status.message();
}

void BackendContract::expect_refusal(std::string_view pod_name, std::string_view node_name, std::string_view plugin,
                                     StatusCode code, const std::vector<std::string>& reasons) {
  const NodeEvaluation node = ask(pod_name, node_name);
  EXPECT_FALSE(node.feasible);
  EXPECT_EQ(node.status.plugin, plugin);
  EXPECT_EQ(node.status.code, code);
  EXPECT_EQ(node.status.reasons, reasons);
}

std::int64_t BackendContract::raw(std::string_view pod_name, std::string_view node_name, std::string_view plugin) {
  const NodeEvaluation node = ask(pod_name, node_name);
  EXPECT_TRUE(node.feasible) << node.status.message();
  for (const PluginScore& score : node.scores) {
    if (score.plugin == plugin) return score.raw;
  }
  return -1;
}

std::vector<std::int64_t> BackendContract::normalized(std::string_view pod_name, std::string_view plugin) {
  std::vector<std::int64_t> result;
  for (const NodeEvaluation& node : ask(pod_name).nodes) {
    result.push_back(-1);
    for (const PluginScore& score : node.scores) {
      if (score.plugin == plugin) result.back() = score.normalized;
    }
  }
  return result;
}

BatchResult BackendContract::place(const std::vector<PodPtr>& pods, const BatchLimits& limits) {
  return backend_->commit_batch(compiled(pods), limits);
}

std::vector<std::string> BackendContract::nodes_of(const BatchResult& result) const {
  std::vector<std::string> names;
  for (const Outcome& outcome : result.outcomes) {
    names.emplace_back(outcome.node == kNoNode ? "" : backend_->node_name(outcome.node));
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, BackendContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace berth::test

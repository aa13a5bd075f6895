// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

TEST(Bindings, AreAListForKubectlCreate) {
  const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", "bindings"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out), nlohmann::json::parse(R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Binding","metadata":{"namespace":"default","name":"fits"},
     "target":{"apiVersion":"v1","kind":"Node","name":"a"}}]})"));
}

TEST(Bindings, NoteThatPodsFromWorkloadsHaveNoObject) {
  const std::string input = small_cluster() + R"(---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i}]}
)";
  const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", "bindings"}, input);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("2 pods were made from workloads"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace berth::test

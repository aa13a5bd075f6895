// SPDX-License-Identifier: Apache-2.0
// Every tests/scenarios/*.case on every backend with batches of 1, of 7 and of all pods.

#include "tests/support/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/object_text.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

constexpr const char* kFolder = "tests/scenarios";  // CTest runs tests at the top of the tree

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(kFolder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".case") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Parameter {
  std::string file;
  const char* backend;
  std::size_t batch_size;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  for (const std::string& file : case_files()) {
    for (const char* backend : backend_names()) {
      for (const std::size_t batch_size : {1u, 7u, 0u}) all.push_back({file, backend, batch_size});
    }
  }
  return all;
}

std::string parameter_name(const testing::TestParamInfo<Parameter>& info) {
  const std::string batch = info.param.batch_size == 0 ? "all" : std::to_string(info.param.batch_size);
  std::string name =
      std::filesystem::path(info.param.file).stem().string() + "_" + name_in_tests(info.param.backend) + "_" + batch;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class Scenarios : public testing::TestWithParam<Parameter> {};

TEST_P(Scenarios, MatchTheirExpectations) {
  const Scenario scenario = parse_scenario(read(GetParam().file));
  ASSERT_FALSE(scenario.title.empty()) << "a case begins with a line that says what it is about";
  ASSERT_FALSE(scenario.expectations.empty());
  const auto cache = fill_cache(scenario.objects);
  if (open_backend(GetParam().backend, cache, scenario.objects, scenario.config, scenario.engine) == nullptr) {
    ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
    GTEST_SKIP() << GetParam().backend << " is not available here";
  }
  for (const std::string& problem : run_scenario(scenario, GetParam().backend, GetParam().batch_size)) {
    ADD_FAILURE() << GetParam().file << ": " << problem;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Scenarios, testing::ValuesIn(parameters()), parameter_name);

TEST(ScenarioRunner, FindsTheCases) { EXPECT_GE(case_files().size(), 25u); }

TEST(ScenarioRunner, ReportsAWrongNode) {
  const Scenario scenario = parse_scenario("node a cpu=1\nnode b cpu=4\npod p cpu=2\nexpect p -> a");
  EXPECT_EQ(run_scenario(scenario, "reference", 1), std::vector<std::string>{"line 4: pod p: is placed on b"});
}

TEST(ScenarioRunner, ReportsAWrongRejection) {
  const Scenario scenario =
      parse_scenario("node a cpu=1\nnode b cpu=4\npod p cpu=2\nexpect p -> b refused a: NodePorts");
  ASSERT_EQ(run_scenario(scenario, "reference", 1).size(), 1u);
  EXPECT_EQ(run_scenario(scenario, "reference", 1)[0],
            "line 4: pod p: a says NodeResourcesFit(Insufficient cpu), not NodePorts");
}

TEST(ScenarioRunner, ReportsAWrongText) {
  const Scenario scenario = parse_scenario("node a unschedulable\npod p\nexpect p -> none text \"0/1\"");
  EXPECT_EQ(run_scenario(scenario, "reference", 0).size(), 1u);
}

TEST(ScenarioRunner, ReportsAnUnknownPod) {
  const Scenario scenario = parse_scenario("node a\npod p\nexpect q -> a");
  EXPECT_EQ(run_scenario(scenario, "reference", 0).size(), 1u);
}

TEST(ScenarioRunner, ReportsAFailedExpectationOfAnAskedPod) {
  const std::string text =
      "node a zone=A\nnode b zone=B unschedulable\npod r on=a label:app=web\nask p soft-spread=zone match=app=web\n";
  const auto problems = [&](const std::string& line) {
    return run_scenario(parse_scenario(text + line), "reference", 0);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(problems("expect p feasible a unresolvable b scores PodTopologySpread: a=1/100"), Lines{});
  EXPECT_EQ(problems("expect p feasible \"a b\""), Lines{"line 5: pod p: feasible are a"});
  EXPECT_EQ(problems("expect p unresolvable \"\""), Lines{"line 5: pod p: unresolvable are b"});
  EXPECT_EQ(problems("expect p scores PodTopologySpread: a=1/99"),
            Lines{"line 5: pod p: PodTopologySpread gives a 1/100"});
  EXPECT_EQ(problems("expect p scores PodTopologySpread: b=0/0"), Lines{"line 5: pod p: PodTopologySpread gives b 0/0"})
      << "not feasible";
  EXPECT_EQ(problems("expect p text x"), Lines{"line 5: pod p: says \"\""});
  EXPECT_EQ(problems("expect q feasible a"), Lines{"line 5: pod q: there is no such asked pod"});
}

TEST(ScenarioRunner, NamesTheLineAndWordOfAnUnknownWord) {
  for (const char* text : {"node a colour=red",
                           "pod p cpu=much",
                           "pod p tolerate=a:Never",
                           "expect p => a",
                           "server a",
                           "node a taint=k",
                           "config speed=high",
                           "engine ties=often",
                           "pod p need=a",
                           "node",
                           "config disable=Nothing",
                           "config default-spread=zone:1",
                           "engine fixed=all",
                           "namespace n colour=red",
                           "service s match=a=b",
                           "workload web match=a=b",
                           "workload ReplicaSet/web colour=red",
                           "pod p match=a=b",
                           "pod p spread=zone namespaces=a",
                           "pod p pod-affinity=zone skew=2",
                           "pod p spread=zone node-taints=Maybe",
                           "pod p owner=web",
                           "expect p scores X: a=1",
                           "expect p -> a total a"}) {
    EXPECT_THROW(parse_scenario(std::string("# t\n") + text), TextError) << text;
  }
  try {
    parse_scenario("# t\nnode a\nnode b colour=red");
    FAIL();
  } catch (const TextError& error) {
    EXPECT_STREQ(error.what(), "line 3: no word of a node: \"colour=red\"");
  }
}

}  // namespace
}  // namespace berth::test

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
                           "expect p -> a total a",
                           "event",
                           "event node",
                           "event server a",
                           "event node a colour=red",
                           "event pod p cpu=1",
                           "event pod p on=a colour=red",
                           "event service s colour=red",
                           "event remove",
                           "event remove node",
                           "event remove node a b",
                           "event remove server a",
                           "event remove service s select:app=web",
                           "event remove workload web",
                           "event remove nomination p",
                           "event nominate p a",
                           "pod p\nevent nominate p",
                           "pod p\nevent nominate p a b",
                           "evict",
                           "evict p",
                           "pod p on=a\nevict p now",
                           "fork",
                           "fork f",
                           "fork f g\nend",
                           "fork f\nend f",
                           "fork f\nend\nfork f\nend",
                           "end",
                           "fork f\nevent service s\nend",
                           "fork f\nevent remove namespace n\nend",
                           "pod p\nfork f\nevent nominate p a\nend",
                           "promote",
                           "promote f",
                           "fork f\npromote f\nend",
                           "fork f\nend\npromote f gladly",
                           "fork f\nend\npromote f refused twice",
                           "event remove node a\nnode a",
                           "event remove node a\npod p on=b",
                           "pod p\nevent remove node a\npod p"}) {
    EXPECT_THROW(parse_scenario(std::string("# t\n") + text), TextError) << text;
  }
  try {
    parse_scenario("# t\nnode a\nnode b colour=red");
    FAIL();
  } catch (const TextError& error) {
    EXPECT_STREQ(error.what(), "line 3: no word of a node: \"colour=red\"");
  }
}

TEST(ScenarioRunner, NamesTheLineAndWordOfAWrongVerb) {
  const auto message = [](const std::string& text) {
    try {
      parse_scenario("node a\npod p\n" + text);
    } catch (const TextError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("event server a"), "line 3: no such event: \"server\"");
  EXPECT_EQ(message("event remove server a"), "line 3: no such removal: \"server\"");
  EXPECT_EQ(message("event pod q cpu=1"), "line 3: an event of a pod needs on=: \"q\"");
  EXPECT_EQ(message("evict q"), "line 3: no pod before this line: \"q\"");
  EXPECT_EQ(message("fork f\nevent service s\nend"), "line 4: no event of a fork: \"service\"");
  EXPECT_EQ(message("fork f\nfork g\nend\n"), "line 3: a fork has no end: \"f\"");
  EXPECT_EQ(message("fork f\nend\npromote f gladly"), "line 5: no word of promote: \"gladly\"");
  EXPECT_EQ(message("fork f\npromote f"), "line 4: no fork that has ended: \"f\"");
  EXPECT_EQ(message("fork f\nend\nnode b"), "line 5: after the first verb it comes with an event: \"node\"");
  EXPECT_EQ(message("fork f\nend\npromote f refused"), "accepted");
}

TEST(ScenarioRunner, ReportsFailedExpectationsAfterVerbs) {
  const std::string text = "node a cpu=2\nnode b cpu=4\npod old on=b cpu=4\nfork f\nevict old\npod p cpu=3\n";
  const auto problems = [&](const std::string& lines) {
    return run_scenario(parse_scenario(text + lines), "reference", 1);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(problems("expect p -> b refused a: NodeResourcesFit\nend"), Lines{});
  EXPECT_EQ(problems("expect p -> a\nend"), Lines{"line 7: pod p: is placed on b"});
  EXPECT_EQ(problems("expect p -> b feasible \"a b\"\nend"), Lines{"line 7: pod p: feasible are b"});
  EXPECT_EQ(problems("ask q cpu=1\nexpect q feasible b\nend"), Lines{"line 8: pod q: feasible are a b"});
  EXPECT_EQ(problems("end\nask q cpu=1\nexpect q feasible \"a b\""), Lines{"line 9: pod q: feasible are a"});
  EXPECT_EQ(problems("end\npromote f refused"), Lines{"line 8: fork f is promoted"});
  EXPECT_EQ(problems("end\nevent node c\npromote f"), Lines{"line 9: fork f is refused"});
  EXPECT_EQ(problems("end\npod q cpu=9\nevict q"), Lines{"line 9: pod q is on no node"});
}

TEST(ScenarioRunner, EndsTheRunAtAStepThatThrows) {
  const Scenario scenario = parse_scenario("node a\nfork f\nend\npromote f\npromote f\npod p\nexpect p -> none");
  const std::vector<std::string> problems = run_scenario(scenario, "reference", 0);
  ASSERT_EQ(problems.size(), 1u) << "p is not placed";
  EXPECT_TRUE(problems[0].starts_with("line 5: the fork was promoted")) << problems[0];
}

}  // namespace
}  // namespace berth::test

// SPDX-License-Identifier: Apache-2.0
// Filter, nominated pods, diagnosis and PostFilter: docs/behaviour/scheduler-core.md 3.4 to 3.6 and 3.8.

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

constexpr StateKey<int> kCompanions{"Test/companions"};

class Filter : public testing::Test {
 protected:
  static Script refusing(const std::vector<std::size_t>& refused, StatusCode code, const std::string& reason) {
    Script script;
    script.filter = [=](std::span<const FilterRequest> batch) {
      for (const FilterRequest& request : batch) {
        for (const std::size_t node : refused) request.verdicts->refuse(node, code, {reason});
      }
    };
    return script;
  }
  void run(Verdicts& verdicts) {
    const FilterRequest request{{pod.get(), &state}, nodes.view(), &verdicts};
    scripted.build().run_filters({&request, 1});
  }

  Calls calls;
  ScriptedProfile scripted{calls};
  CycleState state;
  PodPtr pod = plain_pod("p", 5);
  PlainNodes nodes{3};
};

TEST_F(Filter, TheFirstRejectingPluginCounts) {
  scripted.add("A", {ExtensionPoint::kFilter}, refusing({0}, StatusCode::kUnschedulable, "a"));
  scripted.add("B", {ExtensionPoint::kFilter}, refusing({0, 1}, StatusCode::kUnschedulableAndUnresolvable, "b"));
  Verdicts verdicts(3);
  run(verdicts);
  EXPECT_EQ(verdicts.status(0), (Status{StatusCode::kUnschedulable, "A", {"a"}}));
  EXPECT_EQ(verdicts.status(1), (Status{StatusCode::kUnschedulableAndUnresolvable, "B", {"b"}}));
  EXPECT_TRUE(verdicts.passes(2));
}

TEST_F(Filter, ANonRejectionCodeIsAPluginError) {
  scripted.add("A", {ExtensionPoint::kFilter}, refusing({1}, StatusCode::kSkip, "odd"));
  Verdicts verdicts(3);
  run(verdicts);
  EXPECT_EQ(verdicts.first_error(), (Status{StatusCode::kError, "A", {"running \"A\" filter plugin: odd"}}));
}

TEST_F(Filter, AnExceptionFailsThePod) {
  Script script;
  script.filter = [](std::span<const FilterRequest>) { throw std::runtime_error("lost"); };
  scripted.add("A", {ExtensionPoint::kFilter}, script);
  Verdicts verdicts(3);
  run(verdicts);
  EXPECT_EQ(verdicts.first_error()->reasons, std::vector<std::string>{"running \"A\" filter plugin: lost"});
}

TEST_F(Filter, ASkippedPluginDoesNotFilterThatPod) {
  scripted.add("A", {ExtensionPoint::kFilter}, refusing({0}, StatusCode::kUnschedulable, "a"));
  CycleState other_state;
  other_state.skipped_filters().insert("A");
  Verdicts verdicts(3), other_verdicts(3);
  const FilterRequest batch[] = {{{pod.get(), &state}, nodes.view(), &verdicts},
                                 {{pod.get(), &other_state}, nodes.view(), &other_verdicts}};
  scripted.build().run_filters(batch);
  EXPECT_FALSE(verdicts.passes(0));
  EXPECT_TRUE(other_verdicts.passes(0));
  EXPECT_EQ(calls, Calls{"A.filter"}) << "one call for the batch";
}

TEST_F(Filter, DiagnosisCountsEveryReasonAndTheAbsentNodes) {
  Verdicts verdicts(7);
  verdicts.set_speaker("NodeResourcesFit");
  for (const std::size_t node : {0U, 1U}) {
    verdicts.refuse(node, StatusCode::kUnschedulable, {"Insufficient cpu", "Insufficient memory"});
  }
  verdicts.refuse(2, StatusCode::kUnschedulable, {"Insufficient cpu"});
  for (const std::size_t node : {3U, 4U, 5U, 6U}) {
    verdicts.refuse(node, StatusCode::kUnschedulableAndUnresolvable, {"node(s) had untolerated taint(s)"});
  }
  EXPECT_EQ(fit_error_text(diagnose(verdicts, 7, {})),
            "0/7 nodes are available: 2 Insufficient memory, 3 Insufficient cpu, 4 node(s) had untolerated taint(s).");
  const Status absent = status_of(StatusCode::kUnschedulableAndUnresolvable, "outside");
  EXPECT_EQ(diagnose(verdicts, 10, absent).reason_counts.at("outside"), 3);
  EXPECT_EQ(diagnose(verdicts, 7, absent).reason_counts.count("outside"), 0U);
}

/// Rejects a node with more than one other pod, and one with none.
class NominatedPods : public Filter {
 protected:
  NominatedPods() {
    Script script;
    script.pre_filter = [](const PodClassView& view, NodeInfos) {
      view.state->write(kCompanions, 0);
      return PreFilterResult{};
    };
    script.add_pod = [](const PodClassView& view, const Pod&, const NodeInfo&) {
      ++*view.state->read(kCompanions);
      return Status{};
    };
    script.filter = [this](std::span<const FilterRequest> batch) {
      seen.push_back(*batch.front().pod.state->read(kCompanions));
      pods_on_node.push_back(batch.front().nodes.front()->pods.size());
      if (seen.back() == refused_count) batch.front().verdicts->refuse(0, StatusCode::kUnschedulable, {"full"});
    };
    scripted.add("A", {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter}, script);
  }
  Status run_with(std::vector<PodPtr> nominated) {
    const Framework framework = scripted.build();
    const PodClassView view{pod.get(), &state};
    framework.run_pre_filter(view, nodes.view());
    return framework.run_filters_with_nominated(view, *nodes.view()[0], nominated);
  }

  int refused_count = -1;
  std::vector<int> seen;
  std::vector<std::size_t> pods_on_node;
};

TEST_F(NominatedPods, OnePassWithoutNominatedPods) {
  EXPECT_TRUE(run_with({}).ok());
  EXPECT_EQ(seen, std::vector<int>{0});
}

TEST_F(NominatedPods, LowerPrioritiesAndThePodItselfDoNotCount) {
  EXPECT_TRUE(run_with({plain_pod("low", 4), pod}).ok());
  EXPECT_EQ(seen, std::vector<int>{0});
}

TEST_F(NominatedPods, EqualAndHigherPrioritiesAreAddedForAFirstPass) {
  EXPECT_TRUE(run_with({plain_pod("equal", 5), plain_pod("high", 6), plain_pod("low", 4)}).ok());
  EXPECT_EQ(seen, (std::vector<int>{2, 0}));
  EXPECT_EQ(pods_on_node, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(*state.read(kCompanions), 0) << "the passes work on a clone";
}

TEST_F(NominatedPods, AFailedFirstPassIsTheResult) {
  refused_count = 1;
  EXPECT_EQ(run_with({plain_pod("high", 6)}), (Status{StatusCode::kUnschedulable, "A", {"full"}}));
  EXPECT_EQ(seen, std::vector<int>{1});
}

TEST_F(NominatedPods, TheSecondPassMustSucceedToo) {
  refused_count = 0;
  EXPECT_FALSE(run_with({plain_pod("high", 6)}).ok());
  EXPECT_EQ(seen, (std::vector<int>{1, 0}));
}

TEST_F(Filter, AFailedAddPodOrRemovePodIsAnError) {
  Script script;
  script.add_pod = script.remove_pod = [](const PodClassView&, const Pod&, const NodeInfo&) {
    return status_of(StatusCode::kUnschedulable, "no state");
  };
  scripted.add("A", {ExtensionPoint::kPreFilter}, script);
  const Framework framework = scripted.build();
  const PodClassView view{pod.get(), &state};
  const std::vector<PodPtr> nominated{plain_pod("high", 9)};
  EXPECT_EQ(framework.run_filters_with_nominated(view, *nodes.view()[0], nominated),
            (Status{StatusCode::kError, "A", {"running AddPod on PreFilter plugin \"A\": no state"}}));
  EXPECT_EQ(framework.run_remove_pod(view, *pod, *nodes.view()[0]),
            (Status{StatusCode::kError, "A", {"running RemovePod on PreFilter plugin \"A\": no state"}}));
  state.skipped_filters().insert("A");
  EXPECT_TRUE(framework.run_add_pod(view, *pod, *nodes.view()[0]).ok());
}

class PostFilter : public Filter {
 protected:
  void add(const std::string& name, PostFilterAnswer answer) {
    Script script;
    script.post_filter = [answer = std::move(answer)](const FilterRequest&) { return answer; };
    scripted.add(name, {ExtensionPoint::kPostFilter}, script);
  }
  PostFilterAnswer run_post() {
    Verdicts verdicts(3);
    return scripted.build().run_post_filters({{pod.get(), &state}, nodes.view(), &verdicts});
  }
};

TEST_F(PostFilter, SuccessStopsWithItsResult) {
  add("A", {status_of(StatusCode::kUnschedulable, "a"), "na"});
  add("B", {{}, "nb"});
  add("C", {});
  const PostFilterAnswer answer = run_post();
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.nominated_node_name, "nb");
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(PostFilter, UnresolvableStopsWithItsResult) {
  add("A", {status_of(StatusCode::kUnschedulableAndUnresolvable, "never"), ""});
  add("B", {});
  const PostFilterAnswer answer = run_post();
  EXPECT_EQ(answer.status, (Status{StatusCode::kUnschedulableAndUnresolvable, "A", {"never"}}));
  EXPECT_EQ(answer.nominated_node_name, "");
  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(PostFilter, UnschedulableAndPendingCollectReasonsAndKeepTheLastNomination) {
  add("A", {status_of(StatusCode::kUnschedulable, "no new claims to deallocate"), "na"});
  add("B", {status_of(StatusCode::kPending, "preemption: later"), std::nullopt});
  const PostFilterAnswer answer = run_post();
  EXPECT_EQ(answer.status.code, StatusCode::kUnschedulable);
  EXPECT_EQ(answer.status.plugin, "A");
  EXPECT_EQ(answer.status.message(), "no new claims to deallocate, preemption: later");
  EXPECT_EQ(answer.nominated_node_name, "na");
}

TEST_F(PostFilter, AnyOtherCodeStopsWithAnErrorAndNoResult) {
  add("A", {status_of(StatusCode::kUnschedulable, "a"), "na"});
  add("B", {status_of(StatusCode::kSkip, "not found"), "nb"});
  add("C", {});
  const PostFilterAnswer answer = run_post();
  EXPECT_EQ(answer.status, (Status{StatusCode::kError, "B", {"not found"}}));
  EXPECT_FALSE(answer.nominated_node_name.has_value());
  EXPECT_EQ(calls.size(), 2U);
}

}  // namespace
}  // namespace berth

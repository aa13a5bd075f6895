// SPDX-License-Identifier: Apache-2.0
// Whole runs on random clusters under random configurations: the cpu backend must equal the reference, pod by pod,
// for any batch size, number of threads, state of the row cache and numbers in CpuTuning; and the independent checker
// must accept the result.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/support/check_placement.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;
using test::Dice;
using test::draw_cluster;
using test::draw_engine;
using test::draw_tuning;
using test::expect_equal;

/// The outcome of every pod, in batches of `batch_pods`.
/// @param ahead  all batches are compiled before the first is placed: queries of a later batch split classes of earlier
/// ones
std::vector<std::string> run(Backend& backend, std::vector<PodToPlace> pods, std::size_t batch_pods,
                             bool ahead = false) {
  std::vector<std::string> answers;
  for (std::size_t next = 0; ahead && next < pods.size(); next += batch_pods)
    backend.compile(std::span(pods).subspan(next, std::min(batch_pods, pods.size() - next)));
  for (std::size_t next = 0; next < pods.size();) {
    const std::size_t count = std::min(batch_pods, pods.size() - next);
    const std::span<PodToPlace> batch = std::span(pods).subspan(next, count);
    if (!ahead) backend.compile(batch);
    const BatchResult result = backend.commit_batch(batch, {});
    for (const Outcome& outcome : result.outcomes) answers.push_back(test::describe(outcome, result, backend));
    next += result.outcomes.size();
  }
  return answers;
}

RC_GTEST_PROP(BackendsAgree, OnEveryPodOfARun, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  expect_equal(run(reference, drawn.pods, drawn.batch_pods),
               run(cpu, drawn.pods, drawn.batch_pods, drawn.dice.one_in(2)), drawn.pods);
}

RC_GTEST_PROP(BackendsAgree, AfterRollingBackToAMark, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  const auto half = static_cast<std::ptrdiff_t>(drawn.pods.size() / 2);
  const std::vector<PodToPlace> first(drawn.pods.begin(), drawn.pods.begin() + half);
  const std::vector<PodToPlace> second(drawn.pods.begin() + half, drawn.pods.end());
  run(reference, first, drawn.batch_pods);
  const std::vector<std::string> expected = run(reference, second, drawn.batch_pods);
  run(cpu, first, drawn.batch_pods);
  const CommitMark mark = cpu.mark();
  expect_equal(expected, run(cpu, second, drawn.batch_pods), second);
  cpu.rollback(mark);
  expect_equal(expected, run(cpu, second, drawn.batch_pods), second);
}

/// An engine that was told of events equals one that is opened afterwards.
RC_GTEST_PROP(BackendsAgree, AfterEvents, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  drawn.engine.node_sampling = NodeSampling::kAll;  // where the search begins is not part of the cluster
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  test::ClusterHistory history(drawn);
  test::place_between_events(drawn, cpu, history);
  const std::vector<PodToPlace> rest = test::not_placed(drawn.pods, history);
  ReferenceBackend reference(history.cache(), history.objects(), drawn.config, drawn.engine);
  reference.apply(history.nominations());
  expect_equal(run(reference, rest, drawn.batch_pods), run(cpu, rest, drawn.batch_pods), rest);
}

RC_GTEST_PROP(BackendsAgree, OnEveryEvaluation, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  for (const PodToPlace& pod : drawn.pods) {
    const Evaluation expected = test::evaluated(pod, reference);
    expect_equal(expected, test::evaluated(pod, cpu));
  }
}

/// What opportunistic batching asks for: each pod alone, the nodes that it left over in their order, and a probe.
RC_GTEST_PROP(BackendsAgree, OnRankedNodesAndProbes, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  std::string last_node;
  for (const PodToPlace& pod : drawn.pods) {
    const test::RankedAnswer expected = test::ranked_answer(reference, pod, last_node);
    const test::RankedAnswer got = test::ranked_answer(cpu, pod, last_node);
    RC_ASSERT(got == expected);
    if (!got.node.empty()) last_node = got.node;
  }
}

/// The checker checks every rule, so it validates runs of the whole default profile.
RC_GTEST_PROP(BackendsAgree, ThatNoPlacementBreaksARule, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Dice dice(seed);
  const ClusterObjects objects = draw_cluster(dice, seed);
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  const auto cache = test::fill_cache(objects);
  const EngineConfig engine = draw_engine(dice);
  CpuBackend cpu(cache, objects, config, engine, draw_tuning(dice));
  std::vector<PodToPlace> pods = test::pending_pods(dice, objects, config.profiles.size());
  cpu.compile(pods);
  const BatchResult result = cpu.commit_batch(pods, {});
  std::vector<test::PlacedPod> placed;
  for (std::size_t i = 0; i < result.outcomes.size(); ++i)
    if (result.outcomes[i].kind == OutcomeKind::kPlaced)
      placed.push_back({pods[i].pod, std::string(cpu.node_name(result.outcomes[i].node))});
  const test::CheckRules rules = test::check_rules(config, config.profiles.front(), engine);
  for (const std::string& violation : test::check_placement(objects, placed, rules)) RC_FAIL(violation);
}

}  // namespace
}  // namespace berth

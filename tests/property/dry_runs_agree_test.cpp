// SPDX-License-Identifier: Apache-2.0
// Verdicts and dry runs on random clusters: the cpu backend equals the reference and its own evaluations, and a node
// without its victims gets the verdict of a new engine over the cluster without them.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_request.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;
using test::Dice;
using test::DrawnRequest;
using test::text_of;
using test::texts_of;

std::vector<PodToPlace> draw_preemptors(Dice& dice, const std::vector<PodToPlace>& pods) {
  std::vector<PodToPlace> preemptors;
  for (std::int64_t i = 1 + dice.upto(4); i > 0; --i) preemptors.push_back(dice.pick(pods));
  return preemptors;
}

/// An evaluation says the same, except that it filters the node that the pod is nominated to like any other.
void expect_as_evaluated(const Evaluation& evaluation, const PodVerdicts& verdicts, const PodToPlace& pod,
                         const Backend& backend) {
  if (verdicts.nodes.empty()) {
    RC_ASSERT(verdicts.error == evaluation.error);
    return;
  }
  RC_ASSERT(verdicts.nodes.size() == evaluation.nodes.size());
  for (std::size_t i = 0; i < verdicts.nodes.size(); ++i) {
    const NodeVerdict& verdict = verdicts.nodes[i];
    const NodeEvaluation& node = evaluation.nodes[i];
    if (backend.node_name(node.node) == pod.pod->rare().nominated_node_name) continue;
    RC_ASSERT(verdict.accepts() == node.feasible);
    RC_ASSERT(verdict.code == node.status.code);
    RC_ASSERT(node.status.plugin == "PreFilter" || verdict.plugin == node.status.plugin);
  }
}

void compare_with_the_reference(Case& drawn) {
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  test::PodsByNode standing = test::pods_by_node(*drawn.cache);

  // Some pods are placed first.
  std::vector<PodToPlace> batch(drawn.pods.begin(),
                                drawn.pods.begin() + drawn.dice.upto(static_cast<std::int64_t>(drawn.pods.size())));
  cpu.compile(batch);
  const BatchResult placed = commit_with_refills(batch, {}, cpu);
  reference.compile(batch);
  reference.commit_batch(batch, {});
  for (std::size_t i = 0; i < placed.outcomes.size(); ++i)
    if (placed.outcomes[i].kind == OutcomeKind::kPlaced)
      standing[std::string(cpu.node_name(placed.outcomes[i].node))].push_back(batch[i].pod);

  std::vector<PodToPlace> preemptors = draw_preemptors(drawn.dice, drawn.pods);
  reference.prepare(preemptors);
  cpu.prepare(preemptors);
  for (const PodToPlace& pod : preemptors) {
    const PodVerdicts verdicts = cpu.verdicts(pod);
    test::expect_equal(texts_of(reference.verdicts(pod), reference), texts_of(verdicts, cpu));
    expect_as_evaluated(cpu.evaluate(pod), verdicts, pod, cpu);
  }
  DrawnRequest request(drawn.dice, std::move(preemptors), standing);
  const std::vector<std::string> actual = request.texts(cpu.dry_run(request.to(cpu)));
  test::expect_equal(request.texts(reference.dry_run(request.to(reference))), actual);
  test::expect_equal(request.texts(cpu.dry_run(request.to(cpu))), actual);

  const std::vector<Status> statuses = cpu.statuses_without_victims(request.to(cpu));
  RC_ASSERT(statuses == reference.statuses_without_victims(request.to(reference)));
  const DryRunResult result = cpu.dry_run(request.to(cpu));
  for (std::size_t r = 0; r < statuses.size(); ++r) {
    RC_ASSERT(statuses[r].code == result.answers[r].without_victims.code);
    RC_ASSERT(statuses[r].plugin == result.answers[r].without_victims.plugin);
  }
}

RC_GTEST_PROP(DryRuns, EqualTheReferenceAndEvaluations, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(!drawn.pods.empty());
  compare_with_the_reference(drawn);
}

RC_GTEST_PROP(DryRuns, EqualTheReferenceAndEvaluationsWithHostPlugins, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>(), true, true);
  RC_PRE(!drawn.pods.empty());
  compare_with_the_reference(drawn);
}

/// Where RemovePod differs from a PreFilter without the pod: terminating pods and empty selectors of
/// PodTopologySpread (Q1, Q3 of docs/behaviour/plugins-topology.md), and plugins that now skip and then do not see the
/// terms of nominated pods (3.7).
bool differs_from_a_new_prefilter(const std::vector<Victim>& victims) {
  return std::any_of(victims.begin(), victims.end(), [](const Victim& victim) { return victim.pod->terminating; });
}

RC_GTEST_PROP(DryRuns, EqualANewEngineWithoutTheVictims, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed, false);
  RC_PRE(!drawn.pods.empty());
  drawn.engine.upstream_bugs.empty_spread_selector_counts_nothing = false;
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  std::vector<PodToPlace> preemptors = draw_preemptors(drawn.dice, drawn.pods);
  cpu.prepare(preemptors);
  DrawnRequest request(drawn.dice, preemptors, test::pods_by_node(*drawn.cache));
  const DryRunRequest of_cpu = request.to(cpu);
  const DryRunResult result = cpu.dry_run(of_cpu);
  for (std::uint32_t l = 0; l < request.list_count(); ++l) {
    if (differs_from_a_new_prefilter(request.victims(l))) continue;
    const auto cache = test::fill_cache(drawn.objects);
    for (const Victim& victim : request.victims(l)) cache->remove_pod(victim.pod->uid());
    CpuBackend fresh(cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
    std::vector<PodToPlace> pods = preemptors;
    fresh.prepare(pods);
    for (std::size_t i = 0; i < request.runs().size(); ++i) {
      if (request.runs()[i].list != l) continue;
      const PodVerdicts verdicts = fresh.verdicts(pods[request.runs()[i].preemptor]);
      if (!verdicts.error.empty()) continue;  // perhaps of another node
      RC_ASSERT(text_of(result.answers[i].without_victims) ==
                text_of(verdicts.nodes[static_cast<std::size_t>(of_cpu.lists[l].node.value)]));
    }
  }
}

}  // namespace
}  // namespace berth

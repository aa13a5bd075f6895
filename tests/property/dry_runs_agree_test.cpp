// SPDX-License-Identifier: Apache-2.0
// Verdicts and dry runs on random clusters: the cpu backend equals the reference and its own evaluations, and a node
// without its victims gets the verdict of a new engine over the cluster without them.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/property/drawn_case.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;
using test::Dice;

using PodsByNode = std::map<std::int32_t, std::vector<PodPtr>>;

PodsByNode running_pods(const ClusterCache& cache) {
  PodsByNode pods;
  const auto nodes = cache.nodes_in_order();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const PodPtr& pod : nodes[i]->pods) pods[static_cast<std::int32_t>(i)].push_back(pod);
  return pods;
}

/// Some pods of a node in a random order.
std::vector<Victim> draw_victims(Dice& dice, std::vector<PodPtr> pods) {
  std::shuffle(pods.begin(), pods.end(), dice.engine);
  pods.resize(static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(pods.size()))));
  std::vector<Victim> victims;
  for (const PodPtr& pod : pods) victims.push_back({pod.get(), dice.one_in(3)});
  return victims;
}

std::vector<PodToPlace> draw_preemptors(Dice& dice, const std::vector<PodToPlace>& pods) {
  std::vector<PodToPlace> preemptors;
  for (std::int64_t i = 1 + dice.upto(4); i > 0; --i) preemptors.push_back(dice.pick(pods));
  return preemptors;
}

/// A request with its memory.
struct Request {
  std::vector<PodToPlace> preemptors;
  std::vector<std::vector<Victim>> victims;
  std::vector<VictimList> lists;
  std::vector<DryRun> runs;

  Request(Dice& dice, std::vector<PodToPlace> pods, const PodsByNode& pods_by_node) : preemptors(std::move(pods)) {
    std::vector<std::int32_t> nodes;
    for (const auto& [node, pods_there] : pods_by_node) nodes.push_back(node);
    std::shuffle(nodes.begin(), nodes.end(), dice.engine);
    nodes.resize(std::min<std::size_t>(nodes.size(), 12));
    victims.reserve(nodes.size());
    const std::uint64_t series = next_victim_list_version();
    for (const std::int32_t node : nodes) {
      victims.push_back(draw_victims(dice, pods_by_node.at(node)));
      lists.push_back({{node}, victims.back(), dice.one_in(2) ? series : 0, next_victim_list_version()});
    }
    for (std::uint32_t p = 0; p < preemptors.size(); ++p)
      for (std::uint32_t l = 0; l < lists.size(); ++l)
        if (!dice.one_in(4)) runs.push_back({p, l});
    if (dice.one_in(2)) std::shuffle(runs.begin(), runs.end(), dice.engine);
  }
  DryRunRequest view() const { return {preemptors, lists, runs}; }
};

std::string text_of(const NodeVerdict& verdict) {
  return std::string(to_string(verdict.code)) + " " + std::string(verdict.plugin);
}

std::vector<std::string> texts_of(const Request& request, const DryRunResult& result) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < result.answers.size(); ++i) {
    const DryRunAnswer& answer = result.answers[i];
    const Pod& preemptor = *request.preemptors[request.runs[i].preemptor].pod;
    const VictimList& list = request.lists[request.runs[i].list];
    std::string text = preemptor.full_name() + " on node " + std::to_string(list.node.value) + ": " +
                       text_of(answer.without_victims) + ", violations " + std::to_string(answer.violations) +
                       ", kept " + std::to_string(answer.kept_count);
    for (std::size_t v = 0; v < list.victims.size(); ++v)
      text += (result.keeps(answer, v) ? " +" : " -") + list.victims[v].pod->name;
    texts.push_back(std::move(text));
  }
  return texts;
}

void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  RC_ASSERT(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != actual[i]) RC_FAIL("\n  expected: " + expected[i] + "\n  actual:   " + actual[i]);
}

std::vector<std::string> texts_of(const PodVerdicts& verdicts) {
  std::vector<std::string> texts{verdicts.error, to_string(verdicts.rejectors)};
  for (const NodeVerdict& node : verdicts.nodes) texts.push_back(text_of(node));
  return texts;
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
  PodsByNode standing = running_pods(*drawn.cache);

  // Some pods are placed first.
  std::vector<PodToPlace> batch(drawn.pods.begin(),
                                drawn.pods.begin() + drawn.dice.upto(static_cast<std::int64_t>(drawn.pods.size())));
  cpu.compile(batch);
  const BatchResult placed = commit_with_refills(batch, {}, cpu);
  reference.compile(batch);
  reference.commit_batch(batch, {});
  for (std::size_t i = 0; i < placed.outcomes.size(); ++i)
    if (placed.outcomes[i].kind == OutcomeKind::kPlaced)
      standing[placed.outcomes[i].node.value].push_back(batch[i].pod);

  std::vector<PodToPlace> preemptors = draw_preemptors(drawn.dice, drawn.pods);
  reference.prepare(preemptors);
  cpu.prepare(preemptors);
  for (const PodToPlace& pod : preemptors) {
    const PodVerdicts verdicts = cpu.verdicts(pod);
    expect_equal(texts_of(reference.verdicts(pod)), texts_of(verdicts));
    expect_as_evaluated(cpu.evaluate(pod), verdicts, pod, cpu);
  }
  const Request request(drawn.dice, std::move(preemptors), standing);
  const std::vector<std::string> actual = texts_of(request, cpu.dry_run(request.view()));
  expect_equal(texts_of(request, reference.dry_run(request.view())), actual);
  expect_equal(texts_of(request, cpu.dry_run(request.view())), actual);

  const std::vector<Status> statuses = cpu.statuses_without_victims(request.view());
  RC_ASSERT(statuses == reference.statuses_without_victims(request.view()));
  const DryRunResult result = cpu.dry_run(request.view());
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
  const Request request(drawn.dice, preemptors, running_pods(*drawn.cache));
  const DryRunResult result = cpu.dry_run(request.view());
  for (std::uint32_t l = 0; l < request.lists.size(); ++l) {
    if (differs_from_a_new_prefilter(request.victims[l])) continue;
    const auto cache = test::fill_cache(drawn.objects);
    for (const Victim& victim : request.victims[l]) cache->remove_pod(victim.pod->uid());
    CpuBackend fresh(cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
    std::vector<PodToPlace> pods = preemptors;
    fresh.prepare(pods);
    for (std::size_t i = 0; i < request.runs.size(); ++i) {
      if (request.runs[i].list != l) continue;
      const PodVerdicts verdicts = fresh.verdicts(pods[request.runs[i].preemptor]);
      if (!verdicts.error.empty()) continue;  // perhaps of another node
      RC_ASSERT(text_of(result.answers[i].without_victims) ==
                text_of(verdicts.nodes[static_cast<std::size_t>(request.lists[l].node.value)]));
    }
  }
}

}  // namespace
}  // namespace berth

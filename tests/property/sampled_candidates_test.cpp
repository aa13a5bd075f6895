// SPDX-License-Identifier: Apache-2.0
// Preemption that stops at some candidates, as kube-scheduler does, on random clusters: its choice is that of a plain
// walk over all candidates from one of the nodes on.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/objects/pod_copy.h"
#include "host/preemption/default_preemption.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_importance.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;

std::string text_of(const PreemptionCandidate& candidate) {
  std::string text = std::to_string(candidate.node.value) + ", " + std::to_string(candidate.violations) + ":";
  for (const Pod* victim : candidate.victims) text += " " + victim->full_name();
  return text;
}

/// The nodes where eviction can help, in node order, as slots.
std::vector<std::int32_t> potential_nodes(const CpuBackend& cpu, const PodToPlace& pod) {
  std::vector<std::int32_t> nodes;
  const PodVerdicts verdicts = cpu.verdicts(pod);
  for (std::int32_t slot = 0; slot < static_cast<std::int32_t>(verdicts.nodes.size()); ++slot)
    if (verdicts.nodes[static_cast<std::size_t>(slot)].eviction_can_help()) nodes.push_back(slot);
  return nodes;
}

/// docs/behaviour/scheduler-core.md 4.4 from one node on. @param all  in node order
std::string walk(std::size_t offset, const std::vector<std::int32_t>& nodes, std::size_t wanted,
                 const std::vector<PreemptionCandidate>& all) {
  std::vector<PreemptionCandidate> kept;
  std::size_t violating = 0;
  std::size_t others = 0;
  for (std::size_t i = 0; i < nodes.size() && (others == 0 || violating + others < wanted); ++i) {
    const std::int32_t node = nodes[(offset + i) % nodes.size()];
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.node.value == node; });
    if (found == all.end()) continue;
    std::size_t& count = found->violations > 0 ? violating : others;
    if (count == wanted) continue;
    ++count;
    kept.push_back(*found);
  }
  if (kept.empty()) return "none";
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.node.value < b.node.value; });
  return text_of(kept[best_candidates(kept).front()]);
}

RC_GTEST_PROP(SampledCandidates, AreThoseOfAWalkFromSomeNode, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  for (PodPtr& pod : drawn.objects.pods) pod = test::with_drawn_importance(drawn.dice, *pod);
  drawn.cache = test::fill_cache(drawn.objects);
  drawn.pods = test::pending_pods(drawn.dice, drawn.objects, drawn.config.profiles.size());
  RC_PRE(!drawn.pods.empty());
  for (PodToPlace& pod : drawn.pods) {
    auto important = copy_of(*pod.pod);
    important->priority += static_cast<std::int32_t>(drawn.dice.upto(3) * 4);
    pod.pod = important;
  }
  const std::vector<PodDisruptionBudget> budgets = test::draw_budgets(drawn.dice, drawn.objects);
  DefaultPreemptionArgs args;
  args.min_candidate_nodes_percentage = static_cast<std::int32_t>(drawn.dice.upto(4) * 25);
  args.min_candidate_nodes_absolute = static_cast<std::int32_t>(drawn.dice.upto(3));
  PreemptionLimits limits;
  limits.nodes = CandidateNodes::kKube;
  limits.seed = static_cast<std::uint64_t>(drawn.dice.upto(1000));

  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  cpu.prepare(drawn.pods);
  DefaultPreemption sampled(cpu, *drawn.cache, budgets, limits);
  DefaultPreemption all(cpu, *drawn.cache, budgets);
  for (const PodToPlace& pod : drawn.pods) {
    const PreemptionResult result = all.evaluate({&pod, 1}).front();
    Profile profile = drawn.config.profiles[static_cast<std::size_t>(pod.profile)];
    profile.args.default_preemption = args;
    const PreemptionChoice choice = sampled.choose(pod, profile);
    RC_ASSERT(choice.eligible == result.eligible);
    if (result.candidates.empty()) {
      RC_ASSERT(!choice.candidate && choice.message == result.message && choice.error == result.error);
      continue;
    }
    const std::vector<std::int32_t> nodes = potential_nodes(cpu, pod);
    const std::size_t share = nodes.size() * static_cast<std::size_t>(args.min_candidate_nodes_percentage) / 100;
    const std::size_t wanted =
        std::min(nodes.size(), std::max(share, static_cast<std::size_t>(args.min_candidate_nodes_absolute)));
    const std::string chosen = choice.candidate ? text_of(*choice.candidate) : "none";
    bool is_a_walk = false;
    for (std::size_t offset = 0; offset < nodes.size(); ++offset)
      is_a_walk = is_a_walk || walk(offset, nodes, wanted, result.candidates) == chosen;
    if (!is_a_walk) RC_FAIL(pod.pod->full_name() + " chose " + chosen);
    const PreemptionChoice again = sampled.choose(pod, profile);
    RC_ASSERT((again.candidate ? text_of(*again.candidate) : "none") == chosen);
  }
}

}  // namespace
}  // namespace berth

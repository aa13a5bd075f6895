// SPDX-License-Identifier: Apache-2.0
// Clusters with volumes: the reference, the cpu backend and the device backend give every pod the same answer and
// decide the same about its claims, with events of storage objects, placements undone and rollbacks between the
// batches.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/generate/random_volumes.h"
#include "host/objects/pod_copy.h"
#include "tests/property/drawn_case.h"
#include "tests/property/paired_calls.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;
using test::Dice;

/// Each pod names the profile that it is placed by, as it does everywhere outside of tests: VolumeBinding reads the
/// name.
void name_profiles(std::vector<PodToPlace>& pods, const SchedulerConfig& config) {
  std::map<std::pair<const PodSpec*, std::int32_t>, std::shared_ptr<const PodSpec>> specs;
  for (PodToPlace& pod : pods) {
    const std::string& name = config.profiles[static_cast<std::size_t>(pod.profile)].scheduler_name;
    if (pod.pod->spec->scheduler_name == name) continue;
    std::shared_ptr<const PodSpec>& spec = specs[{pod.pod->spec.get(), pod.profile}];
    if (spec == nullptr) {
      auto named = std::make_shared<PodSpec>(*pod.pod->spec);
      named->scheduler_name = name;
      spec = std::move(named);
    }
    const std::shared_ptr<Pod> copy = copy_of(*pod.pod);
    copy->spec = spec;
    pod.pod = copy;
  }
}

/// A case whose pods have volumes. Copies of a pod share its claims.
Case draw_case(std::uint64_t seed) {
  Case drawn(seed);
  add_random_volumes(seed, drawn.objects);
  drawn.cache = test::fill_cache(drawn.objects);
  drawn.pods = test::pending_pods(drawn.dice, drawn.objects, drawn.config.profiles.size());
  name_profiles(drawn.pods, drawn.config);
  return drawn;
}

PersistentVolume changed(PersistentVolume volume, Dice& dice) {
  volume.is_available = dice.one_in(2);
  if (dice.one_in(2)) volume.claim_ref.reset();
  return volume;
}

VolumeClaim changed(VolumeClaim claim, Dice& dice) {
  if (dice.one_in(3)) claim.selected_node.reset();
  if (dice.one_in(3)) claim.is_bind_completed = !claim.is_bind_completed;
  claim.terminating = dice.one_in(4);
  return claim;
}

CsiNode changed(CsiNode node, Dice& dice) {
  for (CsiNode::Driver& driver : node.drivers) driver.limit = static_cast<std::int32_t>(dice.upto(4));
  if (dice.one_in(2)) node.migrated_plugins.clear();
  return node;
}

/// An object that was there at the beginning comes, changes or goes.
std::optional<ClusterChange> draw_change(Dice& dice, const StorageObjects& objects) {
  const std::int64_t kind = dice.upto(4);
  const bool goes = dice.one_in(3);
  if (kind < 2 && !objects.volumes.empty()) {
    const PersistentVolume& volume = dice.pick(objects.volumes);
    if (goes) return StorageRemoval{StorageKind::kVolume, "", volume.name};
    return StorageUpsert{changed(volume, dice)};
  }
  if (kind < 4 && !objects.claims.empty()) {
    const VolumeClaim& claim = dice.pick(objects.claims);
    if (goes) return StorageRemoval{StorageKind::kClaim, claim.namespace_, claim.name};
    return StorageUpsert{changed(claim, dice)};
  }
  if (objects.csi_nodes.empty()) return std::nullopt;
  const CsiNode& node = dice.pick(objects.csi_nodes);
  if (goes) return StorageRemoval{StorageKind::kCsiNode, "", node.name};
  return StorageUpsert{changed(node, dice)};
}

std::string text_of(const VolumeDecisionsPtr& decisions) {
  if (decisions == nullptr) return "nothing";
  std::string text = "on " + decisions->node_name;
  for (const auto& [claim, volume] : decisions->matches) text += " " + claim + "=" + volume;
  for (const auto& [claim, class_name] : decisions->provisions) text += " " + claim + " by " + class_name;
  return text;
}

/// Three engines that are told the same.
class Engines {
 public:
  explicit Engines(Case& drawn) {
    test::Emulation emulation;
    engines_[0] = std::make_unique<ReferenceBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine);
    engines_[1] = std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
    engines_[2] = std::make_unique<DeviceBackend>(std::make_unique<test::EmulatedAccelerator>(emulation), drawn.cache,
                                                  drawn.objects, drawn.config, drawn.engine, DeviceTuning());
  }

  /// @return pods that were placed
  std::vector<PodToPlace> place(const std::vector<PodToPlace>& pods) {
    std::vector<PodToPlace> placed;
    std::vector<std::string> expected;
    for (const auto& engine : engines_) {
      std::vector<PodToPlace> compiled = pods;
      engine->compile(compiled);
      const BatchResult result = commit_with_refills(compiled, {}, *engine);
      std::vector<std::string> answers;
      for (std::size_t i = 0; i < pods.size(); ++i) {
        const Outcome& outcome = result.outcomes[i];
        answers.push_back(test::describe(outcome, result, *engine) +
                          ", volumes: " + text_of(engine->volume_decisions(*pods[i].pod)));
        if (engine == engines_[0] && outcome.kind == OutcomeKind::kPlaced) placed.push_back(pods[i]);
      }
      if (engine == engines_[0]) expected = answers;
      test::expect_equal(expected, answers, pods);
    }
    return placed;
  }

  void evaluate(const PodToPlace& pod) {
    const Evaluation expected = test::evaluated(pod, *engines_[0]);
    for (const auto& engine : engines_) test::expect_equal(expected, test::evaluated(pod, *engine));
  }

  void tell(const ClusterChange& change) {
    for (const auto& engine : engines_) engine->apply({&change, 1});
  }

  void undo(const Pod& pod) {
    for (const auto& engine : engines_) RC_ASSERT(engine->undo(pod));
  }

  void mark() {
    for (std::size_t i = 0; i < engines_.size(); ++i) marks_[i] = engines_[i]->mark();
  }
  void roll_back() {
    for (std::size_t i = 0; i < engines_.size(); ++i) engines_[i]->rollback(marks_[i]);
  }

 private:
  std::array<std::unique_ptr<Backend>, 3> engines_;
  std::array<CommitMark, 3> marks_ = {};
};

void place_between_events(std::uint64_t seed) {
  Case drawn = draw_case(seed);
  Engines engines(drawn);
  for (std::size_t next = 0; next < drawn.pods.size();) {
    const std::size_t count = std::min(drawn.pods.size() - next, static_cast<std::size_t>(1 + drawn.dice.upto(9)));
    const auto first = drawn.pods.begin() + static_cast<std::ptrdiff_t>(next);
    const std::vector<PodToPlace> batch(first, first + static_cast<std::ptrdiff_t>(count));
    next += count;
    if (drawn.dice.one_in(4)) {
      engines.mark();
      engines.place(batch);
      engines.roll_back();
    }
    const std::vector<PodToPlace> placed = engines.place(batch);
    if (!placed.empty() && drawn.dice.one_in(3)) engines.undo(*drawn.dice.pick(placed).pod);
    while (drawn.dice.one_in(2))
      if (const auto change = draw_change(drawn.dice, drawn.objects.storage)) engines.tell(*change);
    if (next < drawn.pods.size() && drawn.dice.one_in(3)) engines.evaluate(drawn.pods[next]);
  }
}

RC_GTEST_PROP(VolumesAgree, BetweenEventsOfStorage, ()) { place_between_events(*rc::gen::arbitrary<std::uint64_t>()); }

RC_GTEST_PROP(VolumesAgree, SeedsThatFailedOnce, ()) {
  place_between_events(*rc::gen::element<std::uint64_t>(21090727929690128U, 9746726730008U));
}

RC_GTEST_PROP(VolumesAgree, AfterCallsInAnyOrder, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn = draw_case(seed);
  RC_PRE(!drawn.pods.empty());
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  test::PairedCalls(drawn, reference, cpu).make_all();
}

}  // namespace
}  // namespace berth

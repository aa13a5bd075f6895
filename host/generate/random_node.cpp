// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "host/generate/random_parts.h"

namespace berth {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

using LabelEntries = std::vector<std::pair<std::string, std::string>>;

void add_zone_labels(Random& random, const RandomMoods& moods, LabelEntries& labels) {
  static constexpr std::array<const char*, 3> kZones = {"zone-a", "zone-b", "zone-c"};
  static constexpr std::array<const char*, 2> kRegions = {"north", "south"};
  const bool beta_keys = random.chance(moods.odd_labels / 2);
  const std::string prefix = beta_keys ? "failure-domain.beta.kubernetes.io/" : "topology.kubernetes.io/";
  if (!random.chance(moods.partial_zones)) labels.emplace_back(prefix + "zone", random.pick(kZones));
  if (!random.chance(moods.partial_zones)) labels.emplace_back(prefix + "region", random.pick(kRegions));
}

/// Values that Gt and Lt read, those that they cannot read among them.
void add_pool_labels(Random& random, const RandomMoods& moods, LabelEntries& labels) {
  static constexpr std::array<const char*, 3> kDisks = {"ssd", "hdd", ""};
  static constexpr std::array<const char*, 5> kNumbers = {"1", "5", "7", "8", "100"};
  static constexpr std::array<const char*, 8> kOddNumbers = {
      "v7", "", "007", "-5", "+7", "7.0", "9223372036854775807", "9223372036854775808"};
  static constexpr std::array<const char*, 3> kPools = {"general", "gpu", "General"};
  if (random.chance(70)) labels.emplace_back("disk", random.pick(kDisks));
  if (random.chance(60)) {
    labels.emplace_back("gen", random.chance(moods.odd_labels) ? random.pick(kOddNumbers) : random.pick(kNumbers));
  }
  if (random.chance(60)) labels.emplace_back("example.com/pool", random.pick(kPools));
}

Taint random_taint(Random& random) {
  static constexpr std::array<const char*, 4> kKeys = {"dedicated", "level", "example.com/flaky",
                                                       "node.kubernetes.io/unschedulable"};
  static constexpr std::array<const char*, 7> kValues = {"", "1", "5", "05", "-3", "gpu", "9223372036854775807"};
  static constexpr std::array<TaintEffect, 4> kEffects = {TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule,
                                                          TaintEffect::kPreferNoSchedule, TaintEffect::kNoExecute};
  Taint taint;
  taint.key = random.pick(kKeys);
  taint.value = random.pick(kValues);
  taint.effect = random.pick(kEffects);
  return taint;
}

void add_taints(Random& random, const RandomMoods& moods, std::vector<Taint>& taints) {
  if (!random.chance(moods.taints)) return;
  const std::int64_t count = random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const Taint taint = random_taint(random);
    bool known = false;
    for (const Taint& other : taints) known = known || (other.key == taint.key && other.effect == taint.effect);
    if (!known) taints.push_back(taint);  // the API server keeps (key, effect) unique
  }
}

void add_scalars(Random& random, const RandomMoods& moods, ResourceAmounts& amounts) {
  static constexpr std::array<std::pair<const char*, std::int64_t>, 6> kScalars = {{
      {"attachable-volumes-csi-disk.example.com", 2},
      {"example.com/license", 3},
      {"example.org/fpga", 1},
      {"hugepages-1Gi", kGibibyte},
      {"hugepages-2Mi", 2 * kMebibyte},
      {"nvidia.com/gpu", 1},
  }};
  for (const auto& [name, unit] : kScalars) {  // sorted by name, as ResourceAmounts wants it
    if (random.chance(moods.scalars)) amounts.scalars.emplace_back(name, unit * random.between(0, 8));
  }
}

void add_allocatable(Random& random, const RandomMoods& moods, Node& node) {
  static constexpr std::array<std::int64_t, 7> kMilliCpu = {0, 1, 999, 2000, 4000, 4000, 16000};
  static constexpr std::array<std::int64_t, 7> kMemory = {
      0, 1, 4 * kGibibyte, 8 * kGibibyte, 8 * kGibibyte, 32 * kGibibyte + 1, 64 * kGibibyte};
  static constexpr std::array<std::int64_t, 3> kStorage = {0, 10 * kGibibyte, 100 * kGibibyte};
  static constexpr std::array<std::int64_t, 6> kFewSlots = {0, 1, 2, 3, 5, 8};
  // The first two entries are sizes of a broken node; they must not fill a cluster.
  const std::size_t first = random.chance(4) ? 0 : 2;
  node.allocatable.milli_cpu = kMilliCpu[first + random.below(kMilliCpu.size() - first)];
  node.allocatable.memory_bytes = kMemory[first + random.below(kMemory.size() - first)];
  node.allocatable.ephemeral_storage_bytes = random.pick(kStorage);
  node.allowed_pod_number = random.chance(moods.scarce_pod_slots) ? random.pick(kFewSlots) : 110;
  add_scalars(random, moods, node.allocatable);
}

void add_images(Random& random, const RandomMoods& moods, Node& node) {
  static constexpr std::array<const char*, 6> kImages = {
      "app:v1",
      "app:v2",
      "registry.example/base:latest",
      "busybox:latest",
      "registry.example:5000/tool:latest",
      "registry.example/pinned@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
  static constexpr std::array<std::int64_t, 8> kSizes = {
      0, 1, 10 * kMebibyte, 23 * kMebibyte, 23 * kMebibyte + 1, 300 * kMebibyte, 1000 * kMebibyte, 5 * kGibibyte};
  for (const char* name : kImages) {
    if (!random.chance(moods.images)) continue;
    NodeImage image;
    std::vector<std::string> names = {name};
    if (random.chance(30)) names.push_back("mirror.example/" + std::string(name));
    image.names = std::move(names);
    image.size_bytes = random.pick(kSizes);
    node.images.push_back(std::move(image));
  }
}

}  // namespace

Node random_node(Random& random, const RandomMoods& moods) {
  Node node;
  LabelEntries labels;
  add_zone_labels(random, moods, labels);
  add_pool_labels(random, moods, labels);
  node.labels = LabelMap(std::move(labels));
  node.unschedulable = random.chance(moods.unschedulable);
  add_taints(random, moods, node.taints);
  add_allocatable(random, moods, node);
  add_images(random, moods, node);
  if (random.chance(moods.declared_features)) {
    node.declared_features = {"GuaranteedQoSPodCPUResize", "RestartAllContainersOnContainerExits"};
  }
  return node;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cluster_change.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string_view>

namespace berth {
namespace {

/// Hashes a list of fields. Lengths are part of it, so that no two lists of fields give the same bytes.
class PartHash {
 public:
  PartHash() { XXH3_64bits_reset(&state_); }
  PartHash& add(std::int64_t number) {
    XXH3_64bits_update(&state_, &number, sizeof number);
    return *this;
  }
  PartHash& add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    XXH3_64bits_update(&state_, text.data(), text.size());
    return *this;
  }
  std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

std::uint64_t hash_of_allocatable(const Node& node) {
  PartHash hash;
  const ResourceAmounts& amounts = node.allocatable;
  hash.add(amounts.milli_cpu).add(amounts.memory_bytes).add(amounts.ephemeral_storage_bytes);
  hash.add(node.allowed_pod_number);
  for (const auto& [name, amount] : amounts.scalars) hash.add(name).add(amount);
  return hash.value();
}

std::uint64_t hash_of_taints(const Node& node) {
  PartHash hash;
  for (const Taint& taint : node.taints)
    hash.add(taint.key).add(taint.value).add(static_cast<std::int64_t>(taint.effect));
  return hash.value();
}

std::uint64_t hash_of_images(const Node& node) {
  PartHash hash;
  for (const NodeImage& image : node.images) {
    hash.add(static_cast<std::int64_t>(image.names.size())).add(image.size_bytes);
    for (const std::string& name : image.names) hash.add(name);
  }
  return hash.value();
}

std::uint64_t hash_of_features(const Node& node) {
  PartHash hash;
  for (const std::string& feature : node.declared_features) hash.add(feature);
  return hash.value();
}

std::uint64_t hash_of_declared(const Node& node) {
  PartHash hash;
  for (const DeclaredValue& value : node.declared) hash.add(static_cast<std::int64_t>(value.path)).add(value.value);
  return hash.value();
}

}  // namespace

NodeFingerprint fingerprint_of(const Node& node) {
  NodeFingerprint fingerprint{};
  const auto part = [&](NodePart which) -> std::uint64_t& { return fingerprint[static_cast<std::size_t>(which)]; };
  part(NodePart::kAllocatable) = hash_of_allocatable(node);
  part(NodePart::kLabels) = PartHash().add(node.labels.bytes()).value();
  part(NodePart::kTaints) = hash_of_taints(node);
  part(NodePart::kCordon) = node.unschedulable ? 1 : 0;
  part(NodePart::kImages) = hash_of_images(node);
  part(NodePart::kFeatures) = hash_of_features(node);
  part(NodePart::kDeclared) = hash_of_declared(node);
  return fingerprint;
}

NodeParts differing_parts(const NodeFingerprint& a, const NodeFingerprint& b) {
  NodeParts parts;
  for (std::size_t p = 0; p < kNodePartCount; ++p)
    if (a[p] != b[p]) parts.insert(static_cast<NodePart>(p));
  return parts;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/objects/expansion_cost.h"

#include <string>

namespace berth {
namespace {

/// Of a pod with short texts that shares all it can: 240 bytes of the loader, the rest of the scheduler.
constexpr std::int64_t kPodBytes = 460;
/// Labels of their own make a pod a class of its own to the engine.
constexpr std::int64_t kOwnLabelsBytes = 400;
/// Each pod with claims of its own is bound by itself: measured with one and with 100 claims a pod, docs/objects.md.
constexpr std::int64_t kOwnClaimsBytes = 4900;
/// Of a claim with short texts: the object, its entry among the pod's volumes, what it is bound to.
constexpr std::int64_t kClaimBytes = 1200;
/// "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name" and the number, with their lengths.
constexpr std::int64_t kStatefulLabelBytes = 90;
/// A name stands in the pod, and in what reports and indices keep.
constexpr std::int64_t kNameCopies = 2;
/// A list's element takes up to so many times the bytes that its content takes when it is written down.
constexpr std::int64_t kSpecBytesPerContentByte = 4;

std::int64_t length(const std::string& text) { return static_cast<std::int64_t>(text.size()); }

template <class T>
std::int64_t element_bytes(const std::vector<T>& list) {
  return static_cast<std::int64_t>(list.size() * sizeof(T));
}

std::int64_t rare_bytes(const PodRare& rare) {
  if (rare == PodRare{}) return 0;
  std::int64_t bytes = static_cast<std::int64_t>(sizeof(PodRare)) + element_bytes(rare.volumes) +
                       element_bytes(rare.scheduling_gates) + element_bytes(rare.resource_claims);
  for (const PodVolume& volume : rare.volumes) bytes += length(volume.name);
  for (const std::string& gate : rare.scheduling_gates) bytes += length(gate);
  for (const std::string& claim : rare.resource_claims) bytes += length(claim);
  return bytes;
}

std::int64_t spec_bytes(const PodSpec& spec) {
  std::string content;
  append_content(content, spec);
  return static_cast<std::int64_t>(sizeof(PodSpec)) + kSpecBytesPerContentByte * length(content);
}

std::int64_t claim_bytes(const VolumeClaim& claim, std::int64_t pod_name_bytes) {
  const std::int64_t name_bytes = length(claim.name) + 1 + pod_name_bytes;
  const std::int64_t texts = length(claim.class_name) + length(claim.volume_name) + length(claim.attributes_class);
  std::int64_t selector = 0;
  if (claim.selector) {
    selector = element_bytes(claim.selector->match_expressions);
    for (const SelectorRequirement& requirement : claim.selector->match_expressions) {
      selector += length(requirement.key) + element_bytes(requirement.values);
      for (const std::string& value : requirement.values) selector += length(value);
    }
  }
  return kClaimBytes + 3 * name_bytes + texts + selector;
}

}  // namespace

std::int64_t pod_cost_bytes(const PodTemplate& pod_template, const OwnParts& own) {
  std::int64_t bytes = kPodBytes + kNameCopies * own.name_bytes + rare_bytes(pod_template.rare);
  if (own.labels) {
    bytes += kOwnLabelsBytes + kStatefulLabelBytes + own.name_bytes +
             static_cast<std::int64_t>(pod_template.labels.bytes().size());
  }
  if (own.spec) bytes += spec_bytes(*pod_template.spec);
  if (own.claims == nullptr || own.claims->empty()) return bytes;
  bytes += kOwnClaimsBytes;
  for (const VolumeClaim& claim : *own.claims) bytes += claim_bytes(claim, own.name_bytes);
  return bytes;
}

}  // namespace berth

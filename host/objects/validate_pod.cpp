// SPDX-License-Identifier: Apache-2.0
// Pod specs, containers and resources: pkg/apis/core/validation.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/decode_parts.h"
#include "host/objects/field_names.h"
#include "host/objects/pod_requests.h"
#include "host/objects/resources.h"
#include "host/objects/selectors.h"
#include "host/objects/validation.h"
#include "host/objects/validation_values.h"

namespace berth {
namespace {

constexpr std::string_view kHugePagePrefix = "hugepages-";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> choices) {
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

constexpr std::string_view kDnsLabel = "a name of at most 63 lower-case letters, digits and '-'";

/// A name that has to be there, be a DNS label and stand once.
void validate_unique_label(const JsonValue& name, ValidationCheck check, std::vector<std::string_view>& seen) {
  const std::string_view text = text_of(name);
  if (!is_dns_label(text)) {
    expected(name, check, kDnsLabel);
  } else if (std::find(seen.begin(), seen.end(), text) != seen.end()) {
    expected(name, check, "a name that stands once");
  }
  seen.push_back(text);
}

// ---- Resources

bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

bool may_overcommit(std::string_view name) { return is_native(name) && !name.starts_with(kHugePagePrefix); }

bool is_container_resource(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return is_native(name) || is_extended_resource(name);
  return is_one_of(name, {kCpu, kMemory, kEphemeralStorage}) || name.starts_with(kHugePagePrefix);
}

/// Extended resources and pods are counted, so a fraction of one is refused.
void validate_whole(const JsonValue& amount, std::string_view name) {
  if (name != kPods && !is_extended_resource(name)) return;
  const auto quantity = read_quantity(amount);
  if (quantity && quantity->nano % kNanoPerUnit != 0)
    expected(amount, ValidationCheck::kWholeResource, "a whole number");
}

void validate_page_size(const JsonValue& amount, std::string_view name) {
  if (!name.starts_with(kHugePagePrefix)) return;
  const auto page = Quantity::parse(name.substr(kHugePagePrefix.size()));
  const auto quantity = read_quantity(amount);
  if (!quantity) return;
  const bool is_multiple =
      page && page->nano > 0 && page->nano % kNanoPerUnit == 0 && quantity->value() % page->value() == 0;
  if (!is_multiple) expected(amount, ValidationCheck::kHugePages, "a multiple of the page size");
}

void validate_amount_map(const JsonValue& list) {
  validate_map_keys(list);
  list.for_each_entry([](std::string_view name, const JsonValue& amount) {
    validate_whole(amount, name);
    validate_page_size(amount, name);
  });
}

void validate_request(const JsonValue& amount, std::string_view name, const ResourceList& limits) {
  const auto request = read_quantity(amount);
  if (!request) return;
  const Quantity* limit = find(limits, name);
  if (limit == nullptr) return;
  const Quantity wanted = request->rounded_up_to_milli();
  if (!may_overcommit(name) && wanted != *limit) {
    expected(amount, ValidationCheck::kNoOvercommit, "the limit, " + limit->to_string());
  } else if (wanted > *limit) {
    expected(amount, ValidationCheck::kRequestAboveLimit, "at most the limit, " + limit->to_string());
  }
}

/// @param defaults  requests that the API server adds before it validates
void validate_huge_pages_company(const JsonValue& place, std::initializer_list<const JsonValue*> lists,
                                 const ResourceList& defaults = {}) {
  bool has_huge_pages = false;
  bool has_compute = find(defaults, kCpu) != nullptr || find(defaults, kMemory) != nullptr;
  for (const JsonValue* const list : lists) {
    list->for_each_entry([&](std::string_view name, const JsonValue&) {
      has_huge_pages |= name.starts_with(kHugePagePrefix);
      has_compute |= name == kCpu || name == kMemory;
    });
  }
  if (has_huge_pages && !has_compute)
    place.finding(ValidationCheck::kHugePages, "huge pages alone, expected cpu or memory beside them");
}

/// A claim without a request stands for all its requests.
bool overlap(std::string_view request, std::string_view other) {
  return request.empty() || other.empty() || request == other;
}

void validate_resource_claims(const JsonValue& claims, const JsonValue& pod_claims) {
  std::vector<std::string_view> known;
  pod_claims.for_each_element([&](const JsonValue& claim) { known.push_back(text_of(claim.field("name"))); });
  std::vector<std::pair<std::string_view, std::string_view>> seen;
  claims.for_each_element([&](const JsonValue& claim) {
    validate_fields(claim, ApiType::kResourceClaim);
    const JsonValue name = claim.field("name");
    const JsonValue request = claim.field("request");
    const std::pair wanted(text_of(name), text_of(request));
    if (std::find(known.begin(), known.end(), wanted.first) == known.end()) {
      expected(name, ValidationCheck::kContainerClaim, "the name of an entry of spec.resourceClaims");
    }
    if (!wanted.second.empty() && !is_dns_label(wanted.second)) {
      expected(request, ValidationCheck::kContainerClaim, kDnsLabel);
    }
    if (std::any_of(seen.begin(), seen.end(), [&](const auto& earlier) {
          return earlier.first == wanted.first && overlap(earlier.second, wanted.second);
        })) {
      claim.finding(ValidationCheck::kContainerClaim, "names what an earlier entry names, expected each request once");
    }
    seen.push_back(wanted);
  });
}

/// What requests and limits have to be whether they are a container's or a pod's.
/// @param defaults  as of validate_huge_pages_company()
void validate_amounts(const JsonValue& resources, const ResourceList& defaults = {}) {
  const JsonValue requests = resources.field("requests");
  const JsonValue limits = resources.field("limits");
  validate_amount_map(limits);
  validate_amount_map(requests);
  const ResourceList limit_list = read_resource_list(limits);
  requests.for_each_entry(
      [&](std::string_view name, const JsonValue& amount) { validate_request(amount, name, limit_list); });
  validate_huge_pages_company(resources, {&requests, &limits}, defaults);
}

void validate_container_resource_names(const JsonValue& list) {
  list.for_each_entry([](std::string_view name, const JsonValue& amount) {
    if (is_container_resource(name)) return;
    amount.finding(ValidationCheck::kResourceName,
                   "no scheduler counts a resource of that name, expected cpu, memory, ephemeral-storage, "
                   "hugepages-SIZE or a name with a domain such as nvidia.com/gpu");
  });
}

void validate_pod_level_names(const JsonValue& list) {
  list.for_each_entry([](std::string_view name, const JsonValue& amount) {
    if (is_pod_level_resource(name)) return;
    amount.finding(ValidationCheck::kPodLevelResources,
                   "expected only cpu, memory and huge pages for a pod as a whole");
  });
}

/// What of the containers is above the limit of their pod; empty when nothing is.
/// @param has_request  the pod names a request; without one it requests what its containers do
std::string what_is_above(const std::string& name, const Quantity& limit, bool has_request, const PodSpec& decoded) {
  if (name.starts_with(kHugePagePrefix)) {
    const ResourceList together = container_limits_total(decoded);
    const Quantity* amount = find(together, name);
    if (amount != nullptr && *amount > limit) return "the containers' limits, " + amount->to_string();
  }
  for (const Container& container : decoded.containers) {
    const Quantity* amount = find(container.limits, name);
    if (amount != nullptr && *amount > limit) return "the limit of each container, " + amount->to_string();
  }
  const Quantity* requested = has_request ? nullptr : find(decoded.pod_level_requests, name);
  if (requested != nullptr && *requested > limit) return "the containers' requests, " + requested->to_string();
  return {};
}

/// Containers together may not request more than their pod, and none may have a higher limit than it.
void validate_pod_level_amounts(const JsonValue& requests, const JsonValue& limits, const PodSpec& decoded) {
  const ResourceList pod_requests = read_resource_list(requests);
  for (const auto& [name, amount] : container_requests_total(decoded)) {
    const Quantity* of_pod = find(pod_requests, name);
    if (of_pod == nullptr || amount <= *of_pod) continue;
    const JsonValue entry = requests.field(name);
    expected(entry, ValidationCheck::kPodLevelResources, "at least the containers' requests, " + amount.to_string());
  }
  for (const auto& [name, of_pod] : read_resource_list(limits)) {
    const std::string above = what_is_above(name, of_pod, find(pod_requests, name) != nullptr, decoded);
    if (above.empty()) continue;
    const JsonValue entry = limits.field(name);
    expected(entry, ValidationCheck::kPodLevelResources, "at least " + above);
  }
}

void validate_pod_level_resources(const JsonValue& resources, const PodSpec& decoded) {
  if (!resources.is_object()) return;
  validate_fields(resources, ApiType::kResourceRequirements);
  const JsonValue requests = resources.field("requests");
  const JsonValue limits = resources.field("limits");
  const JsonValue claims = resources.field("claims");
  validate_amounts(resources, decoded.pod_level_requests);
  validate_pod_level_names(requests);
  validate_pod_level_names(limits);
  validate_pod_level_amounts(requests, limits, decoded);
  if (claims.present()) claims.finding(ValidationCheck::kPodLevelResources, "expected no claims for a pod as a whole");
}

// ---- Containers

void validate_port(const JsonValue& port, bool is_host_network) {
  validate_fields(port, ApiType::kContainerPort);
  const JsonValue container_port = port.field("containerPort");
  const JsonValue host_port = port.field("hostPort");
  const JsonValue protocol = port.field("protocol");
  std::int32_t inside = 0;
  std::int32_t outside = 0;
  container_port.read(inside);
  host_port.read(outside);
  if (inside == 0) expected(container_port, ValidationCheck::kContainerPort, "a port from 1 to 65535");
  if (is_host_network && outside != 0 && outside != inside) {
    expected(host_port, ValidationCheck::kHostNetworkPort, "the containerPort, since hostNetwork is true");
  }
  const std::string_view name = text_of(protocol);
  if (!name.empty() && !is_one_of(name, {"TCP", "UDP", "SCTP"})) {
    expected(protocol, ValidationCheck::kPortProtocol, "TCP, UDP or SCTP");
  }
}

/// @param used  host ports that are taken; grows
void validate_host_ports(const JsonValue& ports, const std::vector<ContainerPort>& decoded,
                         std::vector<ContainerPort>& used) {
  std::size_t at = 0;
  ports.for_each_element([&](const JsonValue& port) {
    if (at >= decoded.size()) return;
    ContainerPort wanted = decoded[at++];
    if (wanted.host_port == 0) return;
    if (wanted.protocol.empty()) wanted.protocol = "TCP";
    wanted.container_port = 0;
    if (std::find(used.begin(), used.end(), wanted) == used.end()) return used.push_back(wanted);
    const JsonValue host_port = port.field("hostPort");
    host_port.finding(ValidationCheck::kHostPortConflict,
                      "got " + std::to_string(wanted.host_port) + ", expected a port that no container of the pod has");
  });
}

void validate_restart_rules(const JsonValue& container) {
  const JsonValue policy = container.field("restartPolicy");
  const JsonValue rules = container.field("restartPolicyRules");
  const std::string_view text = text_of(policy);
  if (policy.present() && !is_one_of(text, {"Always", "OnFailure", "Never"})) {
    expected(policy, ValidationCheck::kContainerRestartPolicy, "Always, OnFailure or Never");
  }
  if (element_count(rules) > 0 && !policy.present()) {
    rules.finding(ValidationCheck::kRestartRule, "expected a restartPolicy beside the rules");
  }
  rules.for_each_element([](const JsonValue& rule) {
    validate_fields(rule, ApiType::kContainerRestartRule);
    const JsonValue action = rule.field("action");
    if (!is_one_of(text_of(action), {"Restart", "RestartAllContainers"})) {
      expected(action, ValidationCheck::kRestartRule, "Restart or RestartAllContainers");
    }
  });
}

/// An absent image changes no verdict; one with white space is not the image that nodes have.
void validate_image(const JsonValue& image) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::string_view text = text_of(image);
  if (text.empty()) return;
  if (kSpace.find(text.front()) != kSpace.npos || kSpace.find(text.back()) != kSpace.npos)
    expected(image, ValidationCheck::kContainerImage, "a name without white space at either end");
}

void validate_container(const JsonValue& container, const JsonValue& spec, bool is_host_network) {
  validate_fields(container, ApiType::kContainer);
  validate_image(container.field("image"));
  const JsonValue ports = container.field("ports");
  ports.for_each_element([&](const JsonValue& port) { validate_port(port, is_host_network); });
  validate_resources(container.field("resources"), spec.field("resourceClaims"));
  validate_restart_rules(container);
}

void validate_containers(const JsonValue& spec, const PodSpec& decoded) {
  const JsonValue containers = spec.field("containers");
  const JsonValue init_containers = spec.field("initContainers");
  std::vector<std::string_view> names;
  std::vector<ContainerPort> used;
  std::size_t at = 0;
  if (element_count(containers) == 0) expected(containers, ValidationCheck::kContainers, "at least one container");
  containers.for_each_element([&](const JsonValue& container) {
    validate_unique_label(container.field("name"), ValidationCheck::kContainerName, names);
    validate_container(container, spec, decoded.host_network);
    if (at < decoded.containers.size())
      validate_host_ports(container.field("ports"), decoded.containers[at].ports, used);
    ++at;
  });
  at = 0;
  init_containers.for_each_element([&](const JsonValue& container) {
    validate_unique_label(container.field("name"), ValidationCheck::kContainerName, names);
    validate_container(container, spec, false);
    // They run one behind the other, so each may use any port.
    used.clear();
    if (at < decoded.init_containers.size()) {
      validate_host_ports(container.field("ports"), decoded.init_containers[at].ports, used);
    }
    ++at;
  });
}

// ---- What is each pod's own

void validate_gates(const JsonValue& gates, const JsonValue& spec) {
  std::vector<std::string_view> seen;
  gates.for_each_element([&](const JsonValue& gate) {
    validate_fields(gate, ApiType::kPodSchedulingGate);
    const JsonValue name = gate.field("name");
    const std::string_view text = text_of(name);
    if (!is_qualified_name(text)) {
      expected(name, ValidationCheck::kSchedulingGate, "a qualified name such as example.com/name");
    } else if (std::find(seen.begin(), seen.end(), text) != seen.end()) {
      expected(name, ValidationCheck::kSchedulingGate, "a gate that stands once");
    }
    seen.push_back(text);
  });
  const JsonValue node_name = spec.field("nodeName");
  if (!seen.empty() && !text_of(node_name).empty()) {
    expected(node_name, ValidationCheck::kGatedNodeName, "no node while schedulingGates has entries");
  }
}

void validate_volumes(const JsonValue& volumes) {
  std::vector<std::string_view> names;
  volumes.for_each_element([&](const JsonValue& volume) {
    validate_fields(volume, ApiType::kVolume);
    validate_unique_label(volume.field("name"), ValidationCheck::kVolume, names);
    std::uint64_t sources = 0;
    volume.for_each_field([&](std::string_view key, const JsonValue&) {
      const int index = key == "name" ? -1 : field_index(ApiType::kVolume, key);
      if (index >= 0) sources |= std::uint64_t{1} << index;
    });
    if (std::popcount(sources) > 1) volume.finding(ValidationCheck::kVolume, "more than one source, expected one");
    validate_volume_sources(volume);
    const JsonValue claim = volume.field("persistentVolumeClaim");
    if (!claim.is_object()) return;
    validate_fields(claim, ApiType::kPersistentVolumeClaimVolumeSource);
    const JsonValue claim_name = claim.field("claimName");
    if (text_of(claim_name).empty()) expected(claim_name, ValidationCheck::kVolume, "the name of a claim");
  });
}

void validate_pod_claims(const JsonValue& claims) {
  std::vector<std::string_view> names;
  claims.for_each_element([&](const JsonValue& claim) {
    validate_fields(claim, ApiType::kPodResourceClaim);
    validate_unique_label(claim.field("name"), ValidationCheck::kResourceClaim, names);
    const JsonValue claim_name = claim.field("resourceClaimName");
    const JsonValue template_name = claim.field("resourceClaimTemplateName");
    for (const JsonValue* const name : {&claim_name, &template_name}) {
      if (name->present() && !is_dns_subdomain(text_of(*name)))
        expected(*name, ValidationCheck::kResourceClaim,
                 "the name of an object: lower-case letters, digits, '-' and '.'");
    }
    if (claim_name.present() == template_name.present()) {
      claim.finding(ValidationCheck::kResourceClaim, "expected either resourceClaimName or resourceClaimTemplateName");
    }
  });
}

}  // namespace

void validate_allocatable(const JsonValue& list) {
  validate_map_keys(list);
  list.for_each_entry([](std::string_view name, const JsonValue& amount) { validate_whole(amount, name); });
}

void validate_overhead(const JsonValue& list) {
  validate_container_resource_names(list);
  validate_amount_map(list);
  validate_huge_pages_company(list, {&list});
}

void validate_resources(const JsonValue& resources, const JsonValue& pod_claims) {
  if (!resources.is_object()) return;
  validate_fields(resources, ApiType::kResourceRequirements);
  const JsonValue requests = resources.field("requests");
  const JsonValue limits = resources.field("limits");
  validate_container_resource_names(limits);
  validate_container_resource_names(requests);
  validate_amounts(resources);
  validate_resource_claims(resources.field("claims"), pod_claims);
}

void validate_referenced_name(const JsonValue& name) {
  const std::string_view text = text_of(name);
  if (!text.empty() && !is_dns_subdomain(text)) {
    expected(name, ValidationCheck::kReferencedName, "the name of an object: lower-case letters, digits, '-' and '.'");
  }
}

void validate_pod_own(const JsonValue& spec) {
  if (!spec.is_object()) return;
  validate_fields(spec, ApiType::kPodSpec);
  spec.for_each_field([&](std::string_view key, const JsonValue& value) {
    if (key == "nodeName" || key == "priorityClassName" || key == "runtimeClassName") {
      validate_referenced_name(value);
    } else if (key == "schedulingGates") {
      validate_gates(value, spec);
    } else if (key == "volumes") {
      validate_volumes(value);
    } else if (key == "resourceClaims") {
      validate_pod_claims(value);
    } else if (key == "restartPolicy" && !is_one_of(text_of(value), {"", "Always", "OnFailure", "Never"})) {
      expected(value, ValidationCheck::kPodRestartPolicy, "Always, OnFailure or Never");
    }
  });
}

void validate_pod_spec(const JsonValue& spec, const PodSpec& decoded) {
  validate_containers(spec, decoded);
  validate_labels(spec.field("nodeSelector"), ValidationCheck::kNodeSelector);
  validate_affinity(spec.field("affinity"));
  validate_spread_constraints(spec.field("topologySpreadConstraints"));
  validate_tolerations(spec.field("tolerations"));
  validate_overhead(spec.field("overhead"));
  validate_pod_level_resources(spec.field("resources"), decoded);
}

}  // namespace berth

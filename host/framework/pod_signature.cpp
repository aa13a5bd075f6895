// SPDX-License-Identifier: Apache-2.0
#include "host/framework/pod_signature.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "host/framework/draw.h"
#include "host/framework/signature_writer.h"

namespace berth {
namespace {

void write(SignatureWriter& out, const SelectorRequirement& requirement) {
  out.text(requirement.key);
  out.number(static_cast<std::int64_t>(requirement.op));
  out.texts(requirement.values);
}

void write(SignatureWriter& out, const NodeSelectorTerm& term) {
  out.list(term.match_expressions, [&](const auto& r) { write(out, r); });
  out.list(term.match_fields, [&](const auto& r) { write(out, r); });
}

void write(SignatureWriter& out, const std::optional<LabelSelector>& selector) {
  out.number(selector.has_value());
  if (!selector) return;
  out.text(selector->match_labels.bytes());
  out.list(selector->match_expressions, [&](const auto& r) { write(out, r); });
}

void write(SignatureWriter& out, const PodAffinityTerm& term) {
  write(out, term.label_selector);
  out.texts(term.namespaces);
  write(out, term.namespace_selector);
  out.text(term.topology_key);
  out.texts(term.match_label_keys);
  out.texts(term.mismatch_label_keys);
}

void write(SignatureWriter& out, const std::optional<PodAffinity>& affinity) {
  out.number(affinity.has_value());
  if (!affinity) return;
  out.list(affinity->required, [&](const auto& term) { write(out, term); });
  out.list(affinity->preferred, [&](const auto& weighted) {
    out.number(weighted.weight);
    write(out, weighted.term);
  });
}

void write(SignatureWriter& out, const std::optional<NodeAffinity>& affinity) {
  out.number(affinity.has_value());
  if (!affinity) return;
  out.number(affinity->required.has_value());
  if (affinity->required) out.list(*affinity->required, [&](const auto& term) { write(out, term); });
  out.list(affinity->preferred, [&](const auto& weighted) {
    out.number(weighted.weight);
    write(out, weighted.preference);
  });
}

void write(SignatureWriter& out, const Container& container) {
  out.text(container.image);
  out.resources(container.requests);
  out.number(container.restart_always);
  out.number(container.restarts_all_containers);
  out.list(container.ports, [&](const ContainerPort& port) {
    out.number(port.host_port);
    out.text(port.protocol);
    out.text(port.host_ip);
  });
}

void write(SignatureWriter& out, const Toleration& toleration) {
  out.text(toleration.key);
  out.number(static_cast<std::int64_t>(toleration.op));
  out.text(toleration.value);
  out.number(toleration.effect ? static_cast<std::int64_t>(*toleration.effect) : -1);
}

void write(SignatureWriter& out, const TopologySpreadConstraint& constraint) {
  out.number(constraint.max_skew);
  out.text(constraint.topology_key);
  out.number(constraint.schedule_anyway);
  write(out, constraint.label_selector);
  out.number(constraint.min_domains.value_or(-1));
  out.number(constraint.honor_node_affinity);
  out.number(constraint.honor_node_taints);
  out.texts(constraint.match_label_keys);
}

void write_nodes_wanted(SignatureWriter& out, const PodSpec& spec) {
  out.text(spec.node_selector.bytes());
  write(out, spec.node_affinity);
}

void write_tolerations(SignatureWriter& out, const PodSpec& spec) {
  out.list(spec.tolerations, [&](const auto& toleration) { write(out, toleration); });
}

}  // namespace

std::string pod_signature(const PodSpec& spec) {
  SignatureWriter out;
  out.text(spec.scheduler_name);
  out.list(spec.containers, [&](const auto& container) { write(out, container); });
  out.list(spec.init_containers, [&](const auto& container) { write(out, container); });
  out.resources(spec.overhead);
  out.resources(spec.pod_level_requests);
  write_nodes_wanted(out, spec);
  write(out, spec.pod_affinity);
  write(out, spec.pod_anti_affinity);
  write_tolerations(out, spec);
  out.list(spec.topology_spread_constraints, [&](const auto& constraint) { write(out, constraint); });
  out.texts(spec.image_volumes);
  return out.take();
}

std::string status_signature(const Pod& pod) {
  const PodRare& rare = pod.rare();
  if (rare.status_resources.empty() && !rare.resize_infeasible) return {};
  SignatureWriter out;
  out.text("status");
  out.number(rare.resize_infeasible);
  const auto write_status = [&](const Container& container) {  // by position: signatures have no names of containers
    const auto status =
        std::find_if(rare.status_resources.begin(), rare.status_resources.end(),
                     [&](const ContainerStatusResources& of) { return of.container_name == container.name; });
    out.number(status != rare.status_resources.end());
    if (status == rare.status_resources.end()) return;
    out.number(status->has_resources);
    out.resources(status->requests);
    out.resources(status->allocated);
  };
  out.list(pod.spec->containers, write_status);
  out.list(pod.spec->init_containers, write_status);
  return out.take();
}

std::string node_side_signature(const PodSpec& spec, bool with_images) {
  SignatureWriter out;
  const auto write_images = [&](const Container& container) {
    out.text(with_images ? std::string_view(container.image) : std::string_view());
    out.number(container.restarts_all_containers);
  };
  out.list(spec.containers, write_images);
  out.list(spec.init_containers, write_images);
  out.texts(spec.image_volumes);
  write_nodes_wanted(out, spec);
  write_tolerations(out, spec);
  return out.take();
}

std::string node_affinity_signature(const PodSpec& spec) {
  SignatureWriter out;
  write_nodes_wanted(out, spec);
  return out.take();
}

std::string tolerations_signature(const PodSpec& spec) {
  SignatureWriter out;
  write_tolerations(out, spec);
  return out.take();
}

std::string node_terms_signature(const std::vector<NodeSelectorTerm>& terms) {
  SignatureWriter out;
  out.list(terms, [&](const auto& term) { write(out, term); });
  return out.take();
}

std::uint64_t pod_class_hash(const PodSpec& spec) { return pod_class_hash(pod_signature(spec)); }

std::uint64_t pod_class_hash(std::string_view signature) { return XXH3_64bits(signature.data(), signature.size()); }

}  // namespace berth

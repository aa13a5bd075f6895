// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/batch_signature.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "host/config/plugin_catalog.h"
#include "host/framework/go_sort.h"
#include "host/framework/signature_writer.h"
#include "host/objects/pod_requests.h"
#include "plugins/image_locality/compile.h"
#include "plugins/node_declared_features/compile.h"

namespace berth {
namespace {

constexpr std::array kSigningPoints = {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter, ExtensionPoint::kPreScore,
                                       ExtensionPoint::kScore};

void write_tolerations(SignatureWriter& out, const PodSpec& spec) {
  std::vector<Toleration> tolerations = spec.tolerations;
  const auto is_less = [](const Toleration& a, const Toleration& b) {
    return a.key != b.key ? a.key < b.key : a.value < b.value;
  };
  GoSort<Toleration, decltype(is_less)>::sort(tolerations, is_less);
  out.list(tolerations, [&](const Toleration& toleration) {
    out.text(toleration.key);
    out.number(static_cast<std::int64_t>(toleration.op));
    out.text(toleration.value);
    out.number(toleration.effect ? static_cast<std::int64_t>(*toleration.effect) : -1);
  });
  out.number(static_cast<std::int64_t>(spec.tolerations_hash));
}

/// Protocol and address are not compared.
void write_ports(SignatureWriter& out, const PodSpec& spec) {
  std::set<std::int32_t> ports;
  for (const auto* containers : {&spec.containers, &spec.init_containers})
    for (const Container& container : *containers)
      for (const ContainerPort& port : container.ports)
        if (port.host_port != 0) ports.insert(port.host_port);
  out.list(ports, [&](std::int32_t port) { out.number(port); });
}

std::string sorted_requirements(const std::vector<SelectorRequirement>& requirements) {
  std::vector<std::string> texts;
  for (const SelectorRequirement& requirement : requirements) {
    std::vector<std::string> values = requirement.values;
    std::sort(values.begin(), values.end());
    SignatureWriter text;
    text.text(requirement.key);
    text.number(static_cast<std::int64_t>(requirement.op));
    text.texts(values);
    texts.push_back(text.take());
  }
  std::sort(texts.begin(), texts.end());
  SignatureWriter out;
  out.texts(texts);
  return out.take();
}

std::string sorted_term(const NodeSelectorTerm& term, std::int32_t weight) {
  SignatureWriter out;
  out.number(weight);
  out.text(sorted_requirements(term.match_expressions));
  out.text(sorted_requirements(term.match_fields));
  return out.take();
}

void write_node_affinity(SignatureWriter& out, const PodSpec& spec) {
  out.text(spec.node_selector.bytes());
  out.number(spec.node_affinity.has_value());
  if (!spec.node_affinity) return;
  std::vector<std::string> required;
  if (spec.node_affinity->required)
    for (const NodeSelectorTerm& term : *spec.node_affinity->required) required.push_back(sorted_term(term, 0));
  std::vector<std::string> preferred;
  for (const PreferredSchedulingTerm& term : spec.node_affinity->preferred)
    preferred.push_back(sorted_term(term.preference, term.weight));
  for (std::vector<std::string>* terms : {&required, &preferred}) {
    std::sort(terms->begin(), terms->end());
    out.texts(*terms);
  }
}

void write_requests(SignatureWriter& out, const Pod& pod) {
  const ResourceAmounts amounts = filter_requests(pod);
  out.number(amounts.milli_cpu);
  out.number(amounts.memory_bytes);
  out.number(amounts.ephemeral_storage_bytes);
  out.list(amounts.scalars, [&](const auto& scalar) {
    out.text(scalar.first);
    out.number(scalar.second);
  });
}

void write_images(SignatureWriter& out, const PodSpec& spec) {
  std::set<std::string> images;
  for (const auto* containers : {&spec.containers, &spec.init_containers})
    for (const Container& container : *containers) images.insert(normalized_image_name(container.image));
  out.list(images, [&](const std::string& image) { out.text(image); });
}

}  // namespace

BatchSigner::BatchSigner(const Profile& profile, const FeatureGates& gates)
    : profile_(profile),
      reads_tolerations_(has("TaintToleration") || has("NodeUnschedulable")),
      reads_ports_(has("NodePorts")),
      reads_node_affinity_(has("NodeAffinity")),
      reads_requests_(has("NodeResourcesFit") || has("NodeResourcesBalancedAllocation")),
      reads_volumes_(has("VolumeBinding") || has("VolumeZone") || has("VolumeRestrictions") || has("NodeVolumeLimits")),
      reads_labels_(has("InterPodAffinity") &&
                    !profile.args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods),
      reads_images_(has("ImageLocality")),
      reads_features_(has("NodeDeclaredFeatures")),
      refuses_pod_affinity_(has("InterPodAffinity")),
      refuses_spreading_(has("PodTopologySpread")),
      refuses_claims_(has("DynamicResources")) {
  const PodTopologySpreadArgs& spread = profile.args.pod_topology_spread;
  signs_nothing_ = (reads_requests_ && gates.enabled("DRAExtendedResource")) ||
                   (refuses_spreading_ && (spread.system_defaulting || !spread.default_constraints.empty()));
  for (const ExtensionPoint point : kSigningPoints)
    for (const EnabledPlugin& plugin : profile.at(point))
      signs_nothing_ = signs_nothing_ || find_catalog_plugin(plugin.name) == nullptr;
}

bool BatchSigner::has(std::string_view plugin) const {
  return std::any_of(kSigningPoints.begin(), kSigningPoints.end(),
                     [&](ExtensionPoint point) { return profile_.enables(point, plugin); });
}

bool BatchSigner::may_sign(const Pod& pod) const {
  const PodSpec& spec = *pod.spec;
  return !signs_nothing_ && !(refuses_pod_affinity_ && (spec.pod_affinity || spec.pod_anti_affinity)) &&
         !(refuses_spreading_ && !spec.topology_spread_constraints.empty()) &&
         !(refuses_claims_ && !pod.rare().resource_claims.empty());
}

std::optional<std::string> BatchSigner::sign(const Pod& pod) const {
  if (!may_sign(pod)) return std::nullopt;
  const PodSpec& spec = *pod.spec;
  SignatureWriter out;
  if (reads_tolerations_) write_tolerations(out, spec);
  if (reads_ports_) write_ports(out, spec);
  if (reads_node_affinity_) write_node_affinity(out, spec);
  if (reads_requests_) write_requests(out, pod);
  if (reads_volumes_) out.number(static_cast<std::int64_t>(spec.volumes_hash));
  if (reads_labels_) out.text(pod.labels.bytes());
  if (reads_images_) write_images(out, spec);
  if (reads_features_) out.texts(needed_features(spec));
  return out.take();
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/objects/expand.h"

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "host/objects/expansion_cost.h"
#include "host/objects/label_keys.h"
#include "host/objects/node_match.h"

namespace berth {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::string_view kNameField = "metadata.name";
constexpr std::string_view kSyntheticSuffix = "berth";

const OwnerReference* controller_of(const std::vector<OwnerReference>& owners) {
  const auto at = std::find_if(owners.begin(), owners.end(), [](const OwnerReference& o) { return o.controller; });
  return at == owners.end() ? nullptr : &*at;
}

/// What controllers write into the owner references of their pods, whatever version the input was written in.
std::string api_version_of(std::string_view kind) {
  if (kind == "ReplicationController") return "v1";
  return kind == "Job" ? "batch/v1" : "apps/v1";
}

OwnerReference controller_reference(const Workload& workload) {
  return {workload.kind, workload.name, workload.uid, true, api_version_of(workload.kind)};
}

/// Finds the workload that an owner reference names: by uid where both have one, else by kind and name.
class WorkloadIndex {
 public:
  explicit WorkloadIndex(const std::vector<DecodedWorkload>& workloads) : workloads_(workloads) {
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      const Workload& workload = workloads[i].workload;
      by_name_.emplace(key_of(workload.kind, workload.namespace_, workload.name), static_cast<std::int32_t>(i));
    }
  }

  std::int32_t find(const OwnerReference& owner, std::string_view namespace_name) const {
    const auto at = by_name_.find(key_of(owner.kind, namespace_name, owner.name));
    if (at == by_name_.end()) return kNone;
    const std::string& uid = workloads_[static_cast<std::size_t>(at->second)].workload.uid;
    const bool is_namesake = !uid.empty() && !owner.uid.empty() && uid != owner.uid;
    return is_namesake ? kNone : at->second;
  }

  /// The controller of a pod; remembered by owner list, which the pods of one owner share.
  std::int32_t controller_of_pod(const Pod& pod) {
    if (!pod.owners) return kNone;
    auto& [namespace_name, index] = by_owners_[pod.owners.get()];
    if (namespace_name.data() == nullptr || namespace_name != pod.namespace_) {
      const OwnerReference* owner = controller_of(*pod.owners);
      namespace_name = pod.namespace_;
      index = owner == nullptr ? kNone : find(*owner, pod.namespace_);
    }
    return index;
  }

 private:
  static std::string key_of(std::string_view kind, std::string_view space, std::string_view name) {
    std::string key(kind);
    key.append(1, '\0').append(space).append(1, '\0').append(name);
    return key;
  }

  const std::vector<DecodedWorkload>& workloads_;
  tsl::robin_map<std::string, std::int32_t> by_name_;
  tsl::robin_map<const void*, std::pair<std::string_view, std::int32_t>> by_owners_;
};

/// The node a daemon pod is for: bound to it, or pinned to it by its controller.
std::string_view target_node(const Pod& pod) {
  if (!pod.node_name.empty()) return pod.node_name;
  const auto& affinity = pod.spec->node_affinity;
  if (!affinity || !affinity->required) return {};
  for (const NodeSelectorTerm& term : *affinity->required) {
    for (const SelectorRequirement& field : term.match_fields) {
      const bool pins = field.key == kNameField && field.op == SelectorOperator::kIn && field.values.size() == 1;
      if (pins) return field.values[0];
    }
  }
  return {};
}

void add_if_absent(std::vector<Toleration>& tolerations, Toleration wanted) {
  const auto at = std::find_if(tolerations.begin(), tolerations.end(),
                               [&](const Toleration& toleration) { return toleration == wanted; });
  if (at == tolerations.end()) tolerations.push_back(std::move(wanted));
}

/// What the daemon controller adds to every pod it makes.
void add_daemon_tolerations(PodSpec& spec) {
  const auto add = [&](std::string_view name, TaintEffect effect) {
    add_if_absent(spec.tolerations,
                  {"node.kubernetes.io/" + std::string(name), TolerationOperator::kExists, "", effect});
  };
  for (const auto name : {"not-ready", "unreachable"}) add(name, TaintEffect::kNoExecute);
  for (const auto name : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}) {
    add(name, TaintEffect::kNoSchedule);
  }
  if (spec.host_network) add("network-unavailable", TaintEffect::kNoSchedule);
}

/// The controller puts its own term in the place of all required terms, which it checked when it chose the node.
void pin_to_node(PodSpec& spec, const std::string& node_name) {
  if (!spec.node_affinity) spec.node_affinity.emplace();
  NodeSelectorTerm term;
  term.match_fields.push_back({std::string(kNameField), SelectorOperator::kIn, {node_name}});
  spec.node_affinity->required = {std::move(term)};
}

LabelMap with_labels(const LabelMap& labels, std::vector<std::pair<std::string, std::string>> more) {
  std::vector<std::pair<std::string, std::string>> all(labels.begin(), labels.end());
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return LabelMap(std::move(all));
}

LabelMap job_labels(const DecodedWorkload& job) {
  const std::string& name = job.workload.name;
  std::vector<std::pair<std::string, std::string>> more = {{"batch.kubernetes.io/job-name", name}, {"job-name", name}};
  if (!job.workload.uid.empty()) {
    more.emplace_back("batch.kubernetes.io/controller-uid", job.workload.uid);
    more.emplace_back("controller-uid", job.workload.uid);
  }
  return with_labels(job.pod_template.labels, std::move(more));
}

/// The parts that all pods made for one workload share.
struct Mould {
  const PodTemplate* pod_template;
  std::string namespace_name;
  LabelMap labels;
  SpecPtr spec;
  OwnersPtr owners;
  std::int64_t creation_time_us;
};

Mould mould_of(const DecodedWorkload& from) {
  const Workload& workload = from.workload;
  return {&from.pod_template,
          workload.namespace_,
          from.pod_template.labels,
          from.pod_template.spec,
          std::make_shared<const std::vector<OwnerReference>>(1, controller_reference(workload)),
          from.creation_time_us};
}

std::shared_ptr<Pod> cast(const Mould& mould, std::string name) {
  auto pod = std::make_shared<Pod>();
  pod->name = std::move(name);
  pod->namespace_ = mould.namespace_name;
  pod->labels = mould.labels;
  pod->spec = mould.spec;
  pod->node_name = mould.pod_template->node_name;
  pod->owners = mould.owners;
  const PodRare& rare = mould.pod_template->rare;
  if (!(rare == PodRare{})) pod->rare_fields = std::make_unique<const PodRare>(rare);
  pod->creation_time_us = mould.creation_time_us;
  pod->priority = mould.pod_template->priority.value_or(0);
  pod->preemption_policy = mould.pod_template->preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority);
  return pod;
}

class Expansion {
 public:
  Expansion(std::vector<DecodedWorkload>& workloads, const std::vector<std::string>& sources,
            const ExpansionLimits& limits, ObjectPools& pools, PodNames& names, ClusterObjects& objects)
      : workloads_(workloads),
        sources_(sources),
        budget_(limits),
        pools_(pools),
        names_(names),
        objects_(objects),
        index_(workloads),
        parents_(workloads.size(), kNone),
        newest_children_(workloads.size(), kNone),
        active_counts_(workloads.size(), 0),
        covered_nodes_(workloads.size()) {}

  std::vector<InputProblem> run() {
    find_parents();
    count_present_pods();
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      const bool makes_pods = parents_[i] == kNone && !workloads_[i].is_inactive;
      if (makes_pods) expand(i);
    }
    for (DecodedWorkload& workload : workloads_) objects_.workloads.push_back(std::move(workload.workload));
    for (Workload& made : made_replica_sets_) objects_.workloads.push_back(std::move(made));
    return std::move(problems_);
  }

 private:
  void find_parents() {
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      const Workload& workload = workloads_[i].workload;
      const OwnerReference* owner = controller_of(workload.owners);
      if (owner != nullptr) parents_[i] = index_.find(*owner, workload.namespace_);
      if (parents_[i] == static_cast<std::int32_t>(i)) parents_[i] = kNone;
      if (parents_[i] != kNone && !workloads_[i].is_inactive) note_child(static_cast<std::size_t>(parents_[i]), i);
    }
  }

  void note_child(std::size_t parent, std::size_t child) {
    std::int32_t& newest = newest_children_[parent];
    const auto created = [&](std::size_t i) { return workloads_[i].creation_time_us; };
    if (newest != kNone && created(child) < created(static_cast<std::size_t>(newest))) return;
    newest = static_cast<std::int32_t>(child);
  }

  void count_present_pods() {
    for (const PodPtr& pod : objects_.pods) {
      const std::int32_t owner = index_.controller_of_pod(*pod);
      if (owner == kNone || pod->terminating) continue;
      const auto at = static_cast<std::size_t>(owner);
      ++active_counts_[at];
      if (parents_[at] != kNone) ++active_counts_[static_cast<std::size_t>(parents_[at])];
      if (workloads_[at].workload.kind == "DaemonSet") covered_nodes_[at].insert(target_node(*pod));
    }
  }

  void expand(std::size_t i) {
    const std::string& kind = workloads_[i].workload.kind;
    if (kind == "DaemonSet") return expand_daemon_set(i);
    if (kind == "StatefulSet") return expand_stateful_set(i);
    if (kind == "Deployment") return expand_deployment(i);
    const DecodedWorkload& from = workloads_[i];
    Mould mould = mould_of(from);
    if (kind == "Job") mould.labels = job_labels(from);
    const std::int64_t wanted = kind == "Job" ? wanted_by_job(from, active_counts_[i]) : from.replicas;
    make_numbered(i, mould, from.workload.name, wanted - active_counts_[i]);
  }

  static std::int64_t wanted_by_job(const DecodedWorkload& job, std::int64_t active) {
    if (job.completions) return std::min(job.parallelism, *job.completions - job.succeeded);
    // A work queue starts no further pod once one of its pods has succeeded.
    return job.succeeded > 0 ? std::min(active, job.parallelism) : job.parallelism;
  }

  void expand_deployment(std::size_t i) {
    const DecodedWorkload& deployment = workloads_[i];
    const std::int64_t missing = deployment.replicas - active_counts_[i];
    const std::int32_t newest = newest_children_[i];
    if (newest != kNone) {
      const DecodedWorkload& replica_set = workloads_[static_cast<std::size_t>(newest)];
      return make_numbered(i, mould_of(replica_set), replica_set.workload.name, missing);
    }
    if (missing <= 0 || !allows(i, missing, deployment.pod_template, numbered_parts(deployment.workload.name))) return;
    const Workload& made = made_replica_sets_.emplace_back(synthetic_replica_set(deployment));
    Mould mould = mould_of(deployment);
    mould.labels = with_labels(deployment.pod_template.labels, {{"pod-template-hash", std::string(kSyntheticSuffix)}});
    mould.owners = std::make_shared<const std::vector<OwnerReference>>(1, controller_reference(made));
    make_allowed(i, mould, std::string(made.name), missing);
  }

  static Workload synthetic_replica_set(const DecodedWorkload& deployment) {
    const Workload& owner = deployment.workload;
    Workload made;
    made.kind = "ReplicaSet";
    made.name = owner.name + "-" + std::string(kSyntheticSuffix);
    made.namespace_ = owner.namespace_;
    made.selector = owner.selector.value_or(LabelSelector{});
    made.selector->match_labels =
        with_labels(made.selector->match_labels, {{"pod-template-hash", std::string(kSyntheticSuffix)}});
    made.owners.push_back(controller_reference(owner));
    return made;
  }

  void expand_stateful_set(std::size_t i) {
    const DecodedWorkload& from = workloads_[i];
    const Workload& workload = from.workload;
    const std::int64_t present = std::min(active_counts_[i], from.replicas);
    OwnParts own = numbered_parts(workload.name);
    own.labels = true;
    own.spec = names_label_keys(*from.pod_template.spec);
    own.claims = &from.volume_claim_templates;
    if (!allows(i, from.replicas - present, from.pod_template, own)) return;
    reserve_claims(static_cast<std::size_t>(from.replicas - present) * from.volume_claim_templates.size());
    const Mould mould = mould_of(from);
    for (std::int64_t n = 0; n < from.replicas; ++n) {
      const std::string ordinal = std::to_string(from.first_ordinal + n);
      const std::string name = workload.name + "-" + ordinal;
      if (names_.contains(workload.namespace_, name)) continue;
      auto pod = cast(mould, name);
      pod->labels = with_labels(
          mould.labels, {{"apps.kubernetes.io/pod-index", ordinal}, {"statefulset.kubernetes.io/pod-name", name}});
      add_claims(*pod, from.volume_claim_templates);
      keep(i, std::move(pod));
    }
  }

  /// The pod's own claims, which the controller makes where they are not there.
  void add_claims(Pod& pod, const std::vector<VolumeClaim>& claim_templates) {
    if (claim_templates.empty()) return;
    PodRare rare = pod.rare();
    for (const VolumeClaim& from : claim_templates) {
      VolumeClaim claim = from;
      claim.name += "-" + pod.name;
      claim.namespace_ = pod.namespace_;
      rare.volumes.push_back({PodVolume::Kind::kClaim, claim.name});
      if (claim_names().emplace(claim.namespace_, claim.name).second)
        objects_.storage.claims.push_back(std::move(claim));
    }
    pod.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  }

  /// Grows by doubling at least, so that many small sets do not copy all claims each.
  void reserve_claims(std::size_t count) {
    std::vector<VolumeClaim>& claims = objects_.storage.claims;
    const std::size_t wanted = claims.size() + count;
    if (wanted > claims.capacity()) claims.reserve(std::max(wanted, 2 * claims.capacity()));
  }

  using ClaimName = std::pair<std::string, std::string>;  ///< namespace, name
  struct ClaimNameHash {
    std::size_t operator()(const ClaimName& claim) const { return PodNames::hash(claim.first, claim.second); }
  };
  using ClaimNames = tsl::robin_set<ClaimName, ClaimNameHash>;

  /// Of all claims that there are.
  ClaimNames& claim_names() {
    if (!claim_names_) {
      claim_names_.emplace();
      for (const VolumeClaim& claim : objects_.storage.claims) claim_names_->emplace(claim.namespace_, claim.name);
    }
    return *claim_names_;
  }

  void expand_daemon_set(std::size_t i) {
    const DecodedWorkload& from = workloads_[i];
    PodSpec spec = *from.pod_template.spec;
    add_daemon_tolerations(spec);
    Mould mould = mould_of(from);
    const std::string& pinned = from.pod_template.node_name;
    std::vector<const Node*> eligible;
    for (const NodePtr& node : objects_.nodes) {
      const bool is_eligible = (pinned.empty() || pinned == node->name) && !covered_nodes_[i].contains(node->name) &&
                               matches_required_node_affinity(spec, *node) && !has_untolerated_taint(spec, *node);
      if (is_eligible) eligible.push_back(node.get());
    }
    const auto count = static_cast<std::int64_t>(eligible.size());
    OwnParts own_parts = numbered_parts(from.workload.name);
    own_parts.spec = true;
    if (!allows(i, count, from.pod_template, own_parts, ExpansionBudget::Maker::kDaemonSet)) return;
    std::int64_t number = 0;
    for (const Node* node : eligible) {
      PodSpec own = spec;
      pin_to_node(own, node->name);
      mould.spec = pools_.spec(std::move(own));
      keep(i, cast(mould, free_name(from.workload, from.workload.name, number)));
    }
  }

  void make_numbered(std::size_t i, const Mould& mould, const std::string& prefix, std::int64_t count) {
    if (count > 0 && allows(i, count, *mould.pod_template, numbered_parts(prefix)))
      make_allowed(i, mould, prefix, count);
  }

  void make_allowed(std::size_t i, const Mould& mould, const std::string& prefix, std::int64_t count) {
    objects_.pods.reserve(objects_.pods.size() + static_cast<std::size_t>(count));
    std::int64_t number = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      keep(i, cast(mould, free_name(workloads_[i].workload, prefix, number)));
    }
  }

  /// "<prefix>-<number>" with the first number from `number` on that no pod has; moves `number` behind it.
  std::string free_name(const Workload& workload, const std::string& prefix, std::int64_t& number) const {
    std::string name;
    do {
      name = prefix + "-" + std::to_string(number++);
    } while (names_.contains(workload.namespace_, name));
    return name;
  }

  void keep(std::size_t i, std::shared_ptr<Pod> pod) {
    // Not at the template: the labels that its controller adds are often the very keys that are merged.
    pod->spec = with_label_keys(pod->spec, pod->labels, pools_);
    names_.insert(*pod);
    ++workloads_[i].workload.expanded_pod_count;
    objects_.pods.push_back(std::move(pod));
  }

  /// Of pods that are named by a number and share all but their names.
  static OwnParts numbered_parts(const std::string& prefix) {
    constexpr std::int64_t kNumberBytes = 7;
    return {.name_bytes = static_cast<std::int64_t>(prefix.size()) + kNumberBytes};
  }

  /// Whether `count` more pods stay below all limits; then they are counted as made. Otherwise there is a problem.
  bool allows(std::size_t i, std::int64_t count, const PodTemplate& pod_template, const OwnParts& own,
              ExpansionBudget::Maker maker = ExpansionBudget::Maker::kOther) {
    std::optional<std::string> refusal = budget_.take(maker, count, pod_cost_bytes(pod_template, own));
    if (!refusal) return true;
    const SourcePlace place = workloads_[i].place;
    problems_.push_back(
        {sources_[place.source], line_location(place), std::move(*refusal), name_in_reports(workloads_[i].workload)});
    return false;
  }

  std::vector<DecodedWorkload>& workloads_;
  const std::vector<std::string>& sources_;
  ExpansionBudget budget_;
  ObjectPools& pools_;
  PodNames& names_;
  ClusterObjects& objects_;
  std::optional<ClaimNames> claim_names_;
  WorkloadIndex index_;
  std::vector<std::int32_t> parents_;          ///< present workload that controls this one
  std::vector<std::int32_t> newest_children_;  ///< of a Deployment, the present ReplicaSet that new pods belong to
  std::vector<std::int64_t> active_counts_;
  std::vector<tsl::robin_set<std::string_view>> covered_nodes_;  ///< of a DaemonSet
  std::vector<Workload> made_replica_sets_;
  std::vector<InputProblem> problems_;
};

}  // namespace

std::vector<InputProblem> expand_workloads(std::vector<DecodedWorkload>&& workloads,
                                           const std::vector<std::string>& sources, const ExpansionLimits& limits,
                                           ObjectPools& pools, PodNames& names, ClusterObjects& objects) {
  return Expansion(workloads, sources, limits, pools, names, objects).run();
}

}  // namespace berth

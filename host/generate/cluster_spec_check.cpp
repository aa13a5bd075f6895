// SPDX-License-Identifier: Apache-2.0
#include "host/generate/cluster_spec_check.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace berth {
namespace {

constexpr std::array<std::string_view, 2> kBuiltInClasses = {"system-cluster-critical", "system-node-critical"};

class CrossCheck {
 public:
  CrossCheck(const ClusterSpec& spec, ProblemSink& sink) : spec_(spec), sink_(sink) {}

  void run() {
    const auto namespaces = unique_names(spec_.namespaces, "namespaces");
    const auto classes = unique_names(spec_.priority_classes, "priorityClasses");
    unique_names(spec_.services, "services");
    for (std::size_t i = 0; i < spec_.services.size(); ++i) {
      const std::string& name = spec_.services[i].namespace_;
      check_namespace(namespaces, name, "services[" + std::to_string(i) + "].namespace");
    }
    const auto pools = unique_names(spec_.node_pools, "nodePools");
    unique_names(spec_.pod_groups, "pods");
    for (std::size_t i = 0; i < spec_.pod_groups.size(); ++i) {
      const PodGroupSpec& group = spec_.pod_groups[i];
      const std::string path = "pods[" + std::to_string(i) + "]";
      for (const std::string& name : group.running_on) require(pools, name, path + ".runningOn", "a node pool");
      for (const std::string& name : group.namespaces) check_namespace(namespaces, name, path + ".namespaces");
      if (group.owned_by) check_owner(group, path);
      if (group.priority_class) check_priority_class(classes, *group.priority_class, path);
      check_container_names(group, path);
    }
    check_one_default_class();
    check_totals();
  }

 private:
  using Names = std::set<std::string, std::less<>>;

  template <class Objects>
  Names unique_names(const Objects& objects, const std::string& list) {
    Names names;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const std::string path = list + '[' + std::to_string(i) + "].name";
      if (objects[i].name.empty())
        sink_.add(path, "expected a name");
      else if (!names.insert(objects[i].name).second)
        sink_.add(path, "\"" + objects[i].name + "\" stands here twice");
    }
    return names;
  }

  void require(const Names& known, std::string_view name, const std::string& path, const std::string& what) {
    if (!known.contains(name)) sink_.add(path, "got \"" + std::string(name) + "\", expected " + what);
  }

  /// A set of namespaces is named as one.
  void check_namespace(const Names& namespaces, const std::string& name, const std::string& path) {
    if (name != "default") require(namespaces, name, path, "a namespace of this spec");
  }

  /// Two groups may share an owner when they say the same of it.
  void check_owner(const PodGroupSpec& group, const std::string& path) {
    const WorkloadOwnerSpec& owner = *group.owned_by;
    const auto [known, is_new] = owners_.emplace(std::pair(owner.kind, owner.name), &owner.selector);
    if (!is_new && !(*known->second == owner.selector))
      sink_.add(path + ".ownedBy",
                "expected the selector that another group gives to " + owner.kind + " " + owner.name);
  }

  void check_priority_class(const Names& classes, const TextDraw& draw, const std::string& path) {
    if (draw.sequence_count > 0) return sink_.add(path + ".priorityClass", "expected a string or {choice, weights}");
    for (const std::string& name : draw.values) {
      const bool built_in = std::find(kBuiltInClasses.begin(), kBuiltInClasses.end(), name) != kBuiltInClasses.end();
      if (!built_in) require(classes, name, path + ".priorityClass", "a priority class of this spec");
    }
  }

  void check_container_names(const PodGroupSpec& group, const std::string& path) {
    Names names;
    for (const auto* list : {&group.containers, &group.init_containers}) {
      for (const ContainerSpec& container : *list) {
        if (!names.insert(container.name).second)
          sink_.add(path, "two containers are named \"" + container.name + "\"");
      }
    }
  }

  void check_one_default_class() {
    const auto is_default = [](const PriorityClass& c) { return c.global_default; };
    const auto count = std::count_if(spec_.priority_classes.begin(), spec_.priority_classes.end(), is_default);
    if (count > 1) sink_.add("priorityClasses", "expected at most one with globalDefault");
  }

  void check_totals() {
    std::int64_t namespaces = 0;
    for (const NamespaceSpec& ns : spec_.namespaces) namespaces += ns.count.value_or(1);
    std::int64_t services = 0;
    for (const ServiceSpec& service : spec_.services) services += service.count.value_or(1);
    std::int64_t nodes = 0;
    for (const NodePoolSpec& pool : spec_.node_pools) nodes += pool.count;
    std::int64_t pods = 0;
    for (const PodGroupSpec& group : spec_.pod_groups) pods += group.running + group.pending;
    check_total("namespaces", "namespaces", namespaces);
    check_total("services", "services", services);
    check_total("nodePools", "nodes", nodes);
    check_total("pods", "pods", pods);
  }

  void check_total(const std::string& path, std::string_view what, std::int64_t count) {
    if (count <= kMaxGeneratedObjects) return;
    sink_.add(path, "got " + std::to_string(count) + ' ' + std::string(what) + ", expected at most " +
                        std::to_string(kMaxGeneratedObjects));
  }

  const ClusterSpec& spec_;
  ProblemSink& sink_;
  std::map<std::pair<std::string, std::string>, const LabelSelector*> owners_;
};

}  // namespace

void check_cluster_spec(const ClusterSpec& spec, ProblemSink& sink) { CrossCheck(spec, sink).run(); }

}  // namespace berth

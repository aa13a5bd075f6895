// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/objects/cluster_objects.h"

namespace berth {

/// The objects of a namespace that select or own pods, in the order in which they came.
struct NamespaceObjects {
  std::vector<Service> services;
  std::vector<Workload> workloads;
  bool empty() const { return services.empty() && workloads.empty(); }
};

/// Of namespaces that have any, so that a change reads those of one namespace.
using ObjectsByNamespace = std::map<std::string, NamespaceObjects, std::less<>>;

inline ObjectsByNamespace by_namespace(const std::vector<Service>& services, const std::vector<Workload>& workloads) {
  ObjectsByNamespace objects;
  for (const Service& service : services) objects[service.namespace_].services.push_back(service);
  for (const Workload& workload : workloads) objects[workload.namespace_].workloads.push_back(workload);
  return objects;
}

/// Empty lists where the namespace has none.
inline const NamespaceObjects& objects_in(const std::string& name_space, const ObjectsByNamespace& objects) {
  static const NamespaceObjects kNone;
  const auto known = objects.find(name_space);
  return known == objects.end() ? kNone : known->second;
}

}  // namespace berth

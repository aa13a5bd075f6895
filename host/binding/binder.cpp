// SPDX-License-Identifier: Apache-2.0
#include "host/binding/binder.h"

namespace berth {

Status InMemoryBinder::bind(const Pod& pod, std::string_view node_name) {
  bindings_.push_back({pod.full_name(), pod.uid(), std::string(node_name)});
  return {};
}

}  // namespace berth

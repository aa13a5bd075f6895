// SPDX-License-Identifier: Apache-2.0
#include "host/objects/pod.h"

namespace berth {

const PodRare& Pod::rare() const {
  static const PodRare kDefaults;
  return rare_fields ? *rare_fields : kDefaults;
}

const std::string* PodRare::annotation(std::string_view name) const {
  for (const auto& [kept, value] : annotations)
    if (kept == name) return &value;
  return nullptr;
}

bool operator==(const PodVolume& a, const PodVolume& b) {
  if (a.kind != b.kind || a.name != b.name || (a.disk == nullptr) != (b.disk == nullptr)) return false;
  return a.disk == nullptr || (a.disk->volume_name == b.disk->volume_name && a.disk->source == b.disk->source);
}

}  // namespace berth

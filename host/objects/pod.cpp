// SPDX-License-Identifier: Apache-2.0
#include "host/objects/pod.h"

namespace berth {

const PodRare& Pod::rare() const {
  static const PodRare kDefaults;
  return rare_fields ? *rare_fields : kDefaults;
}

}  // namespace berth

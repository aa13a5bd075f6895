// SPDX-License-Identifier: Apache-2.0
#include "batching/unknown_pod.h"

#include <stdexcept>

namespace berth {

void throw_not_compiled(const Pod& pod) {
  throw std::logic_error("pod " + pod.full_name() + " is not compiled: call Backend::compile()");
}

void throw_not_prepared(const Pod& pod) {
  throw std::logic_error("pod " + pod.full_name() + " is not prepared: call Backend::prepare()");
}

}  // namespace berth

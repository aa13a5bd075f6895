// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/objects/pod.h"

namespace berth {

// What calls throw that got a pod which compile() or prepare() has not seen, or release() has ended: std::logic_error
// with the name of the pod.

[[noreturn]] void throw_not_compiled(const Pod& pod);
[[noreturn]] void throw_not_prepared(const Pod& pod);

}  // namespace berth

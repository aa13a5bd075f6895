// SPDX-License-Identifier: Apache-2.0
// One value for each thread that asks for it.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <memory>

namespace berth {

/// With the program's own memory: oneTBB's would hand memory of a finished arena to a value without anything that
/// ThreadSanitizer sees, which then reports a race of the two.
template <class T>
using PerThread = tbb::enumerable_thread_specific<T, std::allocator<T>>;

}  // namespace berth

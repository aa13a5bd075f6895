// SPDX-License-Identifier: Apache-2.0
#include "host/objects/thread_count.h"

#include <tbb/info.h>

#include <algorithm>

namespace berth {

int thread_count(int threads) {
  const int cores = tbb::info::default_concurrency();
  return threads > 0 ? std::min(threads, cores) : cores;
}

}  // namespace berth

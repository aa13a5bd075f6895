// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth {

/// Threads that work may use when `threads` were asked for; 0 asks for one per core. Never more than the process has
/// cores: further threads would gain nothing, and oneTBB prints a warning of its own on standard error.
int thread_count(int threads);

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/objects/interruption.h"

#include <utility>

namespace berth {
namespace {

thread_local const Interruption* t_interruption = nullptr;

}  // namespace

const Interruption* current_interruption() noexcept { return t_interruption; }

InterruptionScope::InterruptionScope(const Interruption* interruption) noexcept
    : outer_(std::exchange(t_interruption, interruption)) {}

InterruptionScope::~InterruptionScope() { t_interruption = outer_; }

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/record/decision_hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "host/record/event_bytes.h"

namespace berth {
namespace {

std::string to_hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

struct DecisionHash::State {
  XXH3_state_t xxh;
};

DecisionHash::DecisionHash() : state_(std::make_unique<State>()) { reset(); }
DecisionHash::~DecisionHash() = default;

void DecisionHash::reset() { XXH3_128bits_reset(&state_->xxh); }

void DecisionHash::add(const RecordedEvent& event) {
  bytes_.clear();
  append_bytes(bytes_, view_of(event));
  add_bytes(bytes_);
}

void DecisionHash::add_bytes(std::string_view bytes) { XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size()); }

std::string DecisionHash::hex() const { return to_hex(XXH3_128bits_digest(&state_->xxh)); }

std::string checksum_of(std::string_view bytes) { return to_hex(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/record/decision_hash.h"

#include <fmt/format.h>

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace berth {
namespace {

std::string to_hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

/// Lowest byte first, whatever the machine.
void append(std::string& bytes, std::uint64_t value) {
  constexpr int kBitsPerByte = 8;
  std::array<char, sizeof value> digits{};
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = static_cast<char>(value >> (kBitsPerByte * i));
  bytes.append(digits.data(), digits.size());
}

void append(std::string& bytes, std::int64_t value) { append(bytes, static_cast<std::uint64_t>(value)); }

void append(std::string& bytes, std::string_view text) {
  append(bytes, static_cast<std::uint64_t>(text.size()));
  bytes.append(text);
}

void append(std::string& bytes, const RecordedPod& pod) {
  append(bytes, std::string_view(pod.name_space));
  append(bytes, std::string_view(pod.name));
  append(bytes, std::string_view(pod.uid));
}

char letter_of(RecordedKind kind) {
  switch (kind) {
    case RecordedKind::kDecision:
      return 'd';
    case RecordedKind::kBinding:
      return 'b';
    case RecordedKind::kEviction:
      break;
  }
  return 'e';
}

}  // namespace

struct DecisionHash::State {
  XXH3_state_t xxh;
};

DecisionHash::DecisionHash() : state_(std::make_unique<State>()) { reset(); }
DecisionHash::~DecisionHash() = default;

void DecisionHash::reset() { XXH3_128bits_reset(&state_->xxh); }

void DecisionHash::add(const RecordedEvent& event) {
  bytes_.assign(1, letter_of(event.kind));
  append(bytes_, event.time_us);
  append(bytes_, event.pod);
  append(bytes_, std::string_view(event.node));
  if (event.kind == RecordedKind::kEviction) append(bytes_, event.preemptor);
  if (event.kind == RecordedKind::kDecision) {
    append(bytes_, std::string_view(event.profile));
    append(bytes_, event.attempt);
    append(bytes_, std::string_view(event.result));
    append(bytes_, event.score);
    append(bytes_, std::string_view(event.message));
  }
  XXH3_128bits_update(&state_->xxh, bytes_.data(), bytes_.size());
}

std::string DecisionHash::hex() const { return to_hex(XXH3_128bits_digest(&state_->xxh)); }

std::string checksum_of(std::string_view bytes) { return to_hex(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/record/event_bytes.h"

#include <array>

namespace berth {
namespace {

constexpr int kBitsPerByte = 8;

/// Lowest byte first, whatever the machine.
void append(std::string& bytes, std::uint64_t value) {
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

constexpr std::array kLetters = {'d', 'b', 'e'};  ///< [RecordedKind]

/// Reads what append() wrote, from the front of `bytes`.
class Reader {
 public:
  explicit Reader(std::string_view& bytes) : bytes_(bytes) {}

  RecordedKind kind() {
    const char letter = take(1).front();
    return letter == 'd' ? RecordedKind::kDecision : letter == 'b' ? RecordedKind::kBinding : RecordedKind::kEviction;
  }
  std::int64_t number() {
    std::uint64_t value = 0;
    const std::string_view digits = take(sizeof value);
    for (std::size_t i = 0; i < digits.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (kBitsPerByte * i);
    return static_cast<std::int64_t>(value);
  }
  std::string_view text() {
    const auto size = static_cast<std::size_t>(number());
    return take(size);
  }
  RecordedPodView pod() {
    const std::string_view name_space = text();
    const std::string_view name = text();
    return {name_space, name, text()};
  }

 private:
  std::string_view take(std::size_t count) {
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view& bytes_;
};

}  // namespace

void append_bytes(std::string& out, const RecordedEvent& event) {
  out += kLetters[static_cast<std::size_t>(event.kind)];
  append(out, event.time_us);
  append(out, event.pod);
  append(out, std::string_view(event.node));
  if (event.kind == RecordedKind::kEviction) append(out, event.preemptor);
  if (event.kind == RecordedKind::kDecision) {
    append(out, std::string_view(event.profile));
    append(out, event.attempt);
    append(out, std::string_view(event.result));
    append(out, event.score);
    append(out, std::string_view(event.message));
  }
}

RecordedEventView take_event(std::string_view& bytes) {
  Reader reader(bytes);
  RecordedEventView event;
  event.kind = reader.kind();
  event.time_us = reader.number();
  event.pod = reader.pod();
  event.node = reader.text();
  if (event.kind == RecordedKind::kEviction) event.preemptor = reader.pod();
  if (event.kind == RecordedKind::kDecision) {
    event.profile = reader.text();
    event.attempt = reader.number();
    event.result = reader.text();
    event.score = reader.number();
    event.message = reader.text();
  }
  return event;
}

}  // namespace berth

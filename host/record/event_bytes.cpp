// SPDX-License-Identifier: Apache-2.0
#include "host/record/event_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace berth {
namespace {

constexpr int kBitsPerByte = 8;

/// Writes an event into room that was made for it.
class Writer {
 public:
  explicit Writer(char* to) : to_(to) {}

  void letter(char letter) { *to_++ = letter; }
  /// Lowest byte first, whatever the machine.
  void number(std::int64_t value) {
    auto word = static_cast<std::uint64_t>(value);
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(to_, &word, sizeof word);
      to_ += sizeof word;
    } else {
      for (std::size_t i = 0; i < sizeof word; ++i, word >>= kBitsPerByte) *to_++ = static_cast<char>(word);
    }
  }
  void text(std::string_view text) {
    number(static_cast<std::int64_t>(text.size()));
    to_ = std::copy(text.begin(), text.end(), to_);
  }
  void pod(const RecordedPodView& pod) {
    text(pod.name_space);
    text(pod.name);
    text(pod.uid);
  }
  const char* end() const { return to_; }

 private:
  char* to_;
};

/// At least what the event takes.
std::size_t room_for(const RecordedEventView& event) {
  constexpr std::size_t kNumbers = 16;  // and lengths
  const auto of_pod = [](const RecordedPodView& pod) {
    return pod.name_space.size() + pod.name.size() + pod.uid.size();
  };
  return 1 + kNumbers * sizeof(std::uint64_t) + of_pod(event.pod) + event.node.size() + of_pod(event.preemptor) +
         event.profile.size() + event.result.size() + event.message.size();
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
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, digits.data(), sizeof value);
      return static_cast<std::int64_t>(value);
    }
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

RecordedEventView view_of(const RecordedEvent& event) {
  const auto view_of_pod = [](const RecordedPod& pod) { return RecordedPodView{pod.name_space, pod.name, pod.uid}; };
  return {event.kind,    event.time_us, view_of_pod(event.pod), event.node,  view_of_pod(event.preemptor),
          event.profile, event.attempt, event.result,           event.score, event.message};
}

void append_bytes(std::string& out, const RecordedEventView& event) {
  const std::size_t size = out.size();
  const std::size_t room = room_for(event);
  out.resize(size + room);
  Writer writer(out.data() + size);
  writer.letter(kLetters[static_cast<std::size_t>(event.kind)]);
  writer.number(event.time_us);
  writer.pod(event.pod);
  writer.text(event.node);
  if (event.kind == RecordedKind::kEviction) writer.pod(event.preemptor);
  if (event.kind == RecordedKind::kDecision) {
    writer.text(event.profile);
    writer.number(event.attempt);
    writer.text(event.result);
    writer.number(event.score);
    writer.text(event.message);
  }
  out.resize(static_cast<std::size_t>(writer.end() - out.data()));
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

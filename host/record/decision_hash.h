// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/record/recorded_event.h"

namespace berth {

/// The running hash of decisions, bindings and evictions in the order in which they came: XXH3 (128 bits) over the
/// bytes that docs/recordings.md lists. Equal runs have equal hashes on every backend and machine.
class DecisionHash {
 public:
  DecisionHash();
  ~DecisionHash();
  DecisionHash(const DecisionHash&) = delete;
  DecisionHash& operator=(const DecisionHash&) = delete;

  void add(const RecordedEvent& event);
  /// The same of events as append_bytes() writes them, one behind the other.
  void add_bytes(std::string_view bytes);
  std::string hex() const;  ///< of everything so far: 32 digits
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string bytes_;  ///< of the event at hand
};

/// XXH3 (128 bits) of `bytes`, 32 digits.
std::string checksum_of(std::string_view bytes);

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a caller ends long calls of an engine.

#include <exception>

namespace berth {

/// What long calls ask between pieces of their work.
class Interruption {
 public:
  virtual ~Interruption() = default;
  /// The call should end. Any thread.
  virtual bool is_due() const noexcept = 0;
};

/// Ends a call that was interrupted. It has changed nothing, as every call of an engine that throws.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "the call was interrupted"; }
};

/// The interruption of the calls that this thread makes; null: there is none.
const Interruption* current_interruption() noexcept;

/// Sets the interruption of this thread for a while. Work that runs in tasks has to be given current_interruption() of
/// the thread that began it: a thread that waits for tasks may take up those of other calls meanwhile.
class InterruptionScope {
 public:
  /// @param interruption  null: none; outlives this
  explicit InterruptionScope(const Interruption* interruption) noexcept;
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  const Interruption* outer_;
};

/// Call this between pieces of work that take at most a millisecond or two. @throws Interrupted where one is due
inline void check_interruption(const Interruption* interruption) {
  if (interruption != nullptr && interruption->is_due()) throw Interrupted();
}

}  // namespace berth

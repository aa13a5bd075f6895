// SPDX-License-Identifier: Apache-2.0
/// Calls of berth.h: without the GIL, with errors and exceptions of callbacks as Python exceptions.
#pragma once

#include <cstdint>
#include <utility>

#include "handle.h"

namespace berth_python {

/// The call that this thread is in. A callback that raises leaves its exception here.
class CallScope {
 public:
  CallScope() : outer_(current_) { current_ = this; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope() { current_ = outer_; }

  static CallScope* current() { return current_; }
  bool has_raised() const { return raised_.is_valid(); }
  /// Takes the exception that is set in Python. Needs the GIL.
  void keep_raised();
  /// Throws it, if there is one. Needs the GIL.
  void throw_raised();
  /// Gives it away. Needs no GIL.
  nb::object take_raised() { return std::move(raised_); }

 private:
  static thread_local CallScope* current_;
  CallScope* outer_;
  nb::object raised_;
};

/// Runs `call(berth_error*)` without the GIL. @return its status, which is not negative
template <class Call>
berth_status run(Call&& call) {
  berth_error error;
  // The texts are written by a call that fails; clearing all 736 bytes would cost more than a check.
  error.struct_size = static_cast<std::uint32_t>(sizeof error);
  error.code = 0;
  error.object[0] = error.text[0] = '\0';
  CallScope scope;
  berth_status status = BERTH_OK;
  {
    const nb::gil_scoped_release released;
    status = call(&error);
  }
  scope.throw_raised();
  if (status < 0) raise_error(status, error.object, error.text);
  return status;
}

/// As run(), for calls with berth_load_options: raises where it was stopped.
template <class Call>
berth_status run_load(Call&& call) {
  const berth_status status = run(std::forward<Call>(call));
  if (status == BERTH_DEADLINE || status == BERTH_CANCELLED) raise_error(status, "", "");
  return status;
}

/// As run(), for calls that neither wait nor call back: the GIL is kept, which costs less.
template <class Call>
berth_status run_short(Call&& call) {
  berth_error error = BERTH_ERROR_INIT;
  const berth_status status = call(&error);
  if (status < 0) raise_error(status, error.object, error.text);
  return status;
}

/// The property `memory_bytes`.
template <class Raw>
void bind_memory(nb::class_<Handle<Raw>>& type, const char* what) {
  type.def_prop_ro(
      "memory_bytes",
      [](const Handle<Raw>& self) {
        const auto raw = self.use();
        std::uint64_t bytes = 0;
        run([&](berth_error* error) { return Kind<Raw>::memory(raw.get(), &bytes, error); });
        return bytes;
      },
      what);
}

}  // namespace berth_python

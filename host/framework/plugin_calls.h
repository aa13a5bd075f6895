// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of plugins, and the statuses that their failures become: docs/behaviour/scheduler-core.md 3.

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "host/framework/plugin.h"
#include "host/framework/status.h"

namespace berth {

/// The text in double quotes.
std::string quoted(std::string_view text);

/// `<doing> "<plugin>": <message>` as an Error of the plugin.
Status wrapped_error(std::string_view doing, std::string_view plugin, const Status& status);
inline Status wrapped_error(std::string_view doing, const Plugin& plugin, const Status& status) {
  return wrapped_error(doing, plugin.name(), status);
}

/// A failure with the plugin's name; a success as it is.
Status named(Status status, const Plugin& plugin);

/// A rejection with the plugin's name; any other failure as wrapped_error().
Status rejected_or_error(std::string_view doing, const Plugin& plugin, Status status);

/// An Error of no plugin.
Status error_status(std::string text);

/// Calls a plugin; `failed` turns an Error with the text of a thrown exception into the result.
template <class Call, class Failed>
auto guarded(Call&& call, Failed&& failed) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return failed(error_status(thrown.what()));
  } catch (...) {
    return failed(error_status("an exception of unknown type"));
  }
}

/// As guarded(), for a call of an engine, which fails as a whole where memory runs out: that is no answer of the
/// plugin.
template <class Call, class Failed>
auto guarded_in_engine(Call&& call, Failed&& failed) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return failed(error_status(thrown.what()));
  } catch (...) {
    return failed(error_status("an exception of unknown type"));
  }
}

/// The same for a plugin that returns a status.
template <class Call>
Status guarded_status_in_engine(Call&& call) {
  return guarded_in_engine(std::forward<Call>(call), [](Status status) { return status; });
}

/// Calls a plugin that returns a status; an exception becomes an Error.
template <class Call>
Status guarded_status(Call&& call) {
  return guarded(std::forward<Call>(call), [](Status status) { return status; });
}

}  // namespace berth

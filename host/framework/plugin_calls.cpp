// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin_calls.h"

namespace berth {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

Status wrapped_error(std::string_view doing, std::string_view plugin, const Status& status) {
  const std::string text = std::string(doing) + " " + quoted(plugin) + ": " + status.message();
  return {StatusCode::kError, std::string(plugin), {text}};
}

Status named(Status status, const Plugin& plugin) {
  if (!status.ok()) status.plugin = plugin.name();
  return status;
}

Status rejected_or_error(std::string_view doing, const Plugin& plugin, Status status) {
  if (status.ok() || is_rejected(status.code)) return named(std::move(status), plugin);
  return wrapped_error(doing, plugin, status);
}

Status error_status(std::string text) { return {StatusCode::kError, "", {std::move(text)}}; }

}  // namespace berth

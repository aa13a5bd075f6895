// SPDX-License-Identifier: Apache-2.0
#include "host/store/store_status.h"

#include <fmt/format.h>

#include <set>

namespace berth {

std::string_view to_string(StoreReason reason) {
  switch (reason) {
    case StoreReason::kSuccess:
      return "";
    case StoreReason::kBadRequest:
      return "BadRequest";
    case StoreReason::kForbidden:
      return "Forbidden";
    case StoreReason::kNotFound:
      return "NotFound";
    case StoreReason::kAlreadyExists:
      return "AlreadyExists";
    case StoreReason::kConflict:
      return "Conflict";
    case StoreReason::kInvalid:
      return "Invalid";
    case StoreReason::kExpired:
      return "Expired";
    case StoreReason::kTimeout:
      return "Timeout";
    case StoreReason::kInternalError:
      return "InternalError";
    case StoreReason::kServiceUnavailable:
      return "ServiceUnavailable";
  }
  return "";
}

StoreStatus not_found(const KindNames& kind, std::string_view name) {
  return {StoreReason::kNotFound, fmt::format("{} \"{}\" not found", kind.resource, name)};
}

StoreStatus already_exists(const KindNames& kind, std::string_view name) {
  return {StoreReason::kAlreadyExists, fmt::format("{} \"{}\" already exists", kind.resource, name)};
}

StoreStatus generated_name_exists(const KindNames& kind, std::string_view name) {
  return {StoreReason::kAlreadyExists,
          fmt::format("{} \"{}\" already exists, the server was not able to generate a unique name for the object",
                      kind.resource, name)};
}

StoreStatus forbidden(const KindNames& kind, std::string_view name, std::string_view why) {
  return {StoreReason::kForbidden, fmt::format("{} \"{}\" is forbidden: {}", kind.resource, name, why)};
}

StoreStatus conflict(std::string_view what, std::string_view name, std::string_view why) {
  return {StoreReason::kConflict, fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", what, name, why)};
}

StoreStatus invalid(std::string_view what, std::string_view name, const std::vector<std::string>& problems) {
  std::string list;
  std::set<std::string_view> seen;  // as utilerrors.Aggregate prints a list: each text once, in brackets when several
  for (const std::string& problem : problems) {
    if (!seen.insert(problem).second) continue;
    if (!list.empty()) list += ", ";
    list += problem;
  }
  if (seen.size() > 1) list = "[" + list + "]";
  return {StoreReason::kInvalid, fmt::format("{} \"{}\" is invalid: {}", what, name, list)};
}

StoreStatus stale_version(const KindNames& kind, std::string_view name) {
  return conflict(kind.resource, name,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

StoreStatus failed_precondition(const KindNames& kind, const ObjectKey& key, std::string_view field,
                                std::string_view wanted, std::string_view stored) {
  const std::string space = key.namespace_.empty() ? "" : fmt::format("{}/", key.namespace_);
  return conflict(kind.resource, key.name,
                  fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}{}, ResourceVersion: 0, "
                              "AdditionalErrorMsg: Precondition failed: {} in precondition: {}, {} in object meta: {}",
                              kind.storage, space, key.name, field, wanted, field, stored));
}

}  // namespace berth

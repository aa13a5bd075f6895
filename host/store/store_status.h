// SPDX-License-Identifier: Apache-2.0
#pragma once

// Why a call of the object store failed: reason and text are those of the API server.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/object_kind.h"

namespace berth {

/// metav1.StatusReason, as far as the store gives them, and kServiceUnavailable, which clients of a real API server
/// get; also where they find nobody to connect to.
enum class StoreReason : std::uint8_t {
  kSuccess,
  kBadRequest,
  kForbidden,
  kNotFound,
  kAlreadyExists,
  kConflict,
  kInvalid,
  kExpired,
  kTimeout,
  kInternalError,
  kServiceUnavailable,
};
/// As the API spells it: "NotFound". Empty for kSuccess.
std::string_view to_string(StoreReason reason);

/// Errors are values: a call that fails has changed nothing.
struct StoreStatus {
  StoreReason reason = StoreReason::kSuccess;
  std::string message;  ///< as the API server words it; empty for kSuccess

  bool is_success() const { return reason == StoreReason::kSuccess; }
};

// The constructors of apimachinery's pkg/api/errors/errors.go.

StoreStatus not_found(const KindNames& kind, std::string_view name);
StoreStatus already_exists(const KindNames& kind, std::string_view name);
StoreStatus generated_name_exists(const KindNames& kind, std::string_view name);
StoreStatus forbidden(const KindNames& kind, std::string_view name, std::string_view why);
/// @param what  the resource ("pods", "pods/binding"), or the kind where upstream names that
StoreStatus conflict(std::string_view what, std::string_view name, std::string_view why);
/// @param what      the kind, as KindNames::kind
/// @param problems  one text per field, at least one: "spec.nodeName: Forbidden: ..."
StoreStatus invalid(std::string_view what, std::string_view name, const std::vector<std::string>& problems);

/// A write names a resourceVersion that is not the newest one.
StoreStatus stale_version(const KindNames& kind, std::string_view name);
/// A write names another uid or resourceVersion than the stored one: storage.Preconditions of apiserver's
/// pkg/storage/interfaces.go, wrapped as etcd's errors are.
/// @param field  "UID" or "ResourceVersion"
StoreStatus failed_precondition(const KindNames& kind, const ObjectKey& key, std::string_view field,
                                std::string_view wanted, std::string_view stored);

}  // namespace berth

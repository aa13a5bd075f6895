// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who may ask what, as k8s.io/apiserver's delegating authorisation decides it: system:masters may all, some paths are
// for everyone, the rest is for a SubjectAccessReview to say; without one, it is refused.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/clock.h"
#include "host/serving/authentication.h"
#include "host/serving/expiring_cache.h"
#include "host/serving/guard.h"
#include "host/serving/review_client.h"

namespace berth {

struct AuthorizationOptions {
  HttpClient* client = nullptr;  ///< of --authorization-kubeconfig; null: what is not always allowed is refused
  std::vector<std::string> always_allowed_paths = {"/healthz", "/readyz", "/livez"};  ///< a "*" at the end: a prefix
  std::int64_t allowed_ttl_us = 10'000'000;
  std::int64_t denied_ttl_us = 10'000'000;
};

struct AccessDecision {
  bool is_allowed = false;
  std::string reason;  ///< of the API server
};

class Authorization {
 public:
  static constexpr std::size_t kDecisionsMax = 8192;
  static constexpr std::size_t kCachedSpecBytesMax = 10'000;  ///< more is asked each time, as upstream

  /// @param clock  outlives this, as the options' client does
  /// @throws std::runtime_error for a path with a "*" that is not its last character
  Authorization(AuthorizationOptions options, const Clock& clock, ReviewClient::Sleep sleep = {});

  /// @param verb  "get"
  /// @throws ReviewProblem when it cannot be found out
  AccessDecision decide(const ServedUser& user, std::string_view verb, const std::string& path);

 private:
  bool is_always_allowed(std::string_view path) const;
  AccessDecision review(const std::string& spec);

  AuthorizationOptions options_;
  const Clock& clock_;
  std::optional<ReviewClient> reviews_;
  ExpiringCache<AccessDecision> decisions_{kDecisionsMax};
};

/// Both, with the answers of an API server: 401 and 403 as metav1.Status, 500 for a review that failed.
class DelegatedAccess : public AccessGuard {
 public:
  /// Both outlive this.
  DelegatedAccess(Authentication& authentication, Authorization& authorization, ServingLog log);
  std::optional<ServedAnswer> check(const RequestIdentity& identity, ServedRequest& request) override;

 private:
  Authentication& authentication_;
  Authorization& authorization_;
  ServingLog log_;
};

}  // namespace berth

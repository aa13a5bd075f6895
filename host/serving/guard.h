// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who may ask.

#include <openssl/x509.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/serving/openssl_owner.h"
#include "host/serving/route.h"

namespace berth {

struct HeaderNameLess {
  bool operator()(std::string_view a, std::string_view b) const;
};
/// Names differ whatever their case.
using RequestHeaders = std::multimap<std::string, std::string, HeaderNameLess>;

/// What a request says of who sends it.
struct RequestIdentity {
  RequestHeaders headers;
  std::vector<CertificateOwner> certificates;  ///< of the client, its own first; not verified
};

/// Says who asks and whether they may. Called on any thread, several at once; may wait for an API server.
class AccessGuard {
 public:
  virtual ~AccessGuard() = default;
  /// @param request  its user is set
  /// @return nothing where the request may be answered, else the answer instead
  virtual std::optional<ServedAnswer> check(const RequestIdentity& identity, ServedRequest& request) = 0;
};

}  // namespace berth

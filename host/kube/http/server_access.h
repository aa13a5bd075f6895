// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where an API server is, and who asks.

#include <memory>
#include <string>

namespace berth {

/// Who asks. PEM texts, not file names.
struct ClientIdentity {
  std::string authorization = {};    ///< value of the header: "Bearer ..."; empty: none
  std::string certificate_pem = {};  ///< with its chain; empty: none
  std::string key_pem = {};
  friend bool operator==(const ClientIdentity&, const ClientIdentity&) = default;
};

/// Gives the identity of each request. Called on one thread.
class Credentials {
 public:
  virtual ~Credentials() = default;
  /// As it is now: a token file may have been replaced, an exec plugin may give another one. Called before each
  /// request, so it is quick but for the first call and where a plugin has to be run.
  /// @throws std::runtime_error saying why there is none
  virtual ClientIdentity current() = 0;
  /// The server refused the identity with 401: it is read again before the next request.
  virtual void note_unauthorized() = 0;
};

struct ServerAccess {
  std::string url;          ///< "https://10.0.0.1:6443", with a path where the file has one; no slash at the end
  std::string ca_pem = {};  ///< empty: the system's
  bool skips_verification = false;           ///< insecure-skip-tls-verify
  std::string server_name = {};              ///< tls-server-name; empty: that of the URL
  std::string proxy_url = {};                ///< empty: as the environment says
  std::shared_ptr<Credentials> credentials;  ///< never null
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who asks, as k8s.io/apiserver's delegating authentication finds it: the headers of a trusted proxy, then the client's
// certificate, then its bearer token by TokenReview, else anonymous.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/serving/expiring_cache.h"
#include "host/serving/guard.h"
#include "host/serving/review_client.h"

namespace berth {

/// What is believed of a front proxy: the flags --requestheader-*.
struct RequestHeaderOptions {
  std::string ca_file;
  std::vector<std::string> username_headers = {"x-remote-user"};
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers = {"x-remote-group"};
  std::vector<std::string> extra_header_prefixes = {"x-remote-extra-"};
  std::vector<std::string> allowed_names;  ///< common names; empty: any
};

struct AuthenticationOptions {
  HttpClient* client = nullptr;  ///< of --authentication-kubeconfig; null: tokens are not looked at
  std::string client_ca_file;
  RequestHeaderOptions request_header;
  bool skips_lookup = false;
  bool tolerates_lookup_failure = true;
  std::int64_t token_ttl_us = 10'000'000;

  /// Whether a server should ask for client certificates at all.
  bool wants_certificates() const {
    return !client_ca_file.empty() || !request_header.ca_file.empty() || (client != nullptr && !skips_lookup);
  }
};

/// Certificates that are trusted for clients, from a PEM text.
class ClientCa {
 public:
  /// @throws std::runtime_error when there is none in it
  explicit ClientCa(const std::string& pem);
  /// @return empty where `chain` leads to one of them, for a client, now; else why not
  std::string problem_of(const std::vector<CertificateOwner>& chain) const;

 private:
  StoreOwner store_;
};

/// The user that a verified certificate names. @return nothing where it names none
std::optional<ServedUser> user_of_certificate(X509* certificate);

class Authentication {
 public:
  static constexpr std::size_t kTokensMax = 4096;
  static constexpr const char* kConfigMapPath =
      "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

  /// @param clock  outlives this, as the options' client does
  /// @throws std::runtime_error for a file that cannot be used
  Authentication(AuthenticationOptions options, const Clock& clock, ServingLog log, ReviewClient::Sleep sleep = {});

  /// Reads the config map, where that is asked for; before serving, where a failure is not tolerated. Without this call
  /// the first request with a certificate reads it, and such requests read it again once a minute.
  /// @throws std::runtime_error when it cannot be read and that is not tolerated
  void look_up();
  /// @return the user; nothing for credentials that do not hold (401)
  std::optional<ServedUser> user_of(const RequestIdentity& identity);

 private:
  /// Nothing of one kind, or it does not hold, or a user.
  struct Found {
    std::optional<ServedUser> user;
    std::string problem;
  };
  struct Trust {
    std::shared_ptr<const ClientCa> client_ca, proxy_ca;
    RequestHeaderOptions headers;
  };
  struct TokenAnswer {
    std::optional<ServedUser> user;
  };

  Trust trust();
  void read_files();
  bool read_config_map();  ///< @return false when it could not be read; what was there stays
  Found by_headers(const RequestIdentity& identity, const Trust& trust) const;
  Found by_certificate(const RequestIdentity& identity, const Trust& trust) const;
  Found by_token(const RequestIdentity& identity);
  TokenAnswer review(const std::string& token);
  bool looks_up() const;

  AuthenticationOptions options_;
  const Clock& clock_;
  ServingLog log_;
  std::optional<ReviewClient> reviews_;
  std::string token_key_;  ///< random: keys of the cache are hashes, so that no token is kept
  ExpiringCache<TokenAnswer> tokens_{kTokensMax};
  std::mutex mutex_;  ///< of what follows; not held while an API server is asked
  Trust trust_;
  std::int64_t next_look_us_ = 0;
};

}  // namespace berth

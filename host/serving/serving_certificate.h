// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the server shows of itself: certificate, key, TLS versions and ciphers.

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/serving/named_certificates.h"
#include "host/serving/route.h"

namespace berth {

struct CertificatePem {
  std::string certificate;  ///< with its chain, the leaf first
  std::string key;
};

/// A certificate for "localhost" and 127.0.0.1, signed by its own key, for a year.
/// @throws std::runtime_error when OpenSSL refuses
CertificatePem self_signed_certificate();

struct TlsOptions {
  std::string certificate_file;            ///< empty: a self-signed certificate
  std::string key_file;                    ///< with certificate_file
  std::string directory;                   ///< without certificate_file: keeps kube-scheduler.crt and .key there
  std::string min_version;                 ///< as Go names it: "VersionTLS12"; empty: that
  std::vector<std::string> cipher_suites;  ///< Go's names, of TLS 1.2; empty: OpenSSL's choice
  bool asks_for_client_certificate = false;
  std::vector<CertificateForNames> by_name = {};  ///< for clients that ask for these names
};

/// @return the names of the ciphers that can be asked for, as Go has them
std::vector<std::string> tls_cipher_names();

/// Gives the context of each new connection. Files that have changed are read again; where they cannot be used, the log
/// says so and the last certificate stays.
class ServingCertificate {
 public:
  /// @param clock, log  outlive this
  /// @throws std::runtime_error naming the option or the file that cannot be used
  ServingCertificate(TlsOptions options, const Clock& clock, const ServingLog& log);
  /// On any thread. Looks at the files once a second at most.
  std::shared_ptr<SSL_CTX> current();

 private:
  struct Stamp {
    std::int64_t inode = 0, size = 0, modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stamp_of(const std::string& path);
  std::vector<Stamp> stamps() const;
  std::shared_ptr<const NamedContexts> make_contexts() const;
  std::shared_ptr<SSL_CTX> context_of(const CertificatePem& pem) const;
  void keep_in_directory();

  TlsOptions options_;
  CertificatePem self_signed_;  ///< where no file is given
  const Clock& clock_;
  const ServingLog& log_;
  std::mutex mutex_;  ///< of what follows
  std::shared_ptr<const NamedContexts> contexts_;
  std::vector<Stamp> stamps_;
  std::int64_t looked_us_ = 0;
};

}  // namespace berth

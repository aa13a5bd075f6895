// SPDX-License-Identifier: Apache-2.0
#pragma once

// Certificates by the name that a client asks for (SNI), as k8s.io/apiserver pkg/server/dynamiccertificates chooses
// them.

#include <openssl/ssl.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// --tls-sni-cert-key: "CERT,KEY" or "CERT,KEY:NAME,NAME".
struct CertificateForNames {
  std::string certificate_file;
  std::string key_file;
  std::vector<std::string> names;  ///< empty: those of the certificate
  friend bool operator==(const CertificateForNames&, const CertificateForNames&) = default;
};

/// @return what was expected; empty: `out` is read
std::string read_certificate_for_names(std::string_view text, CertificateForNames& out);

/// The names of a certificate: its common name where that can be a domain, and its DNS names; addresses are not.
std::vector<std::string> names_of(X509* certificate);

/// The contexts of a server: one for everybody, and those of names.
struct NamedContexts {
  std::shared_ptr<SSL_CTX> fallback;
  std::map<std::string, std::shared_ptr<SSL_CTX>, std::less<>> by_name;

  /// The context of a name that a client sent, or of the address that it has reached; null: none has it.
  SSL_CTX* find(std::string_view name) const;
};

/// Names that the option gives win over those of certificates, and of equal ones the first certificate's.
/// @param contexts  one for each certificate, in the same order
void add_names(const std::vector<CertificateForNames>& certificates,
               const std::vector<std::shared_ptr<SSL_CTX>>& contexts, NamedContexts& all);

/// Makes the fallback's connections take the context of the name that the client asks for.
/// @param contexts  outlive the connections of the fallback
void choose_by_name(const NamedContexts& contexts);

}  // namespace berth

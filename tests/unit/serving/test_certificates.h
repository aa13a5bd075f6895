// SPDX-License-Identifier: Apache-2.0
#pragma once

// Certificates made for a test.

#include <string>
#include <vector>

#include "host/serving/openssl_owner.h"

namespace berth::test {

/// An authority and what it signs.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  std::string pem() const;

  struct Client {
    CertificateOwner certificate;
    KeyOwner key;
    std::vector<CertificateOwner> chain() const;  ///< as a server sees it
  };
  /// @param days_left  negative: it has expired
  Client client(const std::string& common_name, const std::vector<std::string>& organizations, int days_left = 1,
                const char* usage = "clientAuth") const;

 private:
  CertificateOwner certificate_;
  KeyOwner key_;
};

}  // namespace berth::test

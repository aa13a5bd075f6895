// SPDX-License-Identifier: Apache-2.0
#pragma once

// Owners of OpenSSL's objects.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace berth {

template <auto Free>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioOwner = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using KeyOwner = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using CertificateOwner = std::unique_ptr<X509, OpensslFree<X509_free>>;
using StoreOwner = std::unique_ptr<X509_STORE, OpensslFree<X509_STORE_free>>;
using SslOwner = std::unique_ptr<SSL, OpensslFree<SSL_free>>;

/// The first error of the calling thread's queue, in words; empties the queue.
std::string openssl_problem();

}  // namespace berth

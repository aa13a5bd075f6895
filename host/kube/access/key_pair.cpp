// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/key_pair.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <limits>
#include <memory>

namespace berth {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// Without it OpenSSL would ask the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*context*/) { return 0; }

Owned<BIO> reader_of(const std::string& text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return nullptr;
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string find_problem(const std::string& certificate_pem, const std::string& key_pem) {
  const Owned<BIO> certificate_reader = reader_of(certificate_pem);
  const Owned<BIO> key_reader = reader_of(key_pem);
  if (!certificate_reader || !key_reader) return "the client certificate or key cannot be read";
  const Owned<X509> certificate(PEM_read_bio_X509(certificate_reader.get(), nullptr, no_password, nullptr));
  if (!certificate) return "the client certificate cannot be read, expected PEM certificates";
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_reader.get(), nullptr, no_password, nullptr));
  if (!key) return "the client key cannot be read, expected a PEM private key that is not encrypted";
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return {};
  return "the client certificate and key do not belong together";
}

}  // namespace

std::string problem_of_key_pair(const std::string& certificate_pem, const std::string& key_pem) {
  std::string problem = find_problem(certificate_pem, key_pem);
  ERR_clear_error();  // the thread's next user of OpenSSL would take it for its own
  return problem;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
// Client certificates: whether one is trusted, and whom it names.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "host/serving/authentication.h"

namespace berth {
namespace {

constexpr const char* kCredentialIdKey = "authentication.kubernetes.io/credential-id";
constexpr const char* kUidOid = "1.3.6.1.4.1.57683.2";  // asn1.X509UID()

std::string utf8_of(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) return {};
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

std::vector<std::string> entries_of(const X509_NAME* name, const ASN1_OBJECT* object) {
  std::vector<std::string> texts;
  for (int at = -1; (at = X509_NAME_get_index_by_OBJ(name, object, at)) >= 0;)
    texts.push_back(utf8_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  return texts;
}

std::string hex_of(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace

ClientCa::ClientCa(const std::string& pem) : store_(X509_STORE_new()) {
  const BioOwner text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::size_t count = 0;
  while (X509* const read = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    const CertificateOwner certificate(read);
    if (X509_STORE_add_cert(store_.get(), certificate.get()) == 1) ++count;
  }
  ERR_clear_error();
  if (count == 0) throw std::runtime_error("there is no certificate in it");
}

std::string ClientCa::problem_of(const std::vector<CertificateOwner>& chain) const {
  if (chain.empty()) return "there is no certificate";
  const std::unique_ptr<X509_STORE_CTX, OpensslFree<X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  STACK_OF(X509)* const others = sk_X509_new_null();
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(others, chain[i].get());
  std::string problem;
  if (X509_STORE_CTX_init(check.get(), store_.get(), chain.front().get(), others) != 1) {
    problem = openssl_problem();
  } else {
    X509_STORE_CTX_set_purpose(check.get(), X509_PURPOSE_SSL_CLIENT);
    // As Go: whoever stands in the bundle is trusted, whether or not it signed itself.
    X509_STORE_CTX_set_flags(check.get(), X509_V_FLAG_PARTIAL_CHAIN);
    if (X509_verify_cert(check.get()) != 1)
      problem = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
  }
  sk_X509_free(others);
  ERR_clear_error();
  return problem;
}

std::optional<ServedUser> user_of_certificate(X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  // Go takes the last common name.
  const std::vector<std::string> names = entries_of(subject, OBJ_nid2obj(NID_commonName));
  if (names.empty() || names.back().empty()) return std::nullopt;
  const std::unique_ptr<ASN1_OBJECT, OpensslFree<ASN1_OBJECT_free>> uid_object(OBJ_txt2obj(kUidOid, 1));
  const std::vector<std::string> uids = entries_of(subject, uid_object.get());
  if (uids.size() > 1 || (uids.size() == 1 && uids.front().empty())) return std::nullopt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return std::nullopt;
  return ServedUser{names.back(),
                    uids.empty() ? std::string() : uids.front(),
                    entries_of(subject, OBJ_nid2obj(NID_organizationName)),
                    {{kCredentialIdKey, {"X509SHA256=" + hex_of(digest.data(), size)}}}};
}

}  // namespace berth

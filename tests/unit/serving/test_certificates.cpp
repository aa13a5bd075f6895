// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/serving/test_certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace berth::test {
namespace {

void add(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                             0);
}

void extend(X509* certificate, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

CertificateOwner unsigned_certificate(EVP_PKEY* key, int days_left) {
  constexpr long kDay = 86'400;
  CertificateOwner certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -10 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), days_left * kDay);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) : key_(EVP_EC_gen("P-256")) {
  certificate_ = unsigned_certificate(key_.get(), 10);
  add(X509_get_subject_name(certificate_.get()), "CN", name);
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_.get(), key_.get(), EVP_sha256());
}

std::string TestAuthority::pem() const {
  const BioOwner text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(text.get(), certificate_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

TestAuthority::Client TestAuthority::client(const std::string& common_name,
                                            const std::vector<std::string>& organizations, int days_left,
                                            const char* usage) const {
  Client client;
  client.key.reset(EVP_EC_gen("P-256"));
  client.certificate = unsigned_certificate(client.key.get(), days_left);
  X509_NAME* const subject = X509_get_subject_name(client.certificate.get());
  for (const std::string& organization : organizations) add(subject, "O", organization);
  add(subject, "CN", common_name);
  X509_set_issuer_name(client.certificate.get(), X509_get_subject_name(certificate_.get()));
  extend(client.certificate.get(), NID_ext_key_usage, usage);
  X509_sign(client.certificate.get(), key_.get(), EVP_sha256());
  return client;
}

std::vector<CertificateOwner> TestAuthority::Client::chain() const {
  std::vector<CertificateOwner> list;
  X509_up_ref(certificate.get());
  list.emplace_back(certificate.get());
  return list;
}

}  // namespace berth::test

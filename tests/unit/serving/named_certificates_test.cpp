// SPDX-License-Identifier: Apache-2.0
#include "host/serving/named_certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/serving/openssl_owner.h"
#include "host/serving/serving_certificate.h"

namespace berth::test {
namespace {

std::string serial_of(const X509* certificate) {
  const ASN1_INTEGER* const serial = X509_get0_serialNumber(certificate);
  return {reinterpret_cast<const char*>(serial->data), static_cast<std::size_t>(serial->length)};
}

class NamedCertificatesTest : public testing::Test {
 protected:
  NamedCertificatesTest() {
    folder_ = std::filesystem::temp_directory_path() / ("berth_named_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~NamedCertificatesTest() override { std::filesystem::remove_all(folder_); }

  /// A new pair in files. @return its serial number
  std::string add(const std::string& stem, const std::vector<std::string>& names) {
    const std::string path = (folder_ / stem).string();
    const CertificatePem pem = self_signed_certificate();
    std::ofstream(path + ".crt") << pem.certificate;
    std::ofstream(path + ".key") << pem.key;
    options_.by_name.push_back({path + ".crt", path + ".key", names});
    const BioOwner text(BIO_new_mem_buf(pem.certificate.data(), static_cast<int>(pem.certificate.size())));
    return serial_of(CertificateOwner(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)).get());
  }
  /// The serial number of what a client is shown. @param name  empty: it asks for none
  static std::string shown(ServingCertificate& server, const std::string& name) {
    const std::shared_ptr<SSL_CTX> context = server.current();
    const std::shared_ptr<SSL_CTX> client_context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    const SslOwner ours(SSL_new(context.get()));
    const SslOwner theirs(SSL_new(client_context.get()));
    BIO* near_end = nullptr;
    BIO* far_end = nullptr;
    if (BIO_new_bio_pair(&near_end, 0, &far_end, 0) != 1) throw std::runtime_error("no pair");
    SSL_set_bio(ours.get(), near_end, near_end);
    SSL_set_bio(theirs.get(), far_end, far_end);
    SSL_set_accept_state(ours.get());
    SSL_set_connect_state(theirs.get());
    if (!name.empty()) SSL_set_tlsext_host_name(theirs.get(), name.c_str());
    for (int i = 0; i < 10; ++i) SSL_do_handshake(theirs.get()), SSL_do_handshake(ours.get());
    const X509* const certificate = SSL_get0_peer_certificate(theirs.get());
    return certificate == nullptr ? "no handshake" : serial_of(certificate);
  }

  std::filesystem::path folder_;
  TlsOptions options_;
  VirtualClock clock_;
  std::string logged_;
  ServingLog log_ = [this](const std::string& text) { logged_ += text; };
};

TEST_F(NamedCertificatesTest, AFlagNamesFilesAndNames) {
  CertificateForNames read;
  EXPECT_EQ(read_certificate_for_names("a.crt,a.key", read), "");
  EXPECT_EQ(read, (CertificateForNames{"a.crt", "a.key", {}}));
  EXPECT_EQ(read_certificate_for_names(" a.crt , a.key : one, two ", read), "");
  EXPECT_EQ(read, (CertificateForNames{"a.crt", "a.key", {"one", "two"}}));
  EXPECT_NE(read_certificate_for_names("a.crt", read), "");
  EXPECT_NE(read_certificate_for_names("a,b,c", read), "");
  EXPECT_NE(read_certificate_for_names("a,b: ", read), "");
}

TEST_F(NamedCertificatesTest, AClientIsShownTheCertificateOfTheNameThatItAsksFor) {
  const std::string one = add("one", {"one.example.com"});
  const std::string wide = add("wide", {"*.example.com", "one.example.com"});
  const std::string own = add("own", {});  // of its own name, localhost
  ServingCertificate server(options_, clock_, log_);
  EXPECT_EQ(shown(server, "one.example.com"), one) << "the first certificate of a name";
  EXPECT_EQ(shown(server, "ONE.example.com"), one);
  EXPECT_EQ(shown(server, "two.example.com"), wide);
  EXPECT_EQ(shown(server, "localhost"), own);
  for (const char* other : {"", "example.com", "a.two.example.com", "elsewhere"}) {
    const std::string fallback = shown(server, other);
    EXPECT_TRUE(fallback != one && fallback != wide && fallback != own && fallback != "no handshake") << other;
  }
}

TEST_F(NamedCertificatesTest, NamesOfTheFlagWinOverThoseOfCertificates) {
  add("own", {});
  const std::string given = add("given", {"localhost"});
  ServingCertificate server(options_, clock_, log_);
  EXPECT_EQ(shown(server, "localhost"), given);
}

TEST_F(NamedCertificatesTest, ChangedFilesAreReadAgainAndConnectionsKeepTheirs) {
  const std::string before = add("one", {"one"});
  ServingCertificate server(options_, clock_, log_);
  EXPECT_EQ(shown(server, "one"), before);
  const std::shared_ptr<SSL_CTX> kept = server.current();
  options_.by_name.clear();
  const std::string after = add("one", {"one"});
  clock_.advance_by(1'000'000);
  EXPECT_EQ(shown(server, "one"), after) << logged_;
  EXPECT_NE(kept, server.current());
}

TEST_F(NamedCertificatesTest, FilesThatCannotBeUsedAreRefusedByTheFlag) {
  options_.by_name = {{(folder_ / "no.crt").string(), (folder_ / "no.key").string(), {}}};
  try {
    ServingCertificate server(options_, clock_, log_);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("--tls-sni-cert-key"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace berth::test

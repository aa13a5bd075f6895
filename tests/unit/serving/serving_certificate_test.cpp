// SPDX-License-Identifier: Apache-2.0
#include "host/serving/serving_certificate.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "host/serving/openssl_owner.h"

namespace berth::test {
namespace {

class ServingCertificateTest : public testing::Test {
 protected:
  ServingCertificateTest() {
    folder_ = std::filesystem::temp_directory_path() / ("berth_serving_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    options_.certificate_file = folder_ / "tls.crt";
    options_.key_file = folder_ / "tls.key";
  }
  ~ServingCertificateTest() override { std::filesystem::remove_all(folder_); }

  void write(const CertificatePem& pem) const {
    std::ofstream(options_.certificate_file) << pem.certificate;
    std::ofstream(options_.key_file) << pem.key;
  }

  static std::string serial_of(const std::shared_ptr<SSL_CTX>& context) {
    const ASN1_INTEGER* const serial = X509_get0_serialNumber(SSL_CTX_get0_certificate(context.get()));
    return {reinterpret_cast<const char*>(serial->data), static_cast<std::size_t>(serial->length)};
  }

  std::string problem(const TlsOptions& options) {
    try {
      ServingCertificate made(options, clock_, log_);
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  std::filesystem::path folder_;
  TlsOptions options_;
  VirtualClock clock_;
  std::string logged_;
  ServingLog log_ = [this](const std::string& text) { logged_ += text + "\n"; };
};

TEST_F(ServingCertificateTest, TheSelfSignedOneIsForLocalhost) {
  ServingCertificate certificate({}, clock_, log_);
  X509* const shown = SSL_CTX_get0_certificate(certificate.current().get());
  EXPECT_EQ(X509_check_host(shown, "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(shown, "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_host(shown, "example.com", 0, 0, nullptr), 0);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(certificate.current().get()), TLS1_2_VERSION);
}

TEST_F(ServingCertificateTest, ChangedFilesAreReadAgain) {
  write(self_signed_certificate());
  ServingCertificate certificate(options_, clock_, log_);
  const std::string first = serial_of(certificate.current());
  write(self_signed_certificate());
  EXPECT_EQ(serial_of(certificate.current()), first);  // not looked at yet
  clock_.advance_by(1'000'000);
  EXPECT_NE(serial_of(certificate.current()), first);
}

TEST_F(ServingCertificateTest, FilesThatCannotBeUsedLeaveTheLastCertificateAndAreLogged) {
  write(self_signed_certificate());
  ServingCertificate certificate(options_, clock_, log_);
  const std::string first = serial_of(certificate.current());
  write({self_signed_certificate().certificate, self_signed_certificate().key});  // the key of another one
  clock_.advance_by(1'000'000);
  EXPECT_EQ(serial_of(certificate.current()), first);
  EXPECT_NE(logged_.find("the last one stays"), std::string::npos) << logged_;
  write(self_signed_certificate());
  clock_.advance_by(1'000'000);
  EXPECT_NE(serial_of(certificate.current()), first);
}

TEST_F(ServingCertificateTest, WhatCannotBeUsedIsRefusedByItsName) {
  EXPECT_NE(problem(options_).find("tls.crt"), std::string::npos);
  TlsOptions half = options_;
  half.key_file.clear();
  EXPECT_NE(problem(half).find("--tls-private-key-file"), std::string::npos);
  TlsOptions old;
  old.min_version = "VersionTLS11";
  EXPECT_NE(problem(old).find("--tls-min-version"), std::string::npos);
  TlsOptions unknown;
  unknown.cipher_suites = {"TLS_RSA_WITH_RC4_128_SHA"};
  EXPECT_NE(problem(unknown).find("TLS_RSA_WITH_RC4_128_SHA"), std::string::npos);
}

TEST_F(ServingCertificateTest, VersionsAndCiphersAreThoseThatWereAskedFor) {
  TlsOptions options;
  options.min_version = "VersionTLS13";
  ServingCertificate newer(options, clock_, log_);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(newer.current().get()), TLS1_3_VERSION);
  for (const std::string& name : tls_cipher_names()) {
    TlsOptions one;
    one.cipher_suites = {name};
    EXPECT_EQ(problem(one), "") << name;
  }
}

TEST_F(ServingCertificateTest, ADirectoryKeepsTheCertificate) {
  TlsOptions options;
  options.directory = folder_ / "kept";
  ServingCertificate first(options, clock_, log_);
  ServingCertificate second(options, clock_, log_);
  EXPECT_EQ(serial_of(first.current()), serial_of(second.current()));
  struct stat facts{};
  ASSERT_EQ(::stat((folder_ / "kept/kube-scheduler.key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace berth::test

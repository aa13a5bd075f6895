// SPDX-License-Identifier: Apache-2.0
#include "host/serving/serving_certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "host/config/config_reader.h"
#include "host/serving/openssl_owner.h"

namespace berth {
namespace {

struct CipherName {
  std::string_view go;
  const char* openssl;  ///< null: of TLS 1.3, which is always on and cannot be chosen from, as in Go
};
/// What cliflag.PreferredTLSCipherNames() has, and the insecure ones that OpenSSL 3 still offers.
constexpr std::array kCiphers = {
    CipherName{"TLS_AES_128_GCM_SHA256", nullptr},
    CipherName{"TLS_AES_256_GCM_SHA384", nullptr},
    CipherName{"TLS_CHACHA20_POLY1305_SHA256", nullptr},
    CipherName{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    CipherName{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    CipherName{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    CipherName{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    CipherName{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    CipherName{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    CipherName{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    CipherName{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    CipherName{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    CipherName{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    CipherName{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    CipherName{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    CipherName{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"},
    CipherName{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"},
    CipherName{"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"},
    CipherName{"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"},
    CipherName{"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"},
    CipherName{"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"},
    CipherName{"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"},
};

/// @throws std::runtime_error
std::string openssl_cipher_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    const auto* const found =
        std::find_if(kCiphers.begin(), kCiphers.end(), [&](const CipherName& cipher) { return cipher.go == name; });
    if (found == kCiphers.end())
      throw std::runtime_error("--tls-cipher-suites: " + quoted_for_message(name) + " is no cipher that is offered");
    if (found->openssl == nullptr) continue;
    list += (list.empty() ? "" : ":") + std::string(found->openssl);
  }
  return list;
}

/// @throws std::runtime_error. What is below TLS 1.2 is not spoken.
int protocol_of(const std::string& version) {
  if (version.empty() || version == "VersionTLS12") return TLS1_2_VERSION;
  if (version == "VersionTLS13") return TLS1_3_VERSION;
  const bool is_old = version == "VersionTLS10" || version == "VersionTLS11";
  throw std::runtime_error("--tls-min-version: got " + quoted_for_message(version) +
                           ", expected VersionTLS12 or VersionTLS13" +
                           (is_old ? "; older versions are not spoken" : ""));
}

/// @throws std::runtime_error
std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw std::runtime_error("cannot read " + quoted_for_message(path));
  return text;
}

BioOwner memory_of(std::string_view text) {
  return BioOwner(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

void require(bool is_done, std::string_view what) {
  if (!is_done) throw std::runtime_error(fmt::format("{}: {}", what, openssl_problem()));
}

void add_extension(X509* certificate, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "cannot make a certificate");
}

/// Only its owner reads a key.
void write_file(const std::string& path, const std::string& text, bool is_key) {
  namespace fs = std::filesystem;
  std::error_code problem;
  fs::create_directories(fs::path(path).parent_path(), problem);
  const mode_t old_mask = ::umask(is_key ? 0077 : 0022);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  ::umask(old_mask);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + quoted_for_message(path));
}

}  // namespace

std::string openssl_problem() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

CertificatePem self_signed_certificate() {
  constexpr long kYearSeconds = 365L * 24 * 3600;
  const KeyOwner key(EVP_EC_gen("P-256"));
  require(key != nullptr, "cannot make a key");
  const CertificateOwner certificate(X509_new());
  require(certificate != nullptr, "cannot make a certificate");
  X509* const x = certificate.get();
  X509_set_version(x, 2);
  const std::unique_ptr<BIGNUM, OpensslFree<BN_free>> serial(BN_new());
  require(serial && BN_rand(serial.get(), 120, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(x)) != nullptr,
          "cannot number a certificate");
  X509_gmtime_adj(X509_getm_notBefore(x), -3600);  // clocks differ
  X509_gmtime_adj(X509_getm_notAfter(x), kYearSeconds);
  X509_NAME* const name = X509_get_subject_name(x);
  const auto* const common_name = reinterpret_cast<const unsigned char*>("localhost");
  require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1 &&
              X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key.get()) == 1,
          "cannot name a certificate");
  add_extension(x, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(x, NID_key_usage, "critical,digitalSignature,keyCertSign");
  add_extension(x, NID_ext_key_usage, "serverAuth");
  add_extension(x, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  require(X509_sign(x, key.get(), EVP_sha256()) != 0, "cannot sign a certificate");
  const BioOwner certificate_text(BIO_new(BIO_s_mem()));
  const BioOwner key_text(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(certificate_text.get(), x) == 1 &&
              PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "cannot write a certificate");
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

std::vector<std::string> tls_cipher_names() {
  std::vector<std::string> names;
  names.reserve(kCiphers.size());
  for (const CipherName& cipher : kCiphers) names.emplace_back(cipher.go);
  return names;
}

ServingCertificate::ServingCertificate(TlsOptions options, const Clock& clock, const ServingLog& log)
    : options_(std::move(options)), clock_(clock), log_(log) {
  if (options_.certificate_file.empty() != options_.key_file.empty())
    throw std::runtime_error("--tls-cert-file and --tls-private-key-file: one was given without the other");
  if (options_.certificate_file.empty() && !options_.directory.empty()) keep_in_directory();
  looked_us_ = clock_.now_us();
  if (options_.certificate_file.empty()) self_signed_ = self_signed_certificate();
  stamps_ = stamps();
  contexts_ = make_contexts();
}

void ServingCertificate::keep_in_directory() {
  const std::string stem = options_.directory + "/kube-scheduler";
  options_.certificate_file = stem + ".crt";
  options_.key_file = stem + ".key";
  if (std::filesystem::exists(options_.certificate_file) && std::filesystem::exists(options_.key_file)) return;
  const CertificatePem pem = self_signed_certificate();
  write_file(options_.certificate_file, pem.certificate, false);
  write_file(options_.key_file, pem.key, true);
}

ServingCertificate::Stamp ServingCertificate::stamp_of(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {static_cast<std::int64_t>(facts.st_ino), facts.st_size,
          std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

std::vector<ServingCertificate::Stamp> ServingCertificate::stamps() const {
  std::vector<Stamp> all = {stamp_of(options_.certificate_file), stamp_of(options_.key_file)};
  for (const CertificateForNames& named : options_.by_name) {
    all.push_back(stamp_of(named.certificate_file));
    all.push_back(stamp_of(named.key_file));
  }
  return all;
}

std::shared_ptr<const NamedContexts> ServingCertificate::make_contexts() const {
  const auto from_files = [this](const std::string& certificate, const std::string& key) {
    return context_of({text_of_file(certificate), text_of_file(key)});
  };
  const auto made = std::make_shared<NamedContexts>();
  made->fallback = options_.certificate_file.empty() ? context_of(self_signed_)
                                                     : from_files(options_.certificate_file, options_.key_file);
  if (options_.by_name.empty()) return made;
  std::vector<std::shared_ptr<SSL_CTX>> contexts;
  for (const CertificateForNames& named : options_.by_name) {
    try {
      contexts.push_back(from_files(named.certificate_file, named.key_file));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(
          fmt::format("--tls-sni-cert-key: {}: {}", quoted_for_message(named.certificate_file), error.what()));
    }
  }
  add_names(options_.by_name, contexts, *made);
  choose_by_name(*made);
  return made;
}

std::shared_ptr<SSL_CTX> ServingCertificate::context_of(const CertificatePem& pem) const {
  ERR_clear_error();
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  require(context != nullptr, "cannot start TLS");
  SSL_CTX* const tls = context.get();
  require(SSL_CTX_set_min_proto_version(tls, protocol_of(options_.min_version)) == 1, "--tls-min-version");
  // Go has neither; a client that renegotiates costs more than it should.
  SSL_CTX_set_options(tls, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  const std::string ciphers = openssl_cipher_list(options_.cipher_suites);
  if (!ciphers.empty()) require(SSL_CTX_set_cipher_list(tls, ciphers.c_str()) == 1, "--tls-cipher-suites");
  if (options_.asks_for_client_certificate) {
    // As tls.RequestClientCert: whether it counts is found when a request is authenticated.
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    const unsigned char name[] = "berth";
    SSL_CTX_set_session_id_context(tls, name, sizeof(name) - 1);
  }
  const BioOwner chain = memory_of(pem.certificate);
  const CertificateOwner leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  require(leaf && SSL_CTX_use_certificate(tls, leaf.get()) == 1, "the certificate cannot be used");
  while (X509* const more = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(tls, more) != 1) X509_free(more);
  }
  ERR_clear_error();  // the end of the text
  const BioOwner key_text = memory_of(pem.key);
  const KeyOwner key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  require(key && SSL_CTX_use_PrivateKey(tls, key.get()) == 1 && SSL_CTX_check_private_key(tls) == 1,
          "the key does not belong to the certificate");
  return context;
}

std::shared_ptr<SSL_CTX> ServingCertificate::current() {
  constexpr std::int64_t kLookEveryUs = 1'000'000;
  const std::lock_guard<std::mutex> lock(mutex_);
  // Who has the fallback keeps the others alive: its connections may choose them.
  const auto now = [this] { return std::shared_ptr<SSL_CTX>(contexts_, contexts_->fallback.get()); };
  const std::int64_t now_us = clock_.now_us();
  const bool has_files = !options_.certificate_file.empty() || !options_.by_name.empty();
  if (!has_files || now_us - looked_us_ < kLookEveryUs) return now();
  looked_us_ = now_us;
  const std::vector<Stamp> found = stamps();
  if (found == stamps_) return now();
  stamps_ = found;
  try {
    contexts_ = make_contexts();
    log_("the serving certificate was read again");
  } catch (const std::bad_alloc&) {
    stamps_.clear();  // tried again
  } catch (const std::exception& error) {
    log_(fmt::format("the serving certificate has changed and cannot be used, the last one stays: {}", error.what()));
  }
  return now();
}

}  // namespace berth

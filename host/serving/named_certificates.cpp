// SPDX-License-Identifier: Apache-2.0
#include "host/serving/named_certificates.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

#include "host/objects/selectors.h"

namespace berth {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

bool is_address(const std::string& text) {
  in6_addr bytes{};
  return ::inet_pton(AF_INET, text.c_str(), &bytes) == 1 || ::inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

bool is_domain(std::string_view text) {
  if (text == "*") return true;
  if (text.starts_with("*.")) text.remove_prefix(2);
  return is_dns_subdomain(text);
}

std::string text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::string common_name_of(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0 ? std::string() : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

/// The address that the client has reached; empty where there is none.
std::string local_address(const SSL* ssl) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(SSL_get_fd(ssl), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  int family = address.ss_family;
  if (family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else if (family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&six) != 0;
    family = is_mapped ? AF_INET : AF_INET6;
    bytes = is_mapped ? six.s6_addr + 12 : six.s6_addr;
  }
  if (bytes == nullptr || ::inet_ntop(family, bytes, text.data(), text.size()) == nullptr) return {};
  return text.data();
}

/// OpenSSL calls it for each connection; nothing may be thrown through it.
int choose(SSL* ssl, int*, void* given) noexcept {
  try {
    const auto& contexts = *static_cast<const NamedContexts*>(given);
    const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    SSL_CTX* const chosen = contexts.find(name != nullptr && *name != 0 ? std::string(name) : local_address(ssl));
    if (chosen != nullptr && SSL_set_SSL_CTX(ssl, chosen) == nullptr) return SSL_TLSEXT_ERR_ALERT_FATAL;
    return SSL_TLSEXT_ERR_OK;
  } catch (...) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;  // memory ran out: this connection ends
  }
}

}  // namespace

std::string read_certificate_for_names(std::string_view text, CertificateForNames& out) {
  CertificateForNames read;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view names = trimmed(text.substr(colon + 1));
    if (names.empty()) return "a list of names that is not empty";
    read.names = split(names);
    text = text.substr(0, colon);
  }
  const std::vector<std::string> files = split(trimmed(text));
  if (files.size() != 2) return "comma separated certificate and key file paths";
  read.certificate_file = files[0];
  read.key_file = files[1];
  out = std::move(read);
  return {};
}

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  if (std::string common = common_name_of(certificate); !is_address(common) && is_domain(common))
    names.push_back(std::move(common));
  auto* const all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
    if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
  }
  GENERAL_NAMES_free(all);
  return names;
}

SSL_CTX* NamedContexts::find(std::string_view name) const {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  auto found = by_name.find(lower);
  if (found == by_name.end()) {
    const std::size_t dot = lower.find('.');
    found = by_name.find("*" + (dot == std::string::npos ? std::string() : lower.substr(dot)));
  }
  return found == by_name.end() ? nullptr : found->second.get();
}

void add_names(const std::vector<CertificateForNames>& certificates,
               const std::vector<std::shared_ptr<SSL_CTX>>& contexts, NamedContexts& all) {
  for (std::size_t i = 0; i < certificates.size(); ++i)
    for (const std::string& name : certificates[i].names) all.by_name.try_emplace(name, contexts[i]);
  for (std::size_t i = 0; i < certificates.size(); ++i) {
    if (!certificates[i].names.empty()) continue;
    for (const std::string& name : names_of(SSL_CTX_get0_certificate(contexts[i].get())))
      all.by_name.try_emplace(name, contexts[i]);
  }
}

void choose_by_name(const NamedContexts& contexts) {
  SSL_CTX* const fallback = contexts.fallback.get();
  SSL_CTX_set_tlsext_servername_callback(fallback, choose);
  SSL_CTX_set_tlsext_servername_arg(fallback, const_cast<NamedContexts*>(&contexts));  // which only reads it
}

}  // namespace berth

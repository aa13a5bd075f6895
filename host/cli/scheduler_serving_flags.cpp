// SPDX-License-Identifier: Apache-2.0
// Flags of the endpoints, and of who may use them.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "host/cli/scheduler_flags.h"

namespace berth {
namespace {

using Flags = SchedulerFlags;
using Values = SchedulerFlag::Values;

constexpr const char* kHttp1 = "the endpoints are served over HTTP/1.1 only";

std::string read_address(Flags& flags, const Values& values) {
  in6_addr bytes{};
  const std::string& text = values.back();
  const bool is_address =
      ::inet_pton(AF_INET, text.c_str(), &bytes) == 1 || ::inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
  if (!text.empty() && !is_address) return "an IP address";
  flags.server.address = text.empty() ? "0.0.0.0" : text;
  return {};
}

std::string read_port(Flags& flags, const Values& values) {
  std::int64_t port = 0;
  std::string expected = read_integer(values.back(), 0, 65'535, port);
  if (expected.empty()) flags.server.port = static_cast<int>(port);
  return expected;
}

std::string read_sni(Flags& flags, const Values& values) {
  std::vector<CertificateForNames> pairs;
  for (const std::string& value : values)
    if (std::string expected = read_certificate_for_names(value, pairs.emplace_back()); !expected.empty())
      return expected;
  flags.server.tls.by_name = std::move(pairs);
  return {};
}

std::string read_uid_headers(Flags& flags, const Values& values) {
  flag_reader::list([](Flags& f) -> std::vector<std::string>& { return f.authentication.request_header.uid_headers; })(
      flags, values);
  return {};
}

}  // namespace

std::vector<SchedulerFlag> serving_flags() {
  using namespace flag_reader;
  const auto ignored = [](Flags&, const Values&) { return std::string(); };
  const auto ignored_boolean = [](Flags&, const Values& values) {
    bool unused = false;
    return read_boolean(values.back(), unused);
  };
  return {
      {"bind-address", "IP", "Address to serve at; 0.0.0.0 and :: stand for all", read_address},
      {"cert-dir", "DIR", "Where the certificate is kept that is made when no file is given",
       text([](Flags& f) -> std::string& { return f.server.tls.directory; })},
      {"disable-http2-serving", "BOOL", "Accepted", ignored_boolean, true, kHttp1},
      {"http2-max-streams-per-connection", "N", "Accepted", ignored, false, kHttp1},
      {"permit-address-sharing", "BOOL", "Bind with SO_REUSEADDR, which is always done",
       boolean([](Flags& f) -> bool& { return f.shares_address; }), true},
      {"permit-port-sharing", "BOOL", "Bind with SO_REUSEPORT",
       boolean([](Flags& f) -> bool& { return f.server.shares_port; }), true},
      {"secure-port", "PORT", "Port to serve HTTPS at; 0 serves nothing", read_port},
      {"tls-cert-file", "FILE", "Certificate of the server with its chain; without it, one is made for localhost",
       text([](Flags& f) -> std::string& { return f.server.tls.certificate_file; })},
      {"tls-cipher-suites", "LIST", "Cipher suites of TLS 1.2, by Go's names",
       list([](Flags& f) -> std::vector<std::string>& { return f.server.tls.cipher_suites; })},
      {"tls-min-version", "VERSION", "VersionTLS12 or VersionTLS13",
       text([](Flags& f) -> std::string& { return f.server.tls.min_version; })},
      {"tls-private-key-file", "FILE", "Key of --tls-cert-file",
       text([](Flags& f) -> std::string& { return f.server.tls.key_file; })},
      {"tls-sni-cert-key", "FILES",
       "CERT,KEY or CERT,KEY:NAME,...: a certificate for clients that ask for these names, or else for its own; "
       "several "
       "times for several",
       read_sni},
  };
}

std::vector<SchedulerFlag> access_flags() {
  using namespace flag_reader;
  return {
      {"authentication-kubeconfig", "FILE", "Who asks the API server about bearer tokens and client authorities",
       text([](Flags& f) -> std::string& { return f.authentication_kubeconfig; })},
      {"authentication-skip-lookup", "BOOL", "Do not read authorities from the cluster",
       boolean([](Flags& f) -> bool& { return f.authentication.skips_lookup; }), true},
      {"authentication-token-webhook-cache-ttl", "DURATION", "How long an answer about a token holds",
       duration([](Flags& f) -> std::int64_t& { return f.authentication.token_ttl_us; })},
      {"authentication-tolerate-lookup-failure", "BOOL", "Go on when authorities cannot be read from the cluster",
       boolean([](Flags& f) -> bool& { return f.authentication.tolerates_lookup_failure; }), true},
      {"client-ca-file", "FILE", "Authorities of client certificates",
       text([](Flags& f) -> std::string& { return f.authentication.client_ca_file; })},
      {"requestheader-allowed-names", "LIST", "Common names of proxies that may name users; none: any",
       list([](Flags& f) -> std::vector<std::string>& { return f.authentication.request_header.allowed_names; })},
      {"requestheader-client-ca-file", "FILE", "Authorities of proxies",
       text([](Flags& f) -> std::string& { return f.authentication.request_header.ca_file; })},
      {"requestheader-extra-headers-prefix", "LIST", "Prefixes of headers with more about a user",
       list([](Flags& f) -> std::vector<std::string>& {
         return f.authentication.request_header.extra_header_prefixes;
       })},
      {"requestheader-group-headers", "LIST", "Headers with groups",
       list([](Flags& f) -> std::vector<std::string>& { return f.authentication.request_header.group_headers; })},
      {"requestheader-uid-headers", "LIST", "Headers with a UID", read_uid_headers},
      {"requestheader-username-headers", "LIST", "Headers with a user's name",
       list([](Flags& f) -> std::vector<std::string>& { return f.authentication.request_header.username_headers; })},
      {"authorization-always-allow-paths", "LIST", "Paths that everyone may read",
       list([](Flags& f) -> std::vector<std::string>& { return f.authorization.always_allowed_paths; })},
      {"authorization-kubeconfig", "FILE", "Who asks the API server what others may read",
       text([](Flags& f) -> std::string& { return f.authorization_kubeconfig; })},
      {"authorization-webhook-cache-authorized-ttl", "DURATION", "How long a yes holds",
       duration([](Flags& f) -> std::int64_t& { return f.authorization.allowed_ttl_us; })},
      {"authorization-webhook-cache-unauthorized-ttl", "DURATION", "How long a no holds",
       duration([](Flags& f) -> std::int64_t& { return f.authorization.denied_ttl_us; })},
  };
}

}  // namespace berth

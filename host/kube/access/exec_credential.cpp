// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/exec_credential.h"

#include "host/config/base64.h"
#include "host/config/config_reader.h"
#include "host/kube/access/secret_text.h"
#include "host/objects/decode_parts.h"
#include "host/objects/json_value.h"
#include "host/objects/json_writer.h"

namespace berth {
namespace {

void append_cluster(JsonWriter& out, std::string& text, const ExecCluster& cluster) {
  out.object("cluster", [&] {
    out.field("server", cluster.server);
    out.text("tls-server-name", cluster.server_name);
    out.flag("insecure-skip-tls-verify", cluster.skips_verification);
    out.text("certificate-authority-data", encode_base64(cluster.ca_pem));
    out.text("proxy-url", cluster.proxy_url);
    out.flag("disable-compression", cluster.disables_compression);
    out.key("config");
    text += cluster.config_json.empty() ? "null" : cluster.config_json;
  });
}

void read_expiry(const JsonValue& status, std::optional<std::int64_t>& out) {
  const JsonValue value = status.field("expirationTimestamp");
  std::int64_t expires_us = 0;
  if (value.present() && read_time(value, expires_us)) out = expires_us;
}

void check_complete(const JsonValue& status, const ExecCredential& credential) {
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    status.problem("has only one of clientCertificateData and clientKeyData, expected both");
  } else if (credential.token.empty() && credential.key_pem.empty()) {
    status.problem("has no credential, expected a token, or clientCertificateData with clientKeyData");
  }
}

void decode(const JsonValue& root, const std::string& api_version, ExecCredential& out) {
  check_type_meta(root, api_version, "ExecCredential");
  const JsonValue status = root.field("status");
  if (!status.is_object()) return status.problem("is missing, expected the credential");
  bool is_read = read_token(status.field("token"), out.token);
  is_read = read_secret(status.field("clientCertificateData"), out.certificate_pem) && is_read;
  is_read = read_secret(status.field("clientKeyData"), out.key_pem) && is_read;
  read_expiry(status, out.expires_us);
  if (is_read) check_complete(status, out);
}

}  // namespace

std::string exec_info_json(const std::string& api_version, const ExecCluster* cluster) {
  std::string text;
  JsonWriter out(text);
  out.open('{');
  out.field("kind", std::string_view("ExecCredential"));
  out.field("apiVersion", api_version);
  out.object("spec", [&] {
    if (cluster != nullptr) append_cluster(out, text, *cluster);
    out.field("interactive", false);
  });
  out.close('}');
  return text;
}

ExecCredential parse_exec_credential(std::string_view text, const std::string& api_version, const std::string& source) {
  // JSON only: client-go's decoder takes YAML as well, but no plugin writes it, and a message about YAML shows lines.
  JsonParser parser;
  ProblemSink sink(source);
  const auto element = parser.parse(text);
  if (!element) throw InputError(InputProblem{source, "", parser.error()});
  ExecCredential credential;
  const JsonValue root(*element, sink);
  if (root.is_object()) {
    decode(root, api_version, credential);
  } else {
    root.problem("expected an ExecCredential");
  }
  sink.throw_if_any();
  return credential;
}

}  // namespace berth

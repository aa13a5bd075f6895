// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/kubeconfig.h"

#include <array>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/config/base64.h"
#include "host/config/config_reader.h"
#include "host/kube/access/exec_config_reader.h"
#include "host/kube/access/secret_text.h"
#include "host/objects/json_value.h"

namespace berth {
namespace {

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

/// Calls use(value of `content`) for the element of root[list] with that name. A name that stands twice is a problem.
/// @return whether there is one
bool use_named(const JsonValue& root, std::string_view list, std::string_view content, const std::string& name,
               const std::function<void(const JsonValue&)>& use) {
  bool is_found = false;
  std::set<std::string> seen;
  const JsonValue elements = root.field(list);
  elements.for_each_element([&](const JsonValue& element) {
    if (!element.expect_object()) return;
    std::string element_name;
    const JsonValue name_value = element.field("name");
    if (name_value.present() && !name_value.read(element_name)) return;
    if (!seen.insert(element_name).second) return name_value.problem("stands twice, expected different names");
    if (element_name != name) return;
    is_found = true;
    const JsonValue value = element.field(content);
    if (!value.present() || value.expect_object()) use(value);
  });
  return is_found;
}

std::string absolute_path(const std::string& path, const std::string& folder) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

void read_path(const JsonValue& value, const std::string& folder, std::string& out) {
  std::string path;
  if (!value.read(path)) return;
  if (path.find('\0') != std::string::npos) return value.problem("holds a zero byte, expected a path");
  out = absolute_path(path, folder);
}

void refuse_both(const JsonValue& parent, std::string_view data, std::string_view file, bool has_data, bool has_file) {
  if (!has_data || !has_file) return;
  parent.problem("has both " + std::string(data) + " and " + std::string(file) + ", expected one of them");
}

/// Present, and not empty as clientcmd sees it.
bool is_given(const JsonValue& value) {
  if (!value.present()) return false;
  if (value.is_string()) return !std::string_view(value.element()).empty();
  if (value.is_array()) return simdjson::dom::array(value.element()).size() > 0;
  return true;
}

// ---- clusters

void read_exec_extension(const JsonValue& cluster, std::string& out) {
  const JsonValue extensions = cluster.field("extensions");
  extensions.for_each_element([&](const JsonValue& element) {
    std::string_view name;
    if (!element.expect_object()) return;
    const JsonValue name_value = element.field("name");
    if (!name_value.read(name) || name != kExecExtension) return;
    const JsonValue extension = element.field("extension");
    if (extension.present()) out = simdjson::minify(extension.element());
  });
}

void check_server(const JsonValue& cluster, const std::string& server) {
  const JsonValue value = cluster.field("server");
  if (server.empty()) {
    value.problem("is missing, expected the URL of an API server");
  } else if (const std::string_view problem = problem_of_server(server); !problem.empty()) {
    value.problem(std::string(problem));
  }
}

void read_proxy(const JsonValue& value, std::string& out) {
  if (!read_secret(value, out) || out.empty()) return;  // it may hold a password
  if (scheme_of_url(out).empty()) value.problem("expected a URL with scheme http, https or socks5");
}

void check_authority(const JsonValue& cluster, const KubeconfigCluster& read) {
  const bool has_data = !read.ca_pem.empty();
  const bool has_file = !read.ca_file.empty();
  refuse_both(cluster, "certificate-authority-data", "certificate-authority", has_data, has_file);
  if (read.skips_verification && (has_data || has_file)) {
    cluster.problem("has insecure-skip-tls-verify and a certificate authority, expected one of them");
  }
  if (has_data && read.ca_pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    const JsonValue value = cluster.field("certificate-authority-data");
    value.problem("expected the base64 of PEM certificates");
  }
}

void read_cluster(const JsonValue& cluster, const std::string& folder, const std::string& server_override,
                  KubeconfigCluster& out) {
  if (!server_override.empty()) {
    out.server = server_override;
  } else {
    const JsonValue server = cluster.field("server");
    if (read_secret(server, out.server)) check_server(cluster, out.server);
  }
  // A server that replaces the file's has another name, as in clientcmd.
  const JsonValue server_name = cluster.field("tls-server-name");
  if (server_override.empty()) server_name.read(out.server_name);
  const JsonValue insecure = cluster.field("insecure-skip-tls-verify");
  insecure.read(out.skips_verification);
  const JsonValue authority_data = cluster.field("certificate-authority-data");
  read_base64(authority_data, out.ca_pem);
  const JsonValue authority = cluster.field("certificate-authority");
  read_path(authority, folder, out.ca_file);
  const JsonValue proxy = cluster.field("proxy-url");
  read_proxy(proxy, out.proxy_url);
  const JsonValue compression = cluster.field("disable-compression");
  compression.read(out.disables_compression);
  read_exec_extension(cluster, out.exec_config_json);
  check_authority(cluster, out);
}

// ---- users

void refuse_unsupported(const JsonValue& user) {
  for (const std::string_view key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    const JsonValue value = user.field(key);
    if (is_given(value)) value.problem("impersonation is not supported");
  }
  const JsonValue provider = user.field("auth-provider");
  if (!provider.present()) return;
  std::string name;
  if (provider.is_object()) {
    const JsonValue name_value = provider.field("name");
    name_value.read(name);
  }
  provider.problem("auth-provider " + quoted_for_message(name) +
                   " is not supported; client-go's last ones were removed, "
                   "expected an exec plugin");
}

void check_certificate(const JsonValue& user, const FileIdentity& read) {
  const bool has_certificate = !read.certificate_pem.empty() || !read.certificate_file.empty();
  if (!has_certificate) return;
  refuse_both(user, "client-certificate-data", "client-certificate", !read.certificate_pem.empty(),
              !read.certificate_file.empty());
  refuse_both(user, "client-key-data", "client-key", !read.key_pem.empty(), !read.key_file.empty());
  if (read.key_pem.empty() && read.key_file.empty()) {
    user.problem("has a client certificate, expected client-key-data or client-key with it");
  }
}

void check_methods(const JsonValue& user, const FileIdentity& read) {
  const bool has_basic = !read.username.empty() || !read.password.empty();
  const bool has_token = !read.token.empty() || !read.token_file.empty();
  if (has_basic && has_token) user.problem("has a token and a username, expected one way to authenticate");
}

void read_identity(const JsonValue& user, const std::string& folder, FileIdentity& out) {
  const auto texts = std::to_array<std::pair<std::string_view, std::string*>>(
      {{"username", &out.username}, {"password", &out.password}});
  for (const auto& [key, text] : texts) {
    const JsonValue value = user.field(key);
    read_secret(value, *text);
  }
  const JsonValue token = user.field("token");
  read_token(token, out.token);
  const auto data = std::to_array<std::pair<std::string_view, std::string*>>(
      {{"client-certificate-data", &out.certificate_pem}, {"client-key-data", &out.key_pem}});
  for (const auto& [key, bytes] : data) {
    const JsonValue value = user.field(key);
    read_base64(value, *bytes);
  }
  const auto files = std::to_array<std::pair<std::string_view, std::string*>>(
      {{"tokenFile", &out.token_file}, {"client-certificate", &out.certificate_file}, {"client-key", &out.key_file}});
  for (const auto& [key, path] : files) {
    const JsonValue value = user.field(key);
    read_path(value, folder, *path);
  }
  check_certificate(user, out);
  check_methods(user, out);
}

bool is_identified(const FileIdentity& identity) {
  const bool has_certificate = !identity.certificate_pem.empty() || !identity.certificate_file.empty();
  return !identity.token.empty() || !identity.token_file.empty() || !identity.username.empty() ||
         !identity.password.empty() || has_certificate;
}

void read_user(const JsonValue& user, const std::string& folder, Kubeconfig& out) {
  refuse_unsupported(user);
  read_identity(user, folder, out.identity);
  const JsonValue exec = user.field("exec");
  if (!exec.present()) return;
  ExecConfig config = read_exec_config(exec, folder);
  // A plugin beside another way to authenticate is never run, as in client-go.
  if (!is_identified(out.identity)) out.exec = std::move(config);
}

// ---- the whole

struct ContextNames {
  std::string cluster;
  std::string user;
};

void read_context(const JsonValue& context, ContextNames& out) {
  const JsonValue cluster = context.field("cluster");
  cluster.read(out.cluster);
  const JsonValue user = context.field("user");
  user.read(out.user);
}

void decode_in_context(const JsonValue& root, const ContextNames& names, const std::string& folder,
                       const std::string& server_override, Kubeconfig& out) {
  const bool has_cluster = use_named(root, "clusters", "cluster", names.cluster, [&](const JsonValue& cluster) {
    read_cluster(cluster, folder, server_override, out.cluster);
  });
  if (!has_cluster) {
    const JsonValue clusters = root.field("clusters");
    clusters.problem("has no cluster " + quoted_for_message(names.cluster) + ", which the current context names");
  }
  const bool has_user =
      use_named(root, "users", "user", names.user, [&](const JsonValue& user) { read_user(user, folder, out); });
  if (!has_user && !names.user.empty()) {
    const JsonValue users = root.field("users");
    users.problem("has no user " + quoted_for_message(names.user) + ", which the current context names");
  }
}

/// Both fields may be missing, as in clientcmd.
void check_constant(const JsonValue& root, std::string_view key, std::string_view wanted) {
  const JsonValue value = root.field(key);
  std::string_view text;
  if (value.read(text) && text != wanted) value.mismatch(quoted_for_message(wanted));
}

void decode(const JsonValue& root, const std::string& folder, const std::string& server_override, Kubeconfig& out) {
  if (!root.is_object()) return root.problem("expected a kubeconfig");
  check_constant(root, "apiVersion", "v1");
  check_constant(root, "kind", "Config");
  std::string context_name;
  const JsonValue current = root.field("current-context");
  current.read(context_name);
  if (context_name.empty()) {
    if (!server_override.empty()) {
      out.cluster.server = server_override;
    } else {
      current.problem("is missing, expected the name of a context");
    }
    return;
  }
  ContextNames names;
  const bool has_context = use_named(root, "contexts", "context", context_name,
                                     [&](const JsonValue& context) { read_context(context, names); });
  if (has_context) return decode_in_context(root, names, folder, server_override, out);
  current.problem("got " + quoted_for_message(context_name) + ", expected the name of a context in contexts");
}

/// `message` with "..." for every quoted part.
std::string without_quoted(const std::string& message) {
  std::string out;
  bool is_quoted = false;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] == '"') {
      out += is_quoted ? "\"" : "\"...";
      is_quoted = !is_quoted;
    } else if (!is_quoted) {
      out += message[i];
    } else if (message[i] == '\\') {
      ++i;
    }
  }
  return out;
}

/// The messages of malformed YAML name the value, which may be a password that begins with "*" or "!".
JsonDocument document_of(std::string_view text, const std::string& source) {
  try {
    return config_document_from_text(text, source);
  } catch (const InputError& error) {
    std::vector<InputProblem> problems = error.problems();
    for (InputProblem& problem : problems) problem.message = without_quoted(problem.message);
    throw InputError(std::move(problems));
  }
}

}  // namespace

std::string_view scheme_of_url(std::string_view url) {
  for (const std::string_view scheme : {"http", "https", "socks5"}) {
    if (url.starts_with(scheme) && url.substr(scheme.size()).starts_with("://")) return url.substr(0, scheme.size());
  }
  return {};
}

std::string_view problem_of_server(std::string_view server) {
  std::string_view rest = server;
  const std::string_view scheme = scheme_of_url(server);
  if (scheme.empty() && rest.find("://") != std::string_view::npos) return "expected a URL with scheme http or https";
  if (scheme == "socks5") return "expected a URL with scheme http or https";
  if (!scheme.empty()) rest.remove_prefix(scheme.size() + 3);
  for (const char c : rest) {
    if (c <= ' ' || c >= 0x7f) return "expected a URL without blanks and control characters";
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return "expected a URL without query and fragment";
  const std::size_t path = rest.find('/');
  if (rest.substr(0, path).find('@') != std::string_view::npos) return "expected a URL without user information";
  if (rest.empty() || path == 0) return "expected a URL with a host";
  if (scheme.empty() && path != std::string_view::npos && path + 1 < rest.size()) {
    return "expected a URL with its scheme where it has a path";
  }
  return {};
}

Kubeconfig parse_kubeconfig(std::string_view text, const std::string& source, const std::string& folder,
                            const std::string& server_override) {
  const JsonDocument document = document_of(text, source);
  Kubeconfig kubeconfig;
  ProblemSink sink(source);
  decode_config(document, source, sink,
                [&](const JsonValue& root) { decode(root, folder, server_override, kubeconfig); });
  return kubeconfig;
}

Kubeconfig read_kubeconfig(const std::string& path, const std::string& server_override) {
  std::string text;
  try {
    text = read_small_file(path);
  } catch (const std::runtime_error& error) {
    throw InputError(InputProblem{path, "", error.what()});
  }
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  return parse_kubeconfig(text, path, absolute.parent_path().lexically_normal().string(), server_override);
}

}  // namespace berth

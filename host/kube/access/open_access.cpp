// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/open_access.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "host/kube/access/exec_credentials.h"
#include "host/kube/access/file_credentials.h"
#include "host/kube/access/kubeconfig.h"

namespace berth {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/// With a scheme, without slashes at its end.
std::string complete_url(const std::string& server) {
  std::string url = scheme_of_url(server).empty() ? "http://" + server : server;
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string read_authority(const std::string& path) {
  std::string text = read_small_file(path);
  if (text.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    throw std::runtime_error("cannot use " + path + " as certificate authority: it holds no PEM certificate");
  }
  return text;
}

std::shared_ptr<Credentials> anonymous(const Surroundings& around) {
  return std::make_shared<FileCredentials>(FileIdentity{}, around);
}

ServerAccess in_cluster_access(const Surroundings& around) {
  const std::string host = around.variable("KUBERNETES_SERVICE_HOST");
  const std::string port = around.variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    throw std::runtime_error(
        "there is no API server: clientConnection.kubeconfig, --kubeconfig and --master are not set, and outside a pod "
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not either");
  }
  ServerAccess access;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  access.url = "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
  if (const std::string_view problem = problem_of_server(access.url); !problem.empty()) {
    throw std::runtime_error("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT: " + std::string(problem));
  }
  access.ca_pem = read_authority(around.root + kServiceAccount + "/ca.crt");
  FileIdentity identity;
  identity.token_file = around.root + kServiceAccount + "/token";
  access.credentials = std::make_shared<FileCredentials>(std::move(identity), around);
  return access;
}

ServerAccess access_of(Kubeconfig config, const AccessOptions& options, const Surroundings& around) {
  ServerAccess access;
  access.url = complete_url(config.cluster.server);
  access.proxy_url = config.cluster.proxy_url;
  if (!access.url.starts_with("https://")) {
    access.credentials = anonymous(around);
    return access;
  }
  access.server_name = config.cluster.server_name;
  access.skips_verification = config.cluster.skips_verification;
  access.ca_pem = config.cluster.ca_file.empty() ? config.cluster.ca_pem : read_authority(config.cluster.ca_file);
  if (!config.exec) {
    access.credentials = std::make_shared<FileCredentials>(std::move(config.identity), around);
    return access;
  }
  ExecCluster cluster = {config.cluster.server,
                         access.server_name,
                         access.skips_verification,
                         access.ca_pem,
                         access.proxy_url,
                         config.cluster.disables_compression,
                         config.cluster.exec_config_json};
  access.credentials =
      std::make_shared<ExecCredentials>(std::move(*config.exec), std::move(cluster), around, options.plugin_limits);
  return access;
}

}  // namespace

ServerAccess open_server_access(const AccessOptions& options, const Surroundings& around) {
  if (!options.master.empty()) {
    const std::string_view problem = problem_of_server(options.master);
    if (!problem.empty()) throw std::runtime_error("--master: " + std::string(problem));
  }
  if (!options.kubeconfig.empty()) {
    return access_of(read_kubeconfig(options.kubeconfig, options.master), options, around);
  }
  if (options.master.empty()) return in_cluster_access(around);
  Kubeconfig config;
  config.cluster.server = options.master;
  return access_of(std::move(config), options, around);
}

}  // namespace berth

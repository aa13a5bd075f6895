// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kubeconfig file as far as its current context goes.

#include <optional>
#include <string>
#include <string_view>

#include "host/kube/access/exec_credential.h"
#include "host/kube/access/file_credentials.h"

namespace berth {

struct KubeconfigCluster {
  std::string server;
  std::string server_name;
  bool skips_verification = false;
  std::string ca_pem;   ///< certificate-authority-data
  std::string ca_file;  ///< absolute
  std::string proxy_url;
  bool disables_compression = false;
  std::string exec_config_json;  ///< extension "client.authentication.k8s.io/exec"; empty: none
};

/// What `current-context` names. Paths are absolute.
struct Kubeconfig {
  KubeconfigCluster cluster;
  FileIdentity identity;
  std::optional<ExecConfig> exec;
};

/// Reads YAML or JSON as client-go's clientcmd does: of clusters, users and contexts only those that count are judged,
/// and fields that it does not know are ignored. Refused, though clientcmd takes them: a user that is named and not
/// there, impersonation, auth-provider, exec plugins of v1alpha1 and those that need a terminal.
/// @param server_override  --master: replaces the server; then a file without a current context is fine
/// @param folder  absolute; relative paths of the file begin there
/// @throws InputError; a message shows no token, password, key or user information of a URL
Kubeconfig parse_kubeconfig(std::string_view text, const std::string& source, const std::string& folder,
                            const std::string& server_override = {});

/// @throws InputError, also when the file cannot be read or is larger than 1 MiB
Kubeconfig read_kubeconfig(const std::string& path, const std::string& server_override = {});

/// "http", "https" or "socks5". @return empty where `url` begins with none of them and "://"
std::string_view scheme_of_url(std::string_view url);

/// What is wrong with the address of an API server: a URL of scheme http or https, or a host with its port, which is
/// http as in client-go. @return empty: nothing. The text does not show the address
std::string_view problem_of_server(std::string_view server);

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The texts that a credential plugin is given and gives: client.authentication.k8s.io/v1 and v1beta1.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// `exec` of a kubeconfig's user.
struct ExecConfig {
  std::string command;  ///< absolute, or without a slash: looked up in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to that of the process
  std::string api_version;
  std::string install_hint;
  bool provides_cluster_info = false;
};

/// `spec.cluster` of an ExecCredential.
struct ExecCluster {
  std::string server;
  std::string server_name = {};
  bool skips_verification = false;
  std::string ca_pem = {};
  std::string proxy_url = {};
  bool disables_compression = false;
  std::string config_json = {};  ///< of the cluster's extension "client.authentication.k8s.io/exec"; empty: none
};

/// The value of KUBERNETES_EXEC_INFO. @param cluster  null: not provided
std::string exec_info_json(const std::string& api_version, const ExecCluster* cluster);

/// `status` of an ExecCredential. A token, a certificate with its key, or both.
struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
  std::optional<std::int64_t> expires_us;  ///< wall time
};

/// Reads what a plugin wrote. @param source  names the plugin in messages, which never show a value of `status`
/// @throws InputError
ExecCredential parse_exec_credential(std::string_view text, const std::string& api_version, const std::string& source);

}  // namespace berth

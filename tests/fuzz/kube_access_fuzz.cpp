// SPDX-License-Identifier: Apache-2.0
// Any text is a kubeconfig and the answer of a credential plugin, or is refused: never a crash, and what is
// accepted can be used. tests/unit/kube_access/nasty_input_test.cpp runs the same function on a fixed set.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "host/kube/access/exec_credential.h"
#include "host/kube/access/kubeconfig.h"
#include "host/objects/errors.h"

namespace {

using namespace berth;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Body>
void accept_or_refuse(Body&& body) {
  try {
    body();
  } catch (const InputError& error) {
    require(!error.problems().empty());
  }
}

bool is_absolute_or_empty(const std::string& path) { return path.empty() || path.front() == '/'; }

/// A header's value must not end its line.
bool is_header_text(std::string_view text) { return text.find_first_of("\r\n") == std::string_view::npos; }

void check(const Kubeconfig& config) {
  require(problem_of_server(config.cluster.server).empty());
  require(is_absolute_or_empty(config.cluster.ca_file) && is_absolute_or_empty(config.identity.token_file));
  require(is_absolute_or_empty(config.identity.certificate_file) && is_absolute_or_empty(config.identity.key_file));
  require(is_header_text(config.identity.token));
  require(!config.cluster.skips_verification || (config.cluster.ca_file.empty() && config.cluster.ca_pem.empty()));
  if (config.exec) require(!config.exec->command.empty() && config.exec->command.find('\0') == std::string::npos);
}

void check(const ExecCredential& credential) {
  require(is_header_text(credential.token));
  require(credential.certificate_pem.empty() == credential.key_pem.empty());
  require(!credential.token.empty() || !credential.key_pem.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  accept_or_refuse([&] { check(parse_kubeconfig(text, "fuzz", "/etc")); });
  accept_or_refuse([&] { check(parse_kubeconfig(text, "fuzz", "/etc", "https://10.0.0.1")); });
  accept_or_refuse([&] { check(parse_exec_credential(text, "client.authentication.k8s.io/v1", "fuzz")); });
  return 0;
}

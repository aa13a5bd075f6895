// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/exec_credentials.h"

#include <exception>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace berth {
namespace {

constexpr std::int64_t kRetryUs = 5'000'000;
/// Several requests under way are refused at one time, and one run answers them all.
constexpr std::int64_t kRefusedRunUs = 1'000'000;
constexpr std::size_t kErrorBytesShown = 2048;

/// Of equal names the last one counts, as Go passes an environment on.
std::vector<std::string> environment_of(const Surroundings& around, const ExecConfig& config, const std::string& info) {
  std::map<std::string, std::string> values;
  for (const std::string& entry : around.environment) {
    const std::size_t end = entry.find('=');
    if (end != std::string::npos && end > 0) values[entry.substr(0, end)] = entry.substr(end + 1);
  }
  for (const auto& [name, value] : config.environment) values[name] = value;
  values["KUBERNETES_EXEC_INFO"] = info;
  std::vector<std::string> environment;
  environment.reserve(values.size());
  for (const auto& [name, value] : values) environment.push_back(name + "=" + value);
  return environment;
}

std::string end_of(const ChildResult& result, const ChildLimits& limits) {
  switch (result.end) {
    case ChildResult::End::kExited:
      return "ended with exit status " + std::to_string(result.code);
    case ChildResult::End::kKilledBySignal:
      return "was ended by signal " + std::to_string(result.code);
    case ChildResult::End::kTimedOut:
      return "did not end within " + std::to_string(limits.time_us / 1'000'000) + " s";
    case ChildResult::End::kTooMuchOutput:
      return "wrote more than " + std::to_string(limits.output_bytes_max) + " bytes";
    case ChildResult::End::kNotFound:
    case ChildResult::End::kNotStarted:
      break;
  }
  return "could not be started: error " + std::to_string(result.error_number);
}

}  // namespace

ExecCredentials::ExecCredentials(ExecConfig config, ExecCluster cluster, Surroundings around, ChildLimits limits)
    : config_(std::move(config)), cluster_(std::move(cluster)), around_(std::move(around)), limits_(limits) {}

bool ExecCredentials::needs_run() const {
  const std::int64_t since_us = around_.clock->now_us() - last_run_us_;
  if (!failure_.empty()) return since_us >= kRetryUs;
  if (!identity_) return true;
  if (expires_us_ && around_.wall_time_us() > *expires_us_) return true;
  return is_refused_ && since_us >= kRefusedRunUs;
}

ClientIdentity ExecCredentials::current() {
  if (needs_run()) {
    identity_.reset();
    try {
      run();
      failure_.clear();
      is_refused_ = false;
    } catch (const std::runtime_error& error) {
      failure_ = error.what();
    }
    last_run_us_ = around_.clock->now_us();
  }
  if (!failure_.empty()) throw std::runtime_error(failure_);
  return *identity_;
}

std::string ExecCredentials::hint() const {
  if (config_.install_hint.empty()) return {};
  return "; the kubeconfig says how to install it: " + escaped_for_message(config_.install_hint, kErrorBytesShown);
}

ExecCredential ExecCredentials::credential_of(const ChildResult& result, const std::string& program) const {
  const std::string named = "credential plugin " + escaped_for_message(program, kErrorBytesShown);
  if (result.end == ChildResult::End::kNotFound) throw std::runtime_error(named + " was not found" + hint());
  if (result.end != ChildResult::End::kExited || result.code != 0) {
    std::string message = named + " " + end_of(result, limits_);
    if (!result.errors.empty()) {
      message += "; its stderr: " + escaped_for_message(result.errors, kErrorBytesShown);
    }
    throw std::runtime_error(message);
  }
  return parse_exec_credential(result.output, config_.api_version, named);
}

void ExecCredentials::run() {
  const std::string path = find_program(config_.command, around_.variable("PATH"));
  if (path.empty()) {
    throw std::runtime_error("credential plugin " + escaped_for_message(config_.command, kErrorBytesShown) +
                             " was not found in PATH" + hint());
  }
  const ExecCluster* cluster = config_.provides_cluster_info ? &cluster_ : nullptr;
  const std::string info = exec_info_json(config_.api_version, cluster);
  const ChildResult result = run_child(path, config_.arguments, environment_of(around_, config_, info), limits_);
  ExecCredential credential = credential_of(result, path);
  ClientIdentity identity;
  if (!credential.token.empty()) identity.authorization = "Bearer " + credential.token;
  identity.certificate_pem = std::move(credential.certificate_pem);
  identity.key_pem = std::move(credential.key_pem);
  identity_ = std::move(identity);
  expires_us_ = credential.expires_us;
}

}  // namespace berth

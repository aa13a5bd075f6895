// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/exec_credentials.h"

#include <algorithm>
#include <exception>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "host/kube/access/key_pair.h"

namespace berth {
namespace {

constexpr std::int64_t kRetryUs = 5'000'000;
/// Several requests under way are refused at one time, and one run answers them all.
constexpr std::int64_t kRefusedRunUs = 1'000'000;
constexpr std::int64_t kAheadMaxUs = 60'000'000;
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
    case ChildResult::End::kCancelled:
      return "was cancelled";
    case ChildResult::End::kNotFound:
    case ChildResult::End::kNotStarted:
      break;
  }
  return "could not be started: error " + std::to_string(result.error_number);
}

}  // namespace

ExecCredentials::ExecCredentials(ExecConfig config, ExecCluster cluster, Surroundings around, ChildLimits limits)
    : config_(std::move(config)), cluster_(std::move(cluster)), around_(std::move(around)), limits_(limits) {}

ExecCredentials::~ExecCredentials() {
  is_cancelled_ = true;
  if (worker_.joinable()) worker_.join();
}

bool ExecCredentials::is_due() const {
  if (!has_run_) return true;
  const std::int64_t since_us = around_.clock->now_us() - last_run_us_;
  if (!failure_.empty()) return since_us >= kRetryUs;
  const bool is_old = expires_us_ && around_.wall_time_us() >= refresh_us_;
  return (is_old || is_refused_) && since_us >= kRefusedRunUs;
}

ClientIdentity ExecCredentials::current() {
  const std::scoped_lock lock(mutex_);
  take_outcome();
  if (!worker_.joinable() && is_due()) {
    if (has_run_) {
      begin_run();
    } else {
      accept(run());
    }
  }
  if (!failure_.empty() && (!identity_ || is_refused_ || has_expired())) throw std::runtime_error(failure_);
  if (has_expired()) {
    throw std::runtime_error("the credential has expired, and the credential plugin has not given another one yet");
  }
  return *identity_;
}

void ExecCredentials::begin_run() {
  try {
    worker_ = std::thread([this] {
      Outcome outcome = run();
      const std::scoped_lock lock(outcome_mutex_);
      outcome_ = std::move(outcome);
    });
  } catch (const std::system_error& error) {
    accept({.failure = std::string("cannot start a thread for the credential plugin: ") + error.what()});
  }
}

void ExecCredentials::take_outcome() {
  std::optional<Outcome> outcome;
  {
    const std::scoped_lock lock(outcome_mutex_);
    outcome.swap(outcome_);
  }
  if (!outcome) return;
  worker_.join();
  accept(std::move(*outcome));
}

void ExecCredentials::note_unauthorized() {
  const std::scoped_lock lock(mutex_);
  is_refused_ = true;
}

void ExecCredentials::wait() {
  const std::scoped_lock lock(mutex_);
  if (!worker_.joinable()) return;
  worker_.join();
  if (outcome_) accept(std::move(*outcome_));  // alone with it now
  outcome_.reset();
}

void ExecCredentials::accept(Outcome outcome) {
  has_run_ = true;
  last_run_us_ = around_.clock->now_us();
  failure_ = std::move(outcome.failure);
  if (!failure_.empty()) return;
  identity_ = std::move(outcome.identity);
  expires_us_ = outcome.expires_us;
  is_refused_ = false;
  if (!expires_us_) return;
  // An expiry may be any number that a plugin wrote.
  const std::int64_t now_us = around_.wall_time_us();
  const std::int64_t left_us = std::max<std::int64_t>(*expires_us_ / 4 - now_us / 4, 0);
  refresh_us_ = *expires_us_ - std::min(left_us, kAheadMaxUs);
}

ExecCredentials::Outcome ExecCredentials::run() const noexcept {
  try {
    return run_plugin();
  } catch (const std::exception& error) {
    try {
      return {.failure = error.what()};
    } catch (const std::exception&) {
      return {.failure = "out of memory"};
    }
  }
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

ExecCredentials::Outcome ExecCredentials::run_plugin() const {
  const std::string path = find_program(config_.command, around_.variable("PATH"));
  if (path.empty()) {
    throw std::runtime_error("credential plugin " + escaped_for_message(config_.command, kErrorBytesShown) +
                             " was not found in PATH" + hint());
  }
  const std::string info = exec_info_json(config_.api_version, config_.provides_cluster_info ? &cluster_ : nullptr);
  const std::vector<std::string> environment = environment_of(around_, config_, info);
  const ChildResult result = run_child(path, config_.arguments, environment, limits_, &is_cancelled_);
  ExecCredential credential = credential_of(result, path);
  if (!credential.key_pem.empty()) {
    const std::string problem = problem_of_key_pair(credential.certificate_pem, credential.key_pem);
    if (!problem.empty())
      throw std::runtime_error("credential plugin " + escaped_for_message(path, kErrorBytesShown) + ": " + problem);
  }
  Outcome outcome;
  if (!credential.token.empty()) outcome.identity.authorization = "Bearer " + credential.token;
  outcome.identity.certificate_pem = std::move(credential.certificate_pem);
  outcome.identity.key_pem = std::move(credential.key_pem);
  outcome.expires_us = credential.expires_us;
  return outcome;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/exec_config_reader.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "host/config/config_reader.h"
#include "host/kube/access/secret_text.h"

namespace berth {
namespace {

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "client.authentication.k8s.io/v1beta1";

bool has_zero_byte(std::string_view text) { return text.find('\0') != std::string_view::npos; }

void read_command(const JsonValue& exec, const std::string& folder, std::string& out) {
  const JsonValue value = exec.field("command");
  std::string command;
  if (value.present() && !value.read(command)) return;
  if (command.empty() || has_zero_byte(command)) return value.problem("expected the command of the plugin");
  const bool is_relative = command.find('/') != std::string::npos && command.front() != '/';
  out = is_relative ? (std::filesystem::path(folder) / command).lexically_normal().string() : command;
}

void read_version(const JsonValue& exec, std::string& out) {
  const JsonValue value = exec.field("apiVersion");
  if (value.present() && !value.read(out)) return;
  if (out != kV1 && out != kV1Beta1) {
    value.mismatch(quoted_for_message(kV1) + " or " + quoted_for_message(kV1Beta1));
  }
}

void check_interactive_mode(const JsonValue& exec, const std::string& api_version) {
  const JsonValue value = exec.field("interactiveMode");
  std::string mode;
  if (value.present() && !value.read(mode)) return;
  if (mode.empty() && api_version == kV1Beta1) return;
  if (mode == "Always") return value.problem("got \"Always\", and there is no terminal, expected Never or IfAvailable");
  if (mode != "Never" && mode != "IfAvailable") value.mismatch("Never or IfAvailable");
}

void read_environment(const JsonValue& exec, ExecConfig& out) {
  const JsonValue environment = exec.field("env");
  environment.for_each_element([&](const JsonValue& element) {
    if (!element.expect_object()) return;
    std::pair<std::string, std::string> variable;
    const JsonValue name = element.field("name");
    if (name.present() && !name.read(variable.first)) return;
    if (variable.first.empty() || variable.first.find('=') != std::string::npos || has_zero_byte(variable.first)) {
      return name.problem("expected the name of an environment variable");
    }
    const JsonValue value = element.field("value");
    if (!read_secret(value, variable.second)) return;
    if (has_zero_byte(variable.second)) return value.problem("holds a zero byte");
    out.environment.push_back(std::move(variable));
  });
}

void read_arguments(const JsonValue& exec, std::vector<std::string>& out) {
  const JsonValue arguments = exec.field("args");
  arguments.for_each_element([&](const JsonValue& element) {
    std::string argument;
    if (!read_secret(element, argument)) return;  // plugins are given secrets there as well
    if (has_zero_byte(argument)) return element.problem("holds a zero byte");
    out.push_back(std::move(argument));
  });
}

}  // namespace

ExecConfig read_exec_config(const JsonValue& exec, const std::string& folder) {
  ExecConfig config;
  if (!exec.expect_object()) return config;
  read_command(exec, folder, config.command);
  read_version(exec, config.api_version);
  check_interactive_mode(exec, config.api_version);
  read_arguments(exec, config.arguments);
  read_environment(exec, config);
  const JsonValue hint = exec.field("installHint");
  hint.read(config.install_hint);
  const JsonValue provides = exec.field("provideClusterInfo");
  provides.read(config.provides_cluster_info);
  return config;
}

}  // namespace berth

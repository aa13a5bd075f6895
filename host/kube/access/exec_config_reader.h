// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/kube/access/exec_credential.h"
#include "host/objects/json_value.h"

namespace berth {

/// `exec` of a kubeconfig's user; what is wrong with it is a problem.
/// @param folder  absolute; a command with a slash that is relative begins there
ExecConfig read_exec_config(const JsonValue& exec, const std::string& folder);

}  // namespace berth

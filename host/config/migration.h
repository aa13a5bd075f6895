// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// How to turn a configuration of an older version into kubescheduler.config.k8s.io/v1.
/// @param api_version  as the file has it
/// @return empty for v1 and for what is no version of kube-scheduler's configuration
std::string migration_hint(std::string_view api_version);

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace berth {

/// Why a client cannot authenticate with this certificate and key, both PEM: one of them cannot be read, is encrypted,
/// or they do not belong together. @return empty: it can. The text shows nothing of them
std::string problem_of_key_pair(const std::string& certificate_pem, const std::string& key_pem);

}  // namespace berth

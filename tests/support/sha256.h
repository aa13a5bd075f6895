// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace berth::test {

/// SHA-256 in hexadecimal, for tables of reference values that are too long to print.
std::string sha256(std::span<const std::uint8_t> bytes);

}  // namespace berth::test

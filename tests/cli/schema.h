// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace berth::test {

/// Whether `document` is as docs/schemas/`schema_name`.schema.json says; the failure names each place where it is not.
testing::AssertionResult matches_schema(const nlohmann::json& document, const std::string& schema_name);

}  // namespace berth::test

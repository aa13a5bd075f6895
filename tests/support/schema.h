// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace berth::test {

/// Whether `document` conforms to docs/schemas/`schema_name`.schema.json; the failure names each violation.
testing::AssertionResult matches_schema(const nlohmann::json& document, const std::string& schema_name);

}  // namespace berth::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/schema.h"

// valijson does not compile cleanly at our warning level.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#pragma GCC diagnostic pop

#include <fstream>

namespace berth::test {

testing::AssertionResult matches_schema(const nlohmann::json& document, const std::string& schema_name) {
  using valijson::adapters::NlohmannJsonAdapter;
  std::ifstream file("docs/schemas/" + schema_name + ".schema.json");
  const nlohmann::json schema_json = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(NlohmannJsonAdapter(schema_json), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, NlohmannJsonAdapter(document), &results)) return testing::AssertionSuccess();
  testing::AssertionResult failure = testing::AssertionFailure();
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) failure << part;
    failure << ": " << error.description << "\n";
  }
  return failure;
}

}  // namespace berth::test

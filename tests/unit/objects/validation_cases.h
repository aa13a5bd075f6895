// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects that fail a check of host/objects/validation.h, at least one for each check.

#include <string>
#include <vector>

namespace berth {

struct ValidationCase {
  std::string id;       ///< of the check
  std::string text;     ///< the object
  std::string finding;  ///< without the file's name
};

std::vector<ValidationCase> validation_cases();
std::vector<ValidationCase> storage_validation_cases();
/// Storage objects and pods with volumes that no check reports. An API server of v1.35 takes them, but for some that
/// have fields of other releases or fields that Berth does not look into.
std::vector<std::string> good_storage_objects();

}  // namespace berth

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

}  // namespace berth

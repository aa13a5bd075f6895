// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace berth {

/// Where an input error was seen and what was expected there. Rendered as
/// "pods.json: items[17].spec.priority: got \"high\", expected an integer".
struct InputProblem {
  std::string source;    ///< file name, "-" for standard input
  std::string location;  ///< "line 12" or a JSON path such as "items[17].spec.priority"; may be empty
  std::string message;   ///< the value and what was expected

  std::string to_string() const;
};

/// Bad input: one or more problems, collected as far as reading could go on. Nothing already accepted is lost.
class InputError : public std::runtime_error {
 public:
  explicit InputError(InputProblem problem);
  explicit InputError(std::vector<InputProblem> problems);
  const std::vector<InputProblem>& problems() const { return problems_; }

 private:
  std::vector<InputProblem> problems_;
};

}  // namespace berth

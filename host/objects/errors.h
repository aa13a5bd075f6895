// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace berth {

/// Where an input error was seen and what was expected there. Rendered as
/// `pods.json: items[17].spec.priority (Pod default/web-0): got "high", expected an integer (and 41 more like it)`.
struct InputProblem {
  std::string source;             ///< file name, "-" for standard input
  std::string location;           ///< "line 12" or a JSON path such as "items[17].spec.priority"; may be empty
  std::string message;            ///< the value and what was expected
  std::string object = {};        ///< kind and name, "Pod default/web-0"; empty where no object is known
  std::int64_t repeat_count = 0;  ///< problems that say the same of other objects, folded into this one
  std::uint64_t group = 0;        ///< set by fold_into(): equal for problems that say the same

  std::string to_string() const;
};

/// Problems that one reader keeps; later ones are counted only.
inline constexpr std::size_t kProblemLimit = 100;

/// Appends `problem`, or counts it as a repetition of one in `problems` that says the same: of an object of the same
/// kind, at the same path except positions, with the same message except quoted values and numbers. Where `problems`
/// holds `limit` entries that all say something else, `problem` is dropped.
void fold_into(std::vector<InputProblem>& problems, InputProblem&& problem, std::size_t limit);

/// Equal for problems that fold_into() would fold: not 0.
std::uint64_t group_of(const InputProblem& problem);

/// Number of problems that `problems` reports, repetitions included.
std::int64_t total_count(const std::vector<InputProblem>& problems);

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

// SPDX-License-Identifier: Apache-2.0
#include "host/objects/errors.h"

#include <utility>

namespace berth {
namespace {

std::string join(const std::vector<InputProblem>& problems) {
  std::string text;
  for (const InputProblem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += problem.to_string();
  }
  return text;
}

}  // namespace

std::string InputProblem::to_string() const {
  std::string text;
  for (const std::string* part : {&source, &location, &message}) {
    if (part->empty()) continue;
    if (!text.empty()) text += ": ";
    text += *part;
  }
  return text;
}

InputError::InputError(InputProblem problem) : InputError(std::vector<InputProblem>{std::move(problem)}) {}

InputError::InputError(std::vector<InputProblem> problems)
    : std::runtime_error(join(problems)), problems_(std::move(problems)) {}

}  // namespace berth

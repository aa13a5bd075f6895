// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "host/objects/loader.h"

namespace berth {

/// Loads text in which nothing may be wrong.
inline ClusterObjects load_good(std::string_view text, const LoadOptions& options = {}) {
  LoadResult result = load_cluster_from_text(text, "test", options);
  for (const InputProblem& problem : result.problems) ADD_FAILURE() << problem.to_string();
  return std::move(result.objects);
}

inline std::vector<std::string> texts(const std::vector<InputProblem>& problems) {
  std::vector<std::string> result;
  for (const InputProblem& problem : problems) result.push_back(problem.to_string());
  return result;
}

/// The problems of one bad text.
inline std::vector<std::string> problems_with_lines(std::string_view text) {
  return texts(load_cluster_from_text(text, "test", {}).problems);
}

/// The same without "line 7, " in their locations.
inline std::vector<std::string> problems_of(std::string_view text) {
  std::vector<InputProblem> problems = load_cluster_from_text(text, "test", {}).problems;
  for (InputProblem& problem : problems) {
    if (!problem.location.starts_with("line ")) continue;
    const std::size_t comma = problem.location.find(", ");
    problem.location.erase(0, comma == std::string::npos ? comma : comma + 2);
  }
  return texts(problems);
}

/// A pod whose spec is one container and the fields of `spec` (JSON fields, each followed by a comma).
inline std::string pod_json(const std::string& spec, const std::string& status = "", const std::string& metadata = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{)" + metadata + R"("name":"p"},"spec":{)" + spec +
         R"("containers":[{"name":"c"}]},"status":{)" + status + "}}";
}

}  // namespace berth

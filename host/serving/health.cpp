// SPDX-License-Identifier: Apache-2.0
#include "host/serving/health.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <set>
#include <utility>

#include "host/objects/json_writer.h"
#include "host/serving/foreign_text.h"

namespace berth {
namespace {

/// @return empty, or why it is not well
std::string problem_of(const HealthCheck& check) {
  try {
    return check.problem();
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// `"bar","foo"`
std::string quoted_list(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    JsonWriter(text).value(name);
  }
  return text;
}

class HealthPath {
 public:
  HealthPath(std::string type, std::vector<HealthCheck> checks, HealthResults& results, ServingLog log)
      : type_(std::move(type)), checks_(std::move(checks)), results_(results), log_(std::move(log)) {}

  ServedAnswer answer(const ServedRequest& request) const {
    std::set<std::string> excluded;
    const auto [first, last] = request.query.equal_range("exclude");
    for (auto name = first; name != last; ++name) excluded.insert(name->second);
    std::set<std::string> unknown = excluded;
    std::string text;
    std::string problems;
    for (const HealthCheck& check : checks_) {
      if (excluded.contains(check.name)) {
        unknown.erase(check.name);
        text += fmt::format("[+]{} excluded: ok\n", check.name);
        continue;
      }
      const std::string problem = problem_of(check);
      results_.add(check.name, type_, problem.empty());
      if (problem.empty()) {
        text += fmt::format("[+]{} ok\n", check.name);
      } else {
        text += fmt::format("[-]{} failed: reason withheld\n", check.name);
        problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", check.name, foreign_text(problem));
      }
    }
    if (!unknown.empty())
      text += fmt::format("warn: some health checks cannot be excluded: no matches for {}\n", quoted_list(unknown));
    if (!problems.empty()) {
      log_(fmt::format("{} check failed: {}", type_, problems));
      return {.status = 500, .body = fmt::format("{}{} check failed\n", text, type_)};
    }
    if (!request.query.contains("verbose")) return {.body = "ok"};
    return {.body = fmt::format("{}{} check passed\n", text, type_)};
  }

  ServedAnswer answer_of(std::size_t index) const {
    const std::string problem = problem_of(checks_[index]);
    if (problem.empty()) return {.body = "ok"};
    return {.status = 500, .body = fmt::format("internal server error: {}\n", problem)};
  }

  const std::vector<HealthCheck>& checks() const { return checks_; }

 private:
  std::string type_;
  std::vector<HealthCheck> checks_;
  HealthResults& results_;
  ServingLog log_;
};

}  // namespace

HealthCheck ping_check() {
  return {"ping", [] { return std::string(); }};
}

void HealthResults::add(std::string_view name, std::string_view type, bool is_well) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Counts& counts = counts_[{std::string(name), std::string(type)}];
  ++(is_well ? counts.successes : counts.errors);
  counts.was_well = is_well;
}

std::map<HealthResults::Key, HealthResults::Counts> HealthResults::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

std::vector<Route> health_routes(const std::string& path, std::vector<HealthCheck> checks, HealthResults& results,
                                 ServingLog log) {
  if (checks.empty()) checks.push_back(ping_check());
  const auto health = std::make_shared<const HealthPath>(path.substr(1), std::move(checks), results, std::move(log));
  std::vector<Route> routes = {{path, [health](const ServedRequest& request) { return health->answer(request); }}};
  for (std::size_t i = 0; i < health->checks().size(); ++i)
    routes.push_back(
        {path + "/" + health->checks()[i].name, [health, i](const ServedRequest&) { return health->answer_of(i); }});
  return routes;
}

}  // namespace berth

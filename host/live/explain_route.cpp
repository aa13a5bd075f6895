// SPDX-License-Identifier: Apache-2.0
#include "host/live/explain_route.h"

#include <charconv>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "host/report/document_formats.h"
#include "host/report/explain_report.h"
#include "host/report/output.h"
#include "host/report/terminal.h"
#include "host/serving/foreign_text.h"

namespace berth {
namespace {

constexpr std::size_t kNodesDefault = 100;
constexpr std::size_t kNodesMax = 100'000;

ServedAnswer plain(int status, const std::string& text) { return {.status = status, .body = text + "\n"}; }

struct Question {
  std::string name_space;
  std::string name;
  bool is_text = false;
  std::size_t nodes_max = kNodesDefault;
};

/// @return why it cannot be used; empty: it is read
std::string read_parameter(const std::string& key, const std::string& value, Question& question) {
  if (key == "pod") {
    const std::size_t slash = value.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == value.size() ||
        value.find('/', slash + 1) != std::string::npos)
      return "pod: expected NAMESPACE/NAME, got " + foreign_text(value);
    question.name_space = value.substr(0, slash);
    question.name = value.substr(slash + 1);
    return {};
  }
  if (key == "format") {
    question.is_text = value == "text";
    return question.is_text || value == "json" ? "" : "format: expected json or text, got " + foreign_text(value);
  }
  if (key == "nodes") {
    const char* const end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, question.nodes_max);
    const bool is_number = error == std::errc() && stopped == end && question.nodes_max <= kNodesMax;
    return is_number ? "" : "nodes: expected a whole number from 0 to 100000, got " + foreign_text(value);
  }
  return "unknown parameter " + foreign_text(key) + "; there are pod, format and nodes";
}

std::string read_question(const ServedRequest& request, Question& question) {
  for (const auto& [key, value] : request.query) {
    if (std::string problem = read_parameter(key, value, question); !problem.empty()) return problem;
    if (request.query.count(key) > 1) return key + ": given more than once";
  }
  if (question.name.empty()) return "pod: expected NAMESPACE/NAME";
  if (question.is_text && request.query.contains("nodes")) return "nodes: goes with format=json only";
  return {};
}

std::string answer_text(const Question& question, const Explanation& explanation, const NodeNames& names,
                        const ClusterCache& cluster) {
  if (question.is_text) return explain_report(explanation, names, cluster, Terminal());
  std::string text;
  {
    Output output(text);
    write_explain_record(explanation, names, *json_writer(output, 0), question.nodes_max);
    output.flush();
  }
  return text;
}

/// On the scheduler's thread. nullopt: there is no such pod.
std::optional<std::string> explained(const Question& question, const SchedulingLoop& loop) {
  const PodPtr pod = loop.find_pod(question.name_space, question.name);
  if (pod == nullptr) return std::nullopt;
  std::string text;
  const ExplainDepth depth = question.is_text ? ExplainDepth::kReport : ExplainDepth::kRecord;
  loop.explain(pod, depth, [&](const Explanation& explanation, const NodeNames& names) {
    text = answer_text(question, explanation, names, loop.cache());
  });
  return text;
}

ServedAnswer answer(LiveScheduler& scheduler, std::mutex& one_at_a_time, const ServedRequest& request) {
  Question question;
  if (const std::string problem = read_question(request, question); !problem.empty()) return plain(400, problem);
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  if (!lock.owns_lock()) return plain(429, "another pod is being explained; try again");
  std::optional<std::string> text;
  std::exception_ptr problem;  // which must not end the scheduler
  const bool was_read = scheduler.read([&](const SchedulingLoop& loop) {
    try {
      text = explained(question, loop);
    } catch (...) {
      problem = std::current_exception();
    }
  });
  if (!was_read) return plain(503, "the scheduler has no complete lists yet, or is ending");
  if (problem) std::rethrow_exception(problem);
  if (!text)
    return plain(
        404, "pod " + foreign_text(question.name_space + "/" + question.name) +
                 " is not known to this scheduler: there is none, it has finished, or it waits for another scheduler");
  return {200, question.is_text ? "text/plain; charset=utf-8" : "application/json", std::move(*text)};
}

}  // namespace

Route explain_route(LiveScheduler& scheduler) {
  return {"/explain", [&scheduler, one_at_a_time = std::make_shared<std::mutex>()](const ServedRequest& request) {
            return answer(scheduler, *one_at_a_time, request);
          }};
}

}  // namespace berth

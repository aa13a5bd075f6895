// SPDX-License-Identifier: Apache-2.0
#include "tests/support/oracle_record.h"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace berth::test {
namespace {

using Json = nlohmann::json;

std::multiset<std::string> texts(const Json& node, const char* key) {
  const auto list = node.find(key);
  if (list == node.end() || list->is_null()) return {};
  return list->get<std::multiset<std::string>>();
}

/// Upstream's records name the extension point before the text of an error.
std::string_view without_point(std::string_view error) {
  for (const std::string_view point : {"prefilter: ", "filter: ", "prescore: ", "score: "}) {
    if (error.starts_with(point)) return error.substr(point.size());
  }
  return error;
}

class Comparison {
 public:
  Comparison(const Json& record, const Backend& backend, const Evaluation& ours, NegativeRaw negative_raw)
      : record_(record), backend_(backend), ours_(ours), negative_raw_(negative_raw) {}

  std::vector<std::string> differences() {
    const std::string error(without_point(record_.value("error", "")));
    if (error != ours_.error) differ("error", error, ours_.error);
    if (!error.empty()) return std::move(found_);
    for (const NodeEvaluation& node : ours_.nodes) ours_by_name_.emplace(backend_.node_name(node.node), &node);
    for (const Json& node : record_.at("nodes")) compare_node(node);
    compare_best();
    compare_rejectors();
    const std::string message = record_.value("message", "");
    if (message != ours_.message) differ("message", message, ours_.message);
    return std::move(found_);
  }

 private:
  template <class Value>
  void differ(const std::string& what, const Value& upstream, const Value& ours) {
    std::ostringstream text;
    text << record_.value("pod", "?") << ": " << what << " is " << ours << ", upstream " << upstream;
    found_.push_back(text.str());
  }

  void compare_node(const Json& upstream) {
    const auto name = upstream.at("node").get<std::string>();
    const auto found = ours_by_name_.find(name);
    if (found == ours_by_name_.end()) return differ(name, std::string("there"), std::string("missing"));
    const NodeEvaluation& ours = *found->second;
    const bool feasible = upstream.at("feasible").get<bool>();
    if (feasible != ours.feasible) return differ(name + " feasible", feasible, ours.feasible);
    feasible ? compare_scores(name, upstream, ours) : compare_status(name, upstream, ours);
  }

  void compare_status(const std::string& name, const Json& upstream, const NodeEvaluation& ours) {
    const std::string plugin = upstream.value("plugin", "");
    if (plugin != ours.status.plugin) differ(name + " plugin", plugin, ours.status.plugin);
    if (plugin == "PreFilter") return;
    const std::string code(to_string(ours.status.code));
    if (upstream.value("code", "") != code) differ(name + " code", upstream.value("code", ""), code);
    const std::multiset<std::string> reasons(ours.status.reasons.begin(), ours.status.reasons.end());
    if (texts(upstream, "reasons") != reasons) {
      differ(name + " reasons", upstream.value("reasons", Json::array()).dump(), ours.status.message());
    }
  }

  void compare_scores(const std::string& name, const Json& upstream, const NodeEvaluation& ours) {
    for (const Json& score : upstream.value("scores", Json::array())) compare_score(name, score, ours);
    const auto total = upstream.at("total").get<std::int64_t>();
    if (total != ours.total) differ(name + " total", total, ours.total);
  }

  void compare_score(const std::string& name, const Json& score, const NodeEvaluation& ours) {
    const auto plugin = score.at("plugin").get<std::string>();
    const auto raw = score.at("raw").get<std::int64_t>();
    const auto normalized = score.at("normalized").get<std::int64_t>();
    const auto weight = score.at("weight").get<std::int32_t>();
    const auto found = std::find_if(ours.scores.begin(), ours.scores.end(),
                                    [&](const PluginScore& own) { return own.plugin == plugin; });
    if (found == ours.scores.end()) {
      if (raw != 0 || normalized != 0) differ(name + " " + plugin, score.dump(), std::string("absent"));
      return;
    }
    if (raw != found->raw && (raw >= 0 || negative_raw_ == NegativeRaw::kCompared)) {
      differ(name + " " + plugin + " raw", raw, found->raw);
    }
    if (normalized != found->normalized) differ(name + " " + plugin + " normalized", normalized, found->normalized);
    if (weight != found->weight) differ(name + " " + plugin + " weight", weight, found->weight);
  }

  void compare_best() {
    std::multiset<std::string> ours;
    for (const NodeIndex node : ours_.best) ours.emplace(backend_.node_name(node));
    const auto upstream = texts(record_, "best");
    if (upstream != ours) differ("best", Json(upstream).dump(), Json(ours).dump());
  }

  /// Of a pod without a feasible node. Older records do not have the list; then the plugins of the nodes must be in
  /// ours, and ours may add the one whose PreFilter refuses or names nodes.
  void compare_rejectors() {
    if (record_.value("message", "").empty() || record_.at("nodes").empty()) return;
    const std::set<std::string> ours(ours_.rejectors.names().begin(), ours_.rejectors.names().end());
    if (record_.contains("rejectors")) {
      const auto upstream = record_.at("rejectors").get<std::set<std::string>>();
      if (upstream != ours) differ("rejectors", Json(upstream).dump(), Json(ours).dump());
      return;
    }
    std::set<std::string> upstream;
    for (const Json& node : record_.at("nodes")) upstream.insert(node.value("plugin", ""));
    const bool any_by_pre_filter = upstream.erase("PreFilter") != 0;
    if (any_by_pre_filter && upstream.empty() ? ours.size() != 1 : !adds_at_most_node_affinity(upstream, ours))
      differ("rejectors", Json(upstream).dump(), Json(ours).dump());
    if (any_by_pre_filter && !upstream.empty() && !ours.contains("NodeAffinity"))
      differ("rejectors", std::string("NodeAffinity"), Json(ours).dump());
  }
  static bool adds_at_most_node_affinity(std::set<std::string> upstream, const std::set<std::string>& ours) {
    if (ours.contains("NodeAffinity")) upstream.insert("NodeAffinity");
    return upstream == ours;
  }

  const Json& record_;
  const Backend& backend_;
  const Evaluation& ours_;
  NegativeRaw negative_raw_;
  std::map<std::string, const NodeEvaluation*, std::less<>> ours_by_name_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> record_differences(const Json& record, const Backend& backend, const Evaluation& ours,
                                            NegativeRaw negative_raw) {
  return Comparison(record, backend, ours, negative_raw).differences();
}

std::string gunzip_file(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) throw std::runtime_error(path + ": cannot be read");
  std::string text;
  std::vector<char> buffer(1 << 16);
  int count = 0;
  while ((count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  if (count < 0) throw std::runtime_error(path + ": is damaged");
  return text;
}

}  // namespace berth::test

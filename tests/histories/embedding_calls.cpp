// SPDX-License-Identifier: Apache-2.0
#include "tests/histories/embedding_calls.h"

#include <fmt/format.h>

#include <stdexcept>

namespace berth::test {
namespace {

using nlohmann::json;

template <class T>
std::vector<T> column(const berth_result& result, std::uint32_t id) {
  berth_column view{};
  must(berth_result_column(&result, id, &view, nullptr), nullptr);
  std::vector<T> values(view.length);
  for (std::size_t i = 0; i < view.length; ++i)
    values[i] = *reinterpret_cast<const T*>(static_cast<const char*>(view.data) + i * view.stride);
  return values;
}

std::string text(const berth_result& result, std::uint32_t number) {
  berth_str found{};
  must(berth_result_text(&result, number, &found, nullptr), nullptr);
  return {found.data, found.size};
}

std::vector<std::string> texts(const berth_result& result, std::uint32_t id) {
  std::vector<std::string> all;
  for (const std::uint32_t number : column<std::uint32_t>(result, id)) all.push_back(text(result, number));
  return all;
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

std::vector<const berth_pod*> pointers(const std::vector<OwnedPod>& pods) {
  std::vector<const berth_pod*> all;
  for (const OwnedPod& pod : pods) all.push_back(pod.get());
  return all;
}

}  // namespace

void must(berth_status status, const berth_error* error) {
  if (status == BERTH_OK) return;
  throw std::runtime_error(fmt::format("{}: {}: {}", berth_status_name(status), error != nullptr ? error->object : "",
                                       error != nullptr ? error->text : ""));
}

/// The reason as `berth schedule` names it.
json Placement::line(std::string_view uid) const {
  json made = {{"place", uid}, {"node", node}, {"score", score}};
  if (!node.empty()) return made;
  // A FitError counts nodes; whatever else is said is an error that ended the cycle.
  const bool is_fit_error = message.starts_with("0/") || message.starts_with("no nodes available");
  made["reason"] = is_fit_error ? "Unschedulable" : "SchedulerError";
  made["message"] = message;
  return made;
}

EmbeddingCalls::EmbeddingCalls(const EngineSettings& settings) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.backend = settings.backend.c_str();
  options.seed = settings.seed;
  options.threads = 1;
  options.release = settings.release.c_str();
  options.scheduler_config_file = text_or_null(settings.config);
  options.feature_gates = text_or_null(settings.feature_gates);
  berth_engine* engine = nullptr;
  must(berth_engine_create(&options, &engine, &error_), &error_);
  engine_.reset(engine);
  berth_cluster* cluster = nullptr;
  must(berth_cluster_create(engine, &cluster, &error_), &error_);
  cluster_.reset(cluster);
}

void EmbeddingCalls::upsert(const json& object) {
  const std::string text = object.dump();
  must(berth_cluster_upsert(cluster_.get(), text.data(), text.size(), &error_), &error_);
}

void EmbeddingCalls::remove(const std::string& kind, const std::string& name_space, const std::string& name) {
  const berth_status status =
      berth_cluster_delete(cluster_.get(), kind.c_str(), text_or_null(name_space), name.c_str(), nullptr, &error_);
  if (status != BERTH_E_NOT_FOUND) must(status, &error_);
}

void EmbeddingCalls::remove_pod(const std::string& uid) {
  const berth_status status = berth_cluster_delete(cluster_.get(), "Pod", nullptr, nullptr, uid.c_str(), &error_);
  if (status != BERTH_E_NOT_FOUND) must(status, &error_);
}

OwnedPod EmbeddingCalls::pod(const json& object) {
  const std::string text = object.dump();
  berth_pod* made = nullptr;
  must(berth_pod_create(cluster_.get(), text.data(), text.size(), nullptr, &made, &error_), &error_);
  return OwnedPod(made);
}

OwnedSnapshot EmbeddingCalls::snapshot() {
  berth_snapshot* made = nullptr;
  must(berth_snapshot_create(cluster_.get(), &made, &error_), &error_);
  return OwnedSnapshot(made);
}

OwnedFork EmbeddingCalls::fork(const berth_snapshot* snapshot) {
  berth_fork* made = nullptr;
  must(berth_snapshot_fork(snapshot, &made, &error_), &error_);
  return OwnedFork(made);
}

OwnedFork EmbeddingCalls::fork(berth_fork* parent) {
  berth_fork* made = nullptr;
  must(berth_fork_fork(parent, &made, &error_), &error_);
  return OwnedFork(made);
}

std::uint32_t EmbeddingCalls::node_number(const std::string& name) {
  std::uint32_t number = BERTH_NO_NODE;
  must(berth_cluster_find_node(cluster_.get(), name.c_str(), &number, &error_), &error_);
  return number;
}

std::string EmbeddingCalls::node_name(std::uint32_t number) {
  if (number == BERTH_NO_NODE) return {};
  berth_str name{};
  must(berth_cluster_node_name(cluster_.get(), number, &name, &error_), &error_);
  return {name.data, name.size};
}

std::vector<std::string> EmbeddingCalls::node_names(const berth_fork* fork) {
  std::size_t count = 0;
  must(berth_fork_nodes(fork, nullptr, 0, &count, &error_), &error_);
  std::vector<std::uint32_t> numbers(count);
  must(berth_fork_nodes(fork, numbers.data(), count, &count, &error_), &error_);
  std::vector<std::string> names;
  for (const std::uint32_t number : numbers) names.push_back(node_name(number));
  return names;
}

void EmbeddingCalls::upsert_node(berth_fork* fork, const json& node) {
  const std::string text = node.dump();
  const berth_status status = berth_fork_add_node(fork, text.data(), text.size(), nullptr, &error_);
  if (status != BERTH_E_EXISTS) return must(status, &error_);
  must(berth_fork_update_node(fork, text.data(), text.size(), &error_), &error_);
}

void EmbeddingCalls::add_pod(berth_fork* fork, const json& pod, const std::string& node) {
  must(berth_fork_add_pod(fork, this->pod(pod).get(), node_number(node), &error_), &error_);
}

void EmbeddingCalls::remove_pod(berth_fork* fork, const std::string& uid) {
  const berth_status status = berth_fork_remove_pod(fork, uid.c_str(), &error_);
  if (status != BERTH_E_NOT_FOUND) must(status, &error_);
}

void EmbeddingCalls::check_all(const berth_snapshot* snapshot, berth_fork* fork, const std::vector<OwnedPod>& pods,
                               json& checks, std::uint32_t flags) {
  const std::vector<const berth_pod*> all = pointers(pods);
  berth_result* made = nullptr;
  must(snapshot != nullptr ? berth_snapshot_check_bulk(snapshot, all.data(), all.size(), nullptr, flags, &made, &error_)
                           : berth_fork_check_bulk(fork, all.data(), all.size(), nullptr, flags, &made, &error_),
       &error_);
  const OwnedResult result(made);
  const auto numbers = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto judged = column<std::uint8_t>(*result, BERTH_COLUMN_JUDGED);
  const auto fits = column<std::uint8_t>(*result, BERTH_COLUMN_FITS);
  const auto codes = column<std::uint8_t>(*result, BERTH_COLUMN_CODE);
  const auto phases = column<std::uint8_t>(*result, BERTH_COLUMN_PHASE);
  const auto plugins = texts(*result, BERTH_COLUMN_PLUGIN);
  const auto reasons = texts(*result, BERTH_COLUMN_REASONS);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    json nodes = json::array();
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const std::size_t i = p * numbers.size() + n;
      nodes.push_back({{"node", node_name(numbers[n])},
                       {"fits", fits[i] != 0},
                       {"code", codes[i]},
                       {"phase", phases[i]},
                       {"plugin", plugins[i]},
                       {"reasons", reasons[i]}});
    }
    checks[p]["judged"] = judged[p];
    checks[p]["nodes"] = std::move(nodes);
  }
}

json EmbeddingCalls::explain(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod) {
  berth_result* made = nullptr;
  must(snapshot != nullptr ? berth_snapshot_explain(snapshot, pod, 0, &made, &error_)
                           : berth_fork_explain(fork, pod, 0, &made, &error_),
       &error_);
  const OwnedResult result(made);
  berth_str record{};
  must(berth_result_json(result.get(), &record, &error_), &error_);
  return json::parse(std::string_view(record.data, record.size));
}

std::vector<Placement> EmbeddingCalls::schedule(berth_fork* fork, const std::vector<OwnedPod>& pods) {
  const std::vector<const berth_pod*> all = pointers(pods);
  berth_result* made = nullptr;
  must(berth_fork_schedule(fork, all.data(), all.size(), nullptr, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto scores = column<std::int64_t>(*result, BERTH_COLUMN_SCORE);
  const auto messages = texts(*result, BERTH_COLUMN_MESSAGE);
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < nodes.size(); ++i) placements.push_back({node_name(nodes[i]), scores[i], messages[i]});
  return placements;
}

std::int64_t EmbeddingCalls::max_replicas(berth_fork* fork, const berth_pod* shape) {
  berth_result* made = nullptr;
  const berth_status status = berth_fork_max_replicas(fork, &shape, 1, nullptr, &made, &error_);
  if (status == BERTH_E_UNSUPPORTED) return -1;
  must(status, &error_);
  const OwnedResult result(made);
  if (column<std::uint8_t>(*result, BERTH_COLUMN_JUDGED).front() == BERTH_JUDGED_NOT) return -1;
  return column<std::int64_t>(*result, BERTH_COLUMN_COUNT).front();
}

std::vector<Moved> EmbeddingCalls::drain(berth_fork* fork, const std::string& node, std::uint32_t rules_off) {
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.rules_off = rules_off;
  const std::uint32_t number = node_number(node);
  berth_result* made = nullptr;
  must(berth_fork_drain(fork, &number, 1, &options, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto uids = texts(*result, BERTH_COLUMN_POD);
  const auto outcomes = column<std::uint8_t>(*result, BERTH_COLUMN_OUTCOME);
  const auto targets = column<std::uint32_t>(*result, BERTH_COLUMN_TARGET);
  std::vector<Moved> moved;
  for (std::size_t i = 0; i < uids.size(); ++i) moved.push_back({uids[i], outcomes[i], node_name(targets[i])});
  return moved;
}

std::vector<Estimated> EmbeddingCalls::scale_up(berth_fork* fork, const std::vector<OwnedPod>& pods, const json& node,
                                                std::uint32_t flags) {
  const std::vector<const berth_pod*> all = pointers(pods);
  const std::string text = node.dump();
  berth_shape shape = BERTH_SHAPE_INIT;
  shape.node = text.data();
  shape.node_size = text.size();
  const berth_shape* const shapes = &shape;
  berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
  options.flags = flags;
  berth_result* made = nullptr;
  must(berth_fork_scale_up(fork, all.data(), all.size(), &shapes, 1, &options, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto new_nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NEW_NODE);
  const auto reasons = texts(*result, BERTH_COLUMN_REASONS);
  std::vector<Estimated> estimated;
  for (std::size_t i = 0; i < nodes.size(); ++i) estimated.push_back({node_name(nodes[i]), new_nodes[i], reasons[i]});
  return estimated;
}

}  // namespace berth::test

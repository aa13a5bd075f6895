// SPDX-License-Identifier: Apache-2.0
#include "host/cli/find_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "host/config/config_reader.h"
#include "host/objects/edit_distance.h"
#include "host/objects/pod_state.h"
#include "host/report/figures.h"

namespace berth {
namespace {

constexpr std::size_t kSuggestionsMax = 3;
constexpr int kFinishedRank = 2;

struct SplitName {
  std::string_view name_space;  ///< empty: any
  std::string_view name;
};

SplitName split(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash == text.npos ? SplitName{"", text} : SplitName{text.substr(0, slash), text.substr(slash + 1)};
}

/// Calls visit(namespace, name, pod) for every pod; pod is null for finished ones that `finished` does not have.
template <class Visit>
void for_each_pod(const ClusterObjects& objects, const std::vector<PodPtr>& finished, Visit&& visit) {
  for (const PodPtr& pod : objects.pods) visit(std::string_view(pod->namespace_), std::string_view(pod->name), pod);
  for (std::size_t i = 0; i < objects.terminal_pods.size(); ++i) {
    const SplitName parts = split(objects.terminal_pods[i]);
    visit(parts.name_space, parts.name, i < finished.size() ? finished[i] : PodPtr());
  }
}

/// Pending pods first, then running ones, then finished ones.
int rank_of(const PodPtr& pod) {
  if (pod == nullptr || is_finished(*pod)) return kFinishedRank;
  return is_assigned(*pod) ? 1 : 0;
}

/// The pods of that name, only those of the lowest rank that has any.
std::vector<FoundPod> candidates(const SplitName& wanted, const ClusterObjects& objects,
                                 const std::vector<PodPtr>& finished) {
  std::vector<FoundPod> found;
  int lowest = kFinishedRank + 1;
  for_each_pod(objects, finished, [&](std::string_view name_space, std::string_view name, const PodPtr& pod) {
    if (name != wanted.name || (!wanted.name_space.empty() && name_space != wanted.name_space)) return;
    const int rank = rank_of(pod);
    if (rank > lowest) return;
    if (rank < lowest) found.clear();
    lowest = rank;
    found.push_back({pod, fmt::format("{}/{}", name_space, name)});
  });
  return found;
}

std::string not_found(const std::string& text, const SplitName& wanted, const ClusterObjects& objects) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored))
    return fmt::format("{} is a file: with explain each file takes its own -f", quoted_for_message(text));
  std::string message = fmt::format("no pod {} in the input", quoted_for_message(text));
  if (!wanted.name_space.empty() && text.find('/') == text.npos)
    message = fmt::format("no pod {} in namespace {} of the input", quoted_for_message(text),
                          quoted_for_message(wanted.name_space));
  const std::vector<std::string> near =
      near_pod_names(wanted.name_space.empty() ? text : fmt::format("{}/{}", wanted.name_space, wanted.name), objects);
  if (near.empty()) return message;
  return message + fmt::format("; did you mean {}?", fmt::join(near, " or "));
}

std::string ambiguous(const std::string& text, const std::vector<FoundPod>& found) {
  return fmt::format("{} pods are named {}: say which with its namespace, as {} or {}",
                     grouped(static_cast<std::int64_t>(found.size())), quoted_for_message(text), found[0].name,
                     found[1].name);
}

/// How far a pod's name is from the wanted one; nullopt: too far to be meant.
std::optional<std::size_t> farness(const SplitName& wanted, std::string_view name) {
  constexpr std::size_t kLettersAMistake = 4;
  if (name == wanted.name) return 0;
  if (wanted.name.empty()) return std::nullopt;
  if (name.starts_with(wanted.name)) return 1;
  // Every name of one or two letters is a mistake away from every other.
  const std::size_t most = wanted.name.size() < 3 ? 0 : std::max<std::size_t>(1, wanted.name.size() / kLettersAMistake);
  const std::size_t distance = edit_distance(wanted.name, name, most);
  if (distance <= most) return 1 + distance;
  if (name.find(wanted.name) != name.npos) return 2 + most;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> near_pod_names(std::string_view name, const ClusterObjects& objects) {
  struct Near {
    std::size_t farness;
    bool in_other_namespace;
    std::string name;
  };
  const SplitName wanted = split(name);
  std::vector<Near> best;
  const auto is_nearer = [](const Near& a, const Near& b) {
    return std::pair(a.farness, a.in_other_namespace) < std::pair(b.farness, b.in_other_namespace);
  };
  for_each_pod(objects, {}, [&](std::string_view name_space, std::string_view pod_name, const PodPtr&) {
    const std::optional<std::size_t> far = farness(wanted, pod_name);
    if (!far) return;
    const bool is_elsewhere = !wanted.name_space.empty() && name_space != wanted.name_space;
    const Near near{*far, is_elsewhere, {}};
    if (best.size() == kSuggestionsMax && !is_nearer(near, best.back())) return;
    const auto at = best.insert(std::upper_bound(best.begin(), best.end(), near, is_nearer), near);
    at->name = fmt::format("{}/{}", name_space, pod_name);
    if (best.size() > kSuggestionsMax) best.pop_back();
  });
  std::vector<std::string> names;
  names.reserve(best.size());
  for (Near& near : best) names.push_back(std::move(near.name));
  return names;
}

std::vector<FoundPod> find_pods(const std::vector<std::string>& names, const std::string& name_space,
                                const ClusterObjects& objects, const std::vector<PodPtr>& finished) {
  std::vector<FoundPod> result;
  std::string problems;
  for (const std::string& text : names) {
    SplitName wanted = split(text);
    const bool is_elsewhere = !name_space.empty() && !wanted.name_space.empty() && wanted.name_space != name_space;
    if (wanted.name_space.empty()) wanted.name_space = name_space;
    std::vector<FoundPod> found = candidates(wanted, objects, finished);
    if (found.size() == 1 && !is_elsewhere) {
      result.push_back(std::move(found.front()));
      continue;
    }
    problems += (problems.empty() ? "" : "; ");
    if (is_elsewhere) {
      problems += fmt::format("{} names another namespace than -n {}", quoted_for_message(text),
                              quoted_for_message(name_space));
      continue;
    }
    problems += found.empty() ? not_found(text, wanted, objects) : ambiguous(text, found);
  }
  if (!problems.empty()) throw std::runtime_error(problems);
  return result;
}

}  // namespace berth

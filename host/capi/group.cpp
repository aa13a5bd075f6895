// SPDX-License-Identifier: Apache-2.0
#include "host/capi/group.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "host/capi/counting.h"

namespace berth::capi {
namespace {

/// The nodes of one value of a label key.
struct Domain {
  std::string_view value;
  NodeNumbers nodes;
  std::int64_t copies = 0;  ///< of the pods, that fit in it
};

/// The pods placed in some nodes, in a fork of the fork.
struct Try {
  std::shared_ptr<WhatIf> fork;
  std::unique_ptr<Result> result;
  std::size_t placed = 0;
  std::size_t number = 0;
};

class Group {
 public:
  Group(WhatIf& fork, std::span<const PodHandlePtr> pods, const GroupOptions& options, const StopWatch& watch)
      : fork_(fork),
        pods_(pods),
        options_(options),
        minimum_(options.minimum == 0 ? pods.size() : options.minimum),
        watch_(watch),
        tries_(std::make_unique<Result>(fork.cluster(), fork.facts().version)) {
    for (const std::uint32_t id : {BERTH_COLUMN_TRY_KEY, BERTH_COLUMN_TRY_VALUE, BERTH_COLUMN_TRY_PLACED,
                                   BERTH_COLUMN_TRY_POD, BERTH_COLUMN_TRY_REASONS})
      tries_->column<std::uint32_t>(id);
  }

  Answer run() {
    for (const char* const key : options_.keys) {
      for (const Domain& domain : domains_of(key)) {
        if (is_late_ || is_done()) break;
        try_in(key, domain.value, &domain.nodes);
      }
      if (is_late_ || is_done()) break;
    }
    if (!is_late_ && !is_done() && options_.domain != BERTH_DOMAIN_REQUIRED) try_in("", "", options_.nodes);
    return finish();
  }
  /// The answer of a call that its token ended before a pod was tried.
  Answer nothing_placed() {
    is_late_ = true;
    return finish();
  }

 private:
  bool is_done() const { return best_ && best_->placed == pods_.size(); }

  /// Most copies first.
  std::vector<Domain> domains_of(const char* key) {
    std::map<std::string_view, std::vector<std::uint32_t>> numbers_of_value;
    for (const Roster::Entry& entry : fork_.facts().roster->entries())
      if (options_.nodes == nullptr || options_.nodes->contains(entry.number))
        if (const auto value = entry.labels.find(key)) numbers_of_value[*value].push_back(entry.number);
    std::vector<Domain> domains;
    for (const auto& [value, numbers] : numbers_of_value) {
      if (is_late_) return {};
      Domain domain{value, NodeNumbers(numbers)};
      domain.copies = copies_in(domain.nodes);
      domains.push_back(std::move(domain));
    }
    if (is_late_) return {};
    std::ranges::stable_sort(domains, std::greater(), &Domain::copies);
    return domains;
  }

  std::int64_t copies_in(const NodeNumbers& nodes) {
    std::vector<const ReadPod*> judged;
    for (const PodHandlePtr& pod : pods_)
      if (!pod->pod->not_judged) judged.push_back(pod->pod.get());
    const std::optional<std::vector<bool>> among = nodes_among(fork_.state(), &nodes, options_.flags);
    const CopyCounts counts =
        count_copies(fork_.state().fork, fork_.cluster(), judged, {&*among, false, false}, watch_);
    is_late_ = is_late_ || counts.pods.size() < judged.size() || watch_.is_over();
    std::int64_t copies = 0;
    for (const CopyCounts::OfPod& of_pod : counts.pods) copies += of_pod.count;
    return copies;
  }

  void try_in(std::string_view key, std::string_view value, const NodeNumbers* nodes) {
    is_late_ = watch_.is_over();
    if (is_late_) return;
    ScheduleOptions options;
    options.flags = options_.flags | (minimum_ == pods_.size() ? BERTH_STOP_AT_FAILURE : 0);
    options.nodes = nodes;
    Try now{fork_.fork(), nullptr, 0, tries_->column<std::uint32_t>(BERTH_COLUMN_TRY_KEY).size()};
    Answer scheduled = schedule(*now.fork, pods_, options, watch_);
    is_late_ = scheduled.status != BERTH_OK;
    if (is_late_) return;
    now.result = std::move(scheduled.result);
    const auto& fits = now.result->column<std::uint8_t>(BERTH_COLUMN_FITS);
    now.placed = static_cast<std::size_t>(std::ranges::count(fits, 1));
    const auto failed = static_cast<std::size_t>(std::ranges::find(fits, 0) - fits.begin());
    note_try(key, value, now, failed);
    if (now.placed >= minimum_ && (!best_ || now.placed > best_->placed)) best_ = std::move(now);
  }

  /// @param failed  the first pod without a node; the number of pods that were tried: each has one
  void note_try(std::string_view key, std::string_view value, const Try& now, std::size_t failed) {
    const auto add = [&](std::uint32_t id, std::uint32_t element) {
      tries_->column<std::uint32_t>(id).push_back(element);
    };
    const auto& messages = now.result->column<std::uint32_t>(BERTH_COLUMN_MESSAGE);
    const bool has_failed = failed < messages.size();
    add(BERTH_COLUMN_TRY_KEY, tries_->number_of(key));
    add(BERTH_COLUMN_TRY_VALUE, tries_->number_of(value));
    add(BERTH_COLUMN_TRY_PLACED, static_cast<std::uint32_t>(now.placed));
    add(BERTH_COLUMN_TRY_POD, has_failed ? static_cast<std::uint32_t>(failed) : BERTH_NO_POD);
    add(BERTH_COLUMN_TRY_REASONS, has_failed ? tries_->number_of(now.result->text(messages[failed])) : 0);
  }

  /// The columns of the tries and of the pods; then the try that is taken is done in the fork.
  Answer finish() {
    const bool is_taken = best_ && !is_late_;
    auto& node = tries_->column<std::uint32_t>(BERTH_COLUMN_NODE);
    auto& fits = tries_->column<std::uint8_t>(BERTH_COLUMN_FITS);
    auto& judged = tries_->column<std::uint8_t>(BERTH_COLUMN_JUDGED);
    auto& score = tries_->column<std::int64_t>(BERTH_COLUMN_SCORE);
    auto& message = tries_->column<std::uint32_t>(BERTH_COLUMN_MESSAGE);
    auto& taken = tries_->column<std::uint8_t>(BERTH_COLUMN_TRY_TAKEN);
    taken.resize(tries_->column<std::uint32_t>(BERTH_COLUMN_TRY_KEY).size());
    if (is_taken) {
      Result& of = *best_->result;
      node = of.column<std::uint32_t>(BERTH_COLUMN_NODE);
      fits = of.column<std::uint8_t>(BERTH_COLUMN_FITS);
      judged = of.column<std::uint8_t>(BERTH_COLUMN_JUDGED);
      score = of.column<std::int64_t>(BERTH_COLUMN_SCORE);
      for (const std::uint32_t text : of.column<std::uint32_t>(BERTH_COLUMN_MESSAGE))
        message.push_back(tries_->number_of(of.text(text)));
      taken[best_->number] = 1;
      fork_.take_in(*best_->fork);
    } else {
      node.assign(pods_.size(), BERTH_NO_NODE);
      fits.resize(pods_.size());
      score.resize(pods_.size());
      for (const PodHandlePtr& pod : pods_) {
        const std::optional<NotJudged>& why_not = pod->pod->not_judged;
        judged.push_back(why_not ? BERTH_JUDGED_NOT : pod->pod->ignores ? BERTH_JUDGED_IGNORING : BERTH_JUDGED);
        message.push_back(why_not ? tries_->number_of(why_not->text) : 0);
      }
    }
    return {std::move(tries_), is_late_ ? watch_.stop() : BERTH_OK};
  }

  WhatIf& fork_;
  std::span<const PodHandlePtr> pods_;
  const GroupOptions& options_;
  std::size_t minimum_;
  const StopWatch& watch_;
  std::unique_ptr<Result> tries_;  ///< becomes the answer
  std::optional<Try> best_;
  bool is_late_ = false;
};

}  // namespace

Answer schedule_group(WhatIf& fork, std::span<const PodHandlePtr> pods, const GroupOptions& options,
                      const StopWatch& watch) {
  refuse_twice(pods);
  Group group(fork, pods, options, watch);
  return begin_placing(fork, pods, options.flags, watch) ? group.run() : group.nothing_placed();
}

}  // namespace berth::capi

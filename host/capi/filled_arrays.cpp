// SPDX-License-Identifier: Apache-2.0
#include "host/capi/filled_arrays.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace berth::capi {

std::size_t count_of_nodes(const Roster& roster, const NodeNumbers* nodes) {
  if (nodes == nullptr) return roster.entries().size();
  return static_cast<std::size_t>(std::ranges::count_if(
      roster.entries(), [&](const Roster::Entry& entry) { return nodes->contains(entry.number); }));
}

void fill_mask(WhatIf& fork, const ReadPod& pod, const CheckOptions& options, std::span<std::uint8_t> fits) {
  if (pod.not_judged) {
    std::ranges::fill(fits, 0);
    return;
  }
  const MovedState moved(fork.state(), pod, options.flags);
  const State state = moved.state();
  const std::shared_ptr<const NodeIndexes> indexes = indexes_of(state);
  const PodToPlace& to_place = pod.placeable((options.flags & BERTH_AS_MOVED) != 0);
  const bool skips_cordoned = (options.flags & BERTH_SKIP_CORDONED) != 0;
  if (options.nodes == nullptr && !skips_cordoned) return state.fork.accepts_on(to_place, indexes->of_entry, fits);

  std::vector<NodeIndex> asked;
  std::vector<std::size_t> positions;  // of these in the answer
  std::size_t position = 0;
  const std::span<const Roster::Entry> entries = state.facts.roster->entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (options.nodes != nullptr && !options.nodes->contains(entries[i].number)) continue;
    if (!skips_cordoned || !entries[i].is_cordoned) {
      asked.push_back(indexes->of_entry[i]);
      positions.push_back(position);
    }
    ++position;
  }
  std::vector<std::uint8_t> accepts(asked.size());
  state.fork.accepts_on(to_place, asked, accepts);
  std::ranges::fill(fits, 0);
  for (std::size_t i = 0; i < asked.size(); ++i) fits[positions[i]] = accepts[i];
}

void fill_use(WhatIf& fork, std::span<const std::string> resources, std::size_t length, std::int64_t* requested,
              std::int64_t* allocatable) {
  const State state = fork.state();
  const std::shared_ptr<const NodeIndexes> indexes = indexes_of(state);
  state.fork.amounts_on(resources, indexes->of_entry, {requested, requested != nullptr ? length : 0},
                        {allocatable, allocatable != nullptr ? length : 0});
}

}  // namespace berth::capi

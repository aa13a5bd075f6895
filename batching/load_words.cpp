// SPDX-License-Identifier: Apache-2.0
#include "batching/load_words.h"

#include <span>

#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {

std::vector<std::uint64_t> load_words(const PodClass& pod_class, const Snapshot& snapshot) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(snapshot.slot_count()), 0);
  for (std::size_t r = 0; r < pod_class.requested.size(); ++r) {
    const RequestedResource& request = pod_class.requested[r];
    const std::uint64_t is_short = std::uint64_t{1} << (LoadWord::kInsufficientAt + static_cast<int>(r));
    const auto add = [&](std::uint64_t& word, std::int64_t allocatable, std::int64_t requested) {
      const bool lacks = NodeResourcesFit::is_short(request.amount, allocatable, requested);
      const bool always = NodeResourcesFit::is_unresolvable(request.amount, allocatable);
      word |= (lacks ? is_short : 0) | (lacks && always ? LoadWord::kUnresolvable : 0);
    };
    if (request.column == kNoColumn) {
      for (std::uint64_t& word : words) add(word, 0, 0);
      continue;
    }
    snapshot.for_each_run(request.column, [&](std::int32_t first, std::span<const std::int64_t> allocatable,
                                              std::span<const std::int64_t> requested) {
      std::uint64_t* const of_run = words.data() + first;
      for (std::size_t i = 0; i < allocatable.size(); ++i) add(of_run[i], allocatable[i], requested[i]);
    });
  }
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) {
    std::uint64_t& word = words[static_cast<std::size_t>(i)];
    if (NodeResourcesFit::too_many_pods(snapshot.pod_count(i), snapshot.allowed_pods(i)))
      word |= LoadWord::kTooManyPods;
    if (!pod_class.ports.empty() && ports_conflict(pod_class.ports, snapshot.used_ports(i)))
      word |= LoadWord::kPortsTaken;
  }
  return words;
}

}  // namespace berth

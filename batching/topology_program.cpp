// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_program.h"

namespace berth {
namespace {

template <class Number>
void append_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Lists begin with their length, so that different programs have different bytes.
template <class Entry, class Write>
void append_list(std::string& out, const std::vector<Entry>& list, Write write) {
  append_number(out, list.size());
  for (const Entry& entry : list) write(entry);
}

void append_text(std::string& out, const std::string& text) {
  append_number(out, text.size());
  out += text;
}

}  // namespace

std::string signature_of(const TopologyProgram& program, const std::vector<CountMove>& moves) {
  std::string out;
  const auto numbers = [&](auto... number) { (append_number(out, number), ...); };
  append_list(out, program.hard, [&](const HardSpread& hard) {
    numbers(hard.table, hard.max_skew, hard.min_domains, hard.self, hard.query);
  });
  append_list(out, program.soft,
              [&](const SoftSpread& soft) { numbers(soft.table, soft.label_column, soft.max_skew); });
  append_list(out, program.affinity, numbers);
  append_list(out, program.anti, [&](const OwnAntiTerm& anti) { numbers(anti.table, anti.query); });
  append_list(out, program.existing_anti, numbers);
  append_list(out, program.scores, [&](const ScoredTable& score) { numbers(score.table, score.multiplier); });
  append_list(out, moves, [&](const CountMove& move) { numbers(move.table, move.amount); });
  numbers(program.ignores_incomplete, program.affinity_query, program.matches_itself);
  for (const std::string* text : {&program.pre_filter_error, &program.pre_filter_message, &program.pre_score_error})
    append_text(out, *text);
  return out;
}

}  // namespace berth

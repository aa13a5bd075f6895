// SPDX-License-Identifier: Apache-2.0
#include "host/report/explain_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "host/report/figures.h"
#include "host/report/table.h"

namespace berth {
namespace {

constexpr std::size_t kClaimRowsMax = 40;
constexpr std::size_t kClaimExamplesMax = 3;
constexpr int kClaimVerdictColumnsMax = 64;

/// Nodes on which a claim has one verdict.
struct ClaimRow {
  const ClaimVerdict* verdict;
  std::size_t place;  ///< of the claim in the pod
  std::int64_t node_count = 0;
  std::vector<NodeIndex> examples = {};
};

std::string text_of(const ClaimVerdict& verdict) {
  using Kind = ClaimVerdict::Kind;
  switch (verdict.kind) {
    case Kind::kBound:
      return "is bound to the volume " + verdict.detail;
    case Kind::kMatched:
      return "takes the volume " + verdict.detail;
    case Kind::kProvisioned:
      return fmt::format("has a volume made by the class {}", verdict.detail);
    case Kind::kUnbound:
      return verdict.detail.empty()
                 ? std::string("is unbound, and has no class that waits for pods")
                 : fmt::format("is unbound; class {} does not wait for pods, or is not there", verdict.detail);
    case Kind::kRefused:
      return verdict.detail;
    case Kind::kNotReached:
      break;
  }
  return "not looked at: another claim ended the search";
}

Emphasis emphasis_of(const ClaimVerdict& verdict) {
  using Kind = ClaimVerdict::Kind;
  if (verdict.kind == Kind::kNotReached) return Emphasis::kPlain;
  return verdict.kind == Kind::kRefused || verdict.kind == Kind::kUnbound ? Emphasis::kWarning : Emphasis::kGood;
}

std::vector<ClaimRow> rows_of(const Explanation& explanation) {
  std::vector<ClaimRow> rows;
  for (std::size_t n = 0; n < explanation.claims.size(); ++n) {
    for (std::size_t c = 0; c < explanation.claims[n].size(); ++c) {
      const ClaimVerdict& verdict = explanation.claims[n][c];
      const auto is_it = [&](const ClaimRow& row) { return row.place == c && *row.verdict == verdict; };
      auto row = std::find_if(rows.begin(), rows.end(), is_it);
      if (row == rows.end()) row = rows.insert(rows.end(), {&verdict, c});
      ++row->node_count;
      if (row->examples.size() < kClaimExamplesMax) row->examples.push_back(explanation.evaluation.nodes[n].node);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClaimRow& a, const ClaimRow& b) { return a.place < b.place; });
  return rows;
}

}  // namespace

std::string claims_text(const Explanation& explanation, const NodeNames& node_name, const Terminal& terminal) {
  const std::vector<ClaimRow> rows = rows_of(explanation);
  if (rows.empty()) return {};
  Table table(
      {{"claim"}, {"nodes", Align::kRight}, {"verdict", Align::kLeft, kClaimVerdictColumnsMax}, {"for example"}});
  for (std::size_t r = 0; r < std::min(rows.size(), kClaimRowsMax); ++r) {
    const ClaimRow& row = rows[r];
    std::string examples;
    for (const NodeIndex node : row.examples) examples.append(examples.empty() ? "" : ", ").append(node_name(node));
    if (row.node_count > static_cast<std::int64_t>(row.examples.size())) examples += ", ...";
    table.add_row(
        {row.verdict->claim, grouped(row.node_count), {text_of(*row.verdict), emphasis_of(*row.verdict)}, examples});
  }
  const std::size_t left_out = rows.size() - std::min(rows.size(), kClaimRowsMax);
  return "\n" + terminal.paint("Volume claims", Emphasis::kBold) + "\n" + table.render(terminal, 2) +
         (left_out == 0 ? std::string()
                        : fmt::format("  ... and {}\n",
                                      counted(static_cast<std::int64_t>(left_out), "more verdict", "more verdicts")));
}

}  // namespace berth

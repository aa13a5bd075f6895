// SPDX-License-Identifier: Apache-2.0
#include "host/capi/result_columns.h"

#include <algorithm>
#include <iterator>

#include "include/berth/berth.h"

namespace berth::capi {
namespace {

/// By number.
constexpr ResultColumn kColumns[] = {
    {BERTH_COLUMN_NODE, "node", ResultColumn::Kind::kNode},
    {BERTH_COLUMN_FITS, "fits", ResultColumn::Kind::kFlag},
    {BERTH_COLUMN_JUDGED, "judged"},
    {BERTH_COLUMN_CODE, "code"},
    {BERTH_COLUMN_PHASE, "phase"},
    {BERTH_COLUMN_PLUGIN, "plugin", ResultColumn::Kind::kText},
    {BERTH_COLUMN_REASONS, "reasons", ResultColumn::Kind::kText},
    {BERTH_COLUMN_SCORE, "score", ResultColumn::Kind::kScore},
    {BERTH_COLUMN_MESSAGE, "message", ResultColumn::Kind::kText},
    {BERTH_COLUMN_VIOLATIONS, "violations"},
    {BERTH_COLUMN_BEST, "best", ResultColumn::Kind::kFlag},
    {BERTH_COLUMN_VICTIM_BEGIN, "victim_begin"},
    {BERTH_COLUMN_VICTIM, "victim", ResultColumn::Kind::kText},
    {BERTH_COLUMN_COUNT, "count"},
    {BERTH_COLUMN_COUNT_ON_NODE, "count_on_node"},
    {BERTH_COLUMN_VALUE, "value", ResultColumn::Kind::kText},
    {BERTH_COLUMN_VALUE_BEGIN, "value_begin"},
    {BERTH_COLUMN_COUNT_OF_VALUE, "count_of_value"},
    {BERTH_COLUMN_TRY_KEY, "try_key", ResultColumn::Kind::kText},
    {BERTH_COLUMN_TRY_VALUE, "try_value", ResultColumn::Kind::kText},
    {BERTH_COLUMN_TRY_PLACED, "try_placed"},
    {BERTH_COLUMN_TRY_POD, "try_pod", ResultColumn::Kind::kPosition},
    {BERTH_COLUMN_TRY_REASONS, "try_reasons", ResultColumn::Kind::kText},
    {BERTH_COLUMN_TRY_TAKEN, "try_taken", ResultColumn::Kind::kFlag},
    {BERTH_COLUMN_OWNER, "owner", ResultColumn::Kind::kText},
    {BERTH_COLUMN_UID, "uid", ResultColumn::Kind::kText},
    {BERTH_COLUMN_NEW_NODE, "new_node", ResultColumn::Kind::kPosition},
    {BERTH_COLUMN_SHAPE, "shape", ResultColumn::Kind::kPosition},
    {BERTH_COLUMN_NODE_COUNT, "node_count"},
    {BERTH_COLUMN_PLACED, "placed"},
    {BERTH_COLUMN_CAP, "cap"},
    {BERTH_COLUMN_CAP_RESOURCE, "cap_resource", ResultColumn::Kind::kText},
    {BERTH_COLUMN_RESOURCE, "resource", ResultColumn::Kind::kText},
    {BERTH_COLUMN_REQUESTED, "requested"},
    {BERTH_COLUMN_ALLOCATABLE, "allocatable"},
    {BERTH_COLUMN_REMOVABLE, "removable", ResultColumn::Kind::kFlag},
    {BERTH_COLUMN_RULE, "rule"},
    {BERTH_COLUMN_BLOCKING_POD, "blocking_pod", ResultColumn::Kind::kText},
    {BERTH_COLUMN_POD_BEGIN, "pod_begin"},
    {BERTH_COLUMN_POD, "pod", ResultColumn::Kind::kText},
    {BERTH_COLUMN_OUTCOME, "outcome"},
    {BERTH_COLUMN_POD_RULE, "pod_rule"},
    {BERTH_COLUMN_TARGET, "target", ResultColumn::Kind::kNode},
    {BERTH_COLUMN_PRICE, "price"},
    {BERTH_COLUMN_POD_CLASS, "pod_class"},
    {BERTH_COLUMN_PLACED_OF_CLASS, "placed_of_class"},
    {BERTH_COLUMN_REJECTORS, "rejectors", ResultColumn::Kind::kText},
    {BERTH_COLUMN_PENDING_REJECTORS, "pending_rejectors", ResultColumn::Kind::kText},
};

}  // namespace

const ResultColumn* find_result_column(std::uint32_t id) noexcept {
  const auto* const at =
      std::lower_bound(std::begin(kColumns), std::end(kColumns), id,
                       [](const ResultColumn& column, std::uint32_t wanted) { return column.id < wanted; });
  return at != std::end(kColumns) && at->id == id ? at : nullptr;
}

}  // namespace berth::capi

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/capi/result.h"

namespace berth::capi {

/// The columns of a result as one record of docs/schemas/result-record.schema.json. @return empty: it has no columns
std::string record_of(const Result& result);

}  // namespace berth::capi

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "batching/backend.h"
#include "host/cli/document_writer.h"
#include "host/objects/pod.h"

namespace berth {

using NodeNames = std::function<std::string_view(NodeIndex)>;

/// One record of docs/schemas/explain-record.schema.json, with a line end.
/// "message" and "error" are there only when they say something, "reasons" only when there are some.
void write_explain_record(const Pod& pod, const Evaluation& evaluation, const NodeNames& node_name,
                          DocumentWriter& writer);

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The formats of documents, for the program.

#include <memory>

#include "host/objects/document_writer.h"
#include "host/report/output.h"

namespace berth {

/// @param spread_depth containers nested less deep than this have one entry a line; 0 writes one line
std::unique_ptr<DocumentWriter> json_writer(Output& output, int spread_depth);
/// Block style; strings that YAML would read as something else are quoted.
std::unique_ptr<DocumentWriter> yaml_writer(Output& output);

}  // namespace berth

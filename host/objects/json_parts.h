// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts that several kinds of objects are written with.

#include <optional>
#include <string_view>
#include <vector>

#include "host/objects/json_writer.h"
#include "host/objects/pod.h"
#include "host/objects/selectors.h"
#include "host/objects/volumes.h"

namespace berth {

void write_requirements(JsonWriter& w, std::string_view name, const std::vector<SelectorRequirement>& requirements);
/// Nothing for a null selector.
void write_selector(JsonWriter& w, std::string_view name, const std::optional<LabelSelector>& selector);
void write_term(JsonWriter& w, const NodeSelectorTerm& term);
void write_tolerations(JsonWriter& w, const std::vector<Toleration>& tolerations);
/// As a field named after the kind of source; nothing for kOther.
void write_volume_source(JsonWriter& w, const VolumeSource& source);

}  // namespace berth

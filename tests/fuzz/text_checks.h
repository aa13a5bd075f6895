// SPDX-License-Identifier: Apache-2.0
// Checks that must hold for text input of any bytes. Called by the fuzz targets and by a unit test.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/text/json_items.h"
#include "host/objects/text/text_reader.h"
#include "host/objects/text/yaml_to_json.h"

namespace berth::fuzz {

/// Ends the process, which a sanitizer or a test reports.
inline void require(bool holds) {
  if (!holds) std::abort();
}

struct CutText {
  std::vector<std::string> items;
  std::size_t problem_count = 0;
};

inline CutText cut_json(std::string_view text, const TextLimits& limits) {
  CutText out;
  MemoryStream input(text);
  JsonItemSplitter splitter(std::make_shared<const std::string>("fuzz"), limits);
  for (ItemBatch batch; splitter.next(input, batch);) {
    for (const ItemSlice& item : batch.items()) {
      require(item.line >= 1);
      const std::string padded(item.json.data(), item.readable_end());  // all of it must be readable
      out.items.push_back(padded.substr(0, item.json.size()) + item_location(item) + std::string(item.kind_hint()));
    }
    out.problem_count += batch.problems().size();
  }
  return out;
}

/// The window must not matter.
inline void check_json_items(std::string_view text) {
  TextLimits limits;
  const CutText whole = cut_json(text, limits);
  for (const std::size_t block_bytes : {std::size_t{1}, std::size_t{64}}) {
    limits.block_bytes = block_bytes;
    const CutText pieces = cut_json(text, limits);
    require(pieces.items == whole.items);
    require(pieces.problem_count == whole.problem_count);
  }
}

/// The output is JSON for any input, with the number of read failures.
inline void check_yaml(std::string_view text) {
  TextLimits limits;
  limits.yaml_alias_bytes_max = 100'000;
  MemoryStream input(text);
  YamlJsonStream stream(input, "fuzz", limits);
  std::string json;
  char buffer[4096];
  bool failed = false;
  for (bool more = true; more;) {
    try {
      const std::size_t count = stream.read(buffer, sizeof(buffer));
      json.append(buffer, count);
      more = count > 0;
    } catch (const InputError& error) {
      require(!error.problems().empty());
      failed = true;
    }
  }
  if (failed) return;
  simdjson::dom::parser parser;
  simdjson::padded_string padded(json);
  simdjson::dom::document_stream documents;
  require(parser.parse_many(padded, std::max<std::size_t>(json.size(), 32)).get(documents) == simdjson::SUCCESS);
  for (auto document : documents) require(document.error() == simdjson::SUCCESS);
}

/// Reading of small files: documents or an InputError.
inline void check_documents(std::string_view text) {
  try {
    for (const JsonDocument& document : documents_from_text(text, "fuzz")) require(!document.json.empty());
  } catch (const InputError& error) {
    require(!error.problems().empty());
  }
}

}  // namespace berth::fuzz

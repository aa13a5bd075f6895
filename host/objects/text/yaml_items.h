// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "host/objects/text/json_items.h"
#include "host/objects/text/yaml_to_json.h"

namespace berth {

/// Cuts YAML into items: converts it to JSON as it is read, and cuts that. A document that cannot be read is a problem
/// and the next one is read; items that lie before the mistake in a list stay.
class YamlItemReader {
 public:
  /// @param yaml  read, not owned
  YamlItemReader(std::shared_ptr<const std::string> source, ByteStream& yaml, const TextLimits& limits,
                 std::uint64_t first_line);

  bool next(ItemBatch& batch);

 private:
  std::shared_ptr<const std::string> source_;
  YamlJsonStream json_;
  JsonItemSplitter splitter_;
};

}  // namespace berth

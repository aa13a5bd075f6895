// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_items.h"

#include <utility>

namespace berth {

YamlItemReader::YamlItemReader(std::shared_ptr<const std::string> source, ByteStream& yaml, const TextLimits& limits,
                               std::uint64_t first_line)
    : source_(std::move(source)), json_(yaml, *source_, limits, first_line), splitter_(source_, limits) {
  splitter_.set_first_line(first_line);
}

bool YamlItemReader::next(ItemBatch& batch) {
  try {
    return splitter_.next(json_, batch);
  } catch (const InputError& error) {
    splitter_.drop_document(json_.line());
    batch = ItemBatch();
    batch.source_ = source_;
    batch.problems_ = error.problems();
    return true;
  }
}

}  // namespace berth

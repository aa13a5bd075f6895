// SPDX-License-Identifier: Apache-2.0
#include "host/capi/result.h"

#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/cluster.h"
#include "host/capi/result_record.h"

namespace berth::capi {

Result::Result(std::shared_ptr<const Cluster> cluster, std::uint64_t version)
    : cluster_(std::move(cluster)), share_(cluster_->engine().memory), version_(version) {
  cluster_->engine().memory.check();
}

std::uint32_t Result::number_of(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto at = numbers_.find(text); at != numbers_.end()) return at->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  numbers_.emplace(text, number);
  texts_.emplace_back(text);
  return number;
}

std::uint32_t Result::number_of_new(std::string text) {
  texts_.push_back(std::move(text));
  return static_cast<std::uint32_t>(texts_.size() - 1);
}

const std::string& Result::record() const {
  if (!json.empty()) return json;
  bool is_new = false;
  {
    const std::lock_guard alone(mutex_);
    is_new = record_.empty();
    if (is_new) record_ = record_of(*this);
  }
  if (is_new) note_memory();
  return record_;  // which does not change again
}

berth_column Result::view(std::uint32_t id) const {
  const auto at = columns_.find(id);
  if (at == columns_.end())
    throw ApiError(BERTH_E_NOT_FOUND, "column " + std::to_string(id), "this kind of result has no such column");
  return std::visit(
      [](const auto& values) {
        using T = typename std::remove_cvref_t<decltype(values)>::value_type;
        constexpr std::uint32_t kType = std::is_same_v<T, std::uint8_t>    ? BERTH_TYPE_U8
                                        : std::is_same_v<T, std::uint32_t> ? BERTH_TYPE_U32
                                        : std::is_same_v<T, std::int32_t>  ? BERTH_TYPE_I32
                                                                           : BERTH_TYPE_I64;
        return berth_column{values.data(), values.size(), sizeof(T), kType, 0};
      },
      at->second);
}

const std::string& Result::text(std::uint32_t number) const {
  if (number >= texts_.size())
    throw ApiError(BERTH_E_ARGUMENT, "number",
                   "is " + std::to_string(number) + "; there are " + std::to_string(texts_.size()) + " texts");
  return texts_[number];
}

}  // namespace berth::capi

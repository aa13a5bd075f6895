// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "host/capi/memory_account.h"
#include "include/berth/berth.h"

namespace berth::capi {

class Cluster;

/// An answer: columns, texts, a record. Filled by one thread, then immutable.
class Result {
 public:
  /// @throws ApiError where the cap on memory is reached
  Result(std::shared_ptr<const Cluster> cluster, std::uint64_t version);

  /// The column, empty when it is new. T is one of those of BERTH_TYPE_*.
  template <class T>
  std::vector<T>& column(std::uint32_t id) {
    return std::get<std::vector<T>>(columns_.try_emplace(id, std::vector<T>()).first->second);
  }
  /// The number of a text in this result; 0 of the empty one.
  std::uint32_t number_of(std::string_view text);
  /// The same of a text that comes once, without looking whether it is there already.
  std::uint32_t number_of_new(std::string text);

  std::string json;     ///< of explanations
  std::string bytes;    ///< of snapshots
  std::string message;  ///< berth_result_message()
  std::uint32_t next_start = 0;

  /// @throws ApiError BERTH_E_NOT_FOUND
  berth_column view(std::uint32_t id) const;
  bool has_columns() const { return !columns_.empty(); }
  /// Calls use(id, values) for each column, by number.
  template <class Use>
  void for_each_column(Use use) const {
    for (const auto& [id, column] : columns_) std::visit([&](const auto& values) { use(id, values); }, column);
  }
  /// `json`, or record_of() of the columns, which is made for the first caller. Empty: there is none. Any thread.
  const std::string& record() const;
  const std::string& text(std::uint32_t number) const;
  std::uint32_t text_count() const { return static_cast<std::uint32_t>(texts_.size()); }
  const Cluster& cluster() const { return *cluster_; }
  std::uint64_t version() const { return version_; }
  std::uint64_t bytes_held() const;
  /// Tells the engine's account. Call when the result is filled.
  void note_memory() const noexcept;

 private:
  using Column = std::variant<std::vector<std::uint8_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                              std::vector<std::int64_t>>;
  std::shared_ptr<const Cluster> cluster_;
  mutable MemoryShare share_;
  std::uint64_t version_;
  std::map<std::uint32_t, Column> columns_;
  std::vector<std::string> texts_ = {""};
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  mutable std::mutex mutex_;  ///< of the next one
  mutable std::string record_;
};

/// A result, and why it is of a prefix: BERTH_DEADLINE, BERTH_CANCELLED, or BERTH_OK.
struct Answer {
  std::unique_ptr<Result> result;
  berth_status status = BERTH_OK;
};

}  // namespace berth::capi

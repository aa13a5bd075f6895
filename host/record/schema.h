// SPDX-License-Identifier: Apache-2.0
#pragma once

// What stands in a recording: docs/recordings.md describes it for readers with SQL.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

inline constexpr std::int32_t kRecordingApplicationId = 0x42525448;  ///< "BRTH"
inline constexpr std::int32_t kRecordingVersion = 1;                 ///< of the schema, as PRAGMA user_version

/// Limits of one recording; docs/recordings.md states them.
inline constexpr std::size_t kInputBatchBytes = std::size_t{4} << 20;            ///< of input, before compression
inline constexpr std::uint64_t kRecordedInputBytesMax = std::uint64_t{4} << 30;  ///< of all inputs
inline constexpr std::int64_t kRecordedInputsMax = 100'000;                      ///< files
inline constexpr std::int64_t kRecordedFactsMax = 1000;                          ///< rows of `run`
inline constexpr std::size_t kRecordedValueBytesMax = std::size_t{16} << 20;     ///< of one text or blob
inline constexpr std::int64_t kEventsPerBatch = 4096;

struct RecordingTable {
  std::string_view name;
  std::string_view sql;  ///< as sqlite_schema keeps it
};

/// The ids of each table count from 1 without gaps; decisions, bindings and evictions share one count.
extern const std::array<RecordingTable, 7> kRecordingTables;

}  // namespace berth

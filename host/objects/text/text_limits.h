// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

/// Bytes that may be read behind the end of every piece of JSON handed out (what simdjson asks for).
inline constexpr std::size_t kSlicePaddingBytes = 64;

/// What text input may cost. Going over a limit is an InputProblem that names it, never a crash or a full memory.
struct TextLimits {
  std::uint64_t source_bytes_max = std::uint64_t{16} << 30;  ///< one file, after decompression
  std::size_t item_bytes_max = std::size_t{64} << 20;        ///< one object; also one YAML scalar
  /// Items without a kind of their own that come before the kind of their list are held back; so much of them.
  std::size_t deferred_bytes_max = std::size_t{1} << 30;
  std::size_t list_depth_max = 16;                           ///< lists within items of lists
  std::size_t yaml_depth_max = 200;                          ///< mappings and sequences in one another
  std::size_t yaml_alias_bytes_max = std::size_t{64} << 20;  ///< JSON of anchors and aliases, per document
  std::size_t yaml_stream_bytes = std::size_t{1} << 20;      ///< longer documents are converted while reading
  std::size_t block_bytes = std::size_t{256} << 10;          ///< the window items are cut from; one batch
};

}  // namespace berth

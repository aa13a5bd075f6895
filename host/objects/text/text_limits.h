// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace berth {

/// Bytes that may be read behind the end of every piece of JSON handed out (what simdjson asks for).
inline constexpr std::size_t kSlicePaddingBytes = 64;

/// What text input may cost. Going over a limit is an InputProblem that names it, never a crash or a full memory.
struct TextLimits {
  std::size_t files_max = 1'000'000;                         ///< of one load
  std::uint64_t source_bytes_max = std::uint64_t{16} << 30;  ///< one file, after decompression
  std::size_t item_bytes_max = std::size_t{16} << 20;        ///< one object; also one YAML scalar
  /// Memory of list items that have to wait because neither they nor the text before them names their kind.
  std::size_t deferred_bytes_max = std::size_t{256} << 20;
  std::size_t list_depth_max = 16;  ///< lists within items of lists
  /// A text shorter than this cannot be an object that Berth reads. Of such items only the first small_items_max of a
  /// source are handed out; the rest are counted (ItemBatch::skipped_count), because a few bytes each would cost many.
  std::size_t small_item_bytes = 16;
  std::size_t small_items_max = 1000;
  std::size_t yaml_depth_max = 200;      ///< mappings and sequences in one another
  std::size_t yaml_directives_max = 64;  ///< before one document
  /// JSON text that the anchors and aliases of one document may add: yaml_alias_bytes_free, and yaml_alias_ratio_max
  /// bytes for each byte of the document that was read, but never more than yaml_alias_bytes_max.
  std::size_t yaml_alias_bytes_max = std::size_t{64} << 20;
  std::size_t yaml_alias_bytes_free = std::size_t{64} << 10;
  std::size_t yaml_alias_ratio_max = 200;
  /// A field name that stands twice in a YAML mapping is a problem; else both go into the JSON text, as if it had been
  /// JSON. In a node with an anchor or behind a merge key it is a problem in any case.
  bool yaml_keys_once = true;
  std::size_t yaml_stream_bytes = std::size_t{1} << 20;  ///< longer documents are converted while reading
  std::size_t block_bytes = std::size_t{256} << 10;      ///< the window items are cut from; one batch
  std::chrono::milliseconds pipe_wait{10'000};           ///< for a program that writes into a named pipe
};

}  // namespace berth

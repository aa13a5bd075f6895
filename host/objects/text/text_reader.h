// SPDX-License-Identifier: Apache-2.0
// The front door of text input: paths in, JSON text of one object at a time out, whatever the files were.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/errors.h"
#include "host/objects/text/item_batch.h"
#include "host/objects/text/text_limits.h"

namespace berth {

/// Reads files, directories (see expand_paths) and "-", plain, gzip or zstd, JSON or YAML, and cuts them into objects:
/// documents, the items of lists, of lists within lists, and of a top-level array.
///
/// Memory: a few windows of TextLimits::block_bytes, whatever the size of the input; an object larger than a window
/// makes the window as large as itself.
///
///   TextReader reader(paths);
///   for (ItemBatch batch; reader.next(batch);) {   // one thread; cheap
///     batch.convert();                             // any thread
///     for (const ItemSlice& item : batch.items()) decode(item);
///     for (const InputProblem& problem : batch.problems()) report(problem);
///   }
class TextReader {
 public:
  explicit TextReader(const std::vector<std::string>& paths, const TextLimits& limits = {});
  ~TextReader();
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  /// Puts the next batch, in input order, into `batch`; false at the end of the last path. A path that cannot be read
  /// is a batch with a problem and no items, and reading goes on with the next path. Not thread-safe.
  bool next(ItemBatch& batch);

  /// Bytes read so far, after decompression.
  std::uint64_t bytes_read() const;
  /// Bytes read so far of what the files hold as they lie on disk.
  std::uint64_t stored_bytes_read() const;
  /// What stored_bytes_read() is at the end; 0 when that cannot be known: standard input, a pipe.
  std::uint64_t stored_bytes_total() const;

 private:
  struct Source;

  void close_source();

  TextLimits limits_;
  std::vector<std::string> paths_;
  std::vector<InputProblem> path_problems_;  ///< of expanding the paths; given out first
  std::size_t next_path_ = 0;
  std::unique_ptr<Source> source_;
  std::uint64_t bytes_closed_ = 0;         ///< read from sources that are closed
  std::uint64_t stored_bytes_closed_ = 0;  ///< the same before decompression
};

/// The batches of `text`, JSON or YAML: a function that gives the next one, in order, and false at the end. `text` must
/// outlive it. Problems name `source_name`.
std::function<bool(ItemBatch&)> batches_of_text(std::string_view text, const std::string& source_name,
                                                const TextLimits& limits = {});

/// Calls `use` for every item of `paths`, in order, on this thread. @return the problems met on the way.
std::vector<InputProblem> for_each_item(const std::vector<std::string>& paths,
                                        const std::function<void(const ItemSlice&, const std::string& source)>& use,
                                        const TextLimits& limits = {});

/// One document of a small file, as JSON text.
struct JsonDocument {
  std::string json;
  std::uint64_t line = 1;  ///< on which it begins in the source; YAML lines and JSON lines agree
};

/// Puts the line of the field that each problem is about before its location: a path within `document`, as
/// JsonValue::path() writes it, or "" for the document itself.
void add_lines(std::vector<InputProblem>& problems, const JsonDocument& document);

/// The documents of `text`, JSON or YAML, whole: lists are not taken apart. For configuration files.
/// @throws InputError with the documents that could not be read, 100 at most; problems name `source_name`.
std::vector<JsonDocument> documents_from_text(std::string_view text, const std::string& source_name,
                                              const TextLimits& limits = {});

/// Reads one file ("-" is standard input; gzip and zstd are undone) of at most limits.item_bytes_max bytes.
/// @throws InputError as documents_from_text, or when the file cannot be read or is larger.
std::vector<JsonDocument> documents_from_file(const std::string& path, const TextLimits& limits = {});

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
// Input files and their read results, for the tests of text input.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "host/objects/text/item_batch.h"
#include "host/objects/text/json_items.h"
#include "host/objects/text/text_reader.h"

namespace berth::testing {

/// A new folder that is removed with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-text-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? "." : name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string write(std::string_view name, std::string_view content) const {
    const std::string file = path(name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string gzip(std::string_view text) {
  z_stream stream = {};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// An item with copies of all it pointed at.
struct ReadItem {
  std::string json;
  std::string location;
  std::string kind_hint;
  std::string api_version_hint;
  std::int64_t index = -1;
  std::uint64_t line = 0;
  std::string source;

  ReadItem(const ItemSlice& item, const std::string& from)
      : json(item.json),
        location(item_location(item)),
        kind_hint(item.kind_hint()),
        api_version_hint(item.api_version_hint()),
        index(item.item_index),
        line(item.line),
        source(from) {}
};

struct ReadResult {
  std::vector<ReadItem> items;
  std::vector<InputProblem> problems;

  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const ReadItem& item : items) out.push_back(item.json);
    return out;
  }
  /// All problems as a reader sees them, one a line.
  std::string problem_text() const {
    std::string out;
    for (const InputProblem& problem : problems) out += (out.empty() ? "" : "\n") + problem.to_string();
    return out;
  }
  void take(const ItemBatch& batch) {
    for (const ItemSlice& item : batch.items()) items.emplace_back(item, batch.source());
    problems.insert(problems.end(), batch.problems().begin(), batch.problems().end());
  }
};

inline ReadResult read_paths(const std::vector<std::string>& paths, const TextLimits& limits = {}) {
  ReadResult result;
  TextReader reader(paths, limits);
  for (ItemBatch batch; reader.next(batch);) {
    batch.convert();
    result.take(batch);
  }
  return result;
}

/// Reads `text` as if it were the file "in".
inline ReadResult read_text(std::string_view text, const TextLimits& limits = {}) {
  const TempFolder folder;
  ReadResult result = read_paths({folder.write("in", text)}, limits);
  for (ReadItem& item : result.items) item.source = "in";
  for (InputProblem& problem : result.problems) problem.source = "in";
  return result;
}

/// Cuts `text` as JSON only.
inline ReadResult split_json(std::string_view text, const TextLimits& limits = {}) {
  ReadResult result;
  MemoryStream input(text);
  JsonItemSplitter splitter(std::make_shared<const std::string>("in"), limits);
  for (ItemBatch batch; splitter.next(input, batch);) result.take(batch);
  return result;
}

/// A window so small that every text crosses its edge.
inline TextLimits tiny_window() {
  TextLimits limits;
  limits.block_bytes = 16;
  return limits;
}

}  // namespace berth::testing

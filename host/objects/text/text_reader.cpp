// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/text_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "host/objects/text/byte_source.h"
#include "host/objects/text/foreign_format.h"
#include "host/objects/text/json_items.h"
#include "host/objects/text/yaml_documents.h"
#include "host/objects/text/yaml_items.h"

namespace berth {
namespace {

constexpr std::size_t kPeekBytes = std::size_t{4} << 10;
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
constexpr std::size_t kDocumentProblemsMax = 100;  ///< of a small file

/// Takes a UTF-8 mark off. @throws InputError for UTF-16 and UTF-32, with mark or without, and other text with NULs.
void check_encoding(std::string& first_bytes, const std::string& source) {
  const std::string_view bytes = first_bytes;
  const bool is_wide_or_binary =
      bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff") || bytes.find('\0') != std::string_view::npos;
  if (is_wide_or_binary) throw InputError(InputProblem{source, "", "is UTF-16, UTF-32 or binary, expected UTF-8 text"});
  if (bytes.starts_with(kUtf8Mark)) first_bytes.erase(0, kUtf8Mark.size());
}

/// JSON begins with '{' or '['. YAML may, too, which the JSON reader detects. Blank text counts as JSON.
bool looks_like_json(std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* first = skip_json_space(text.data(), end);
  return first == end || *first == '{' || *first == '[';
}

/// YAML, as text for several documents at a time, so that the caller can convert them side by side; a long document is
/// converted here, while it is read.
class YamlSource {
 public:
  /// @param yaml  read, not owned
  YamlSource(std::shared_ptr<const std::string> source, ByteStream& yaml, const TextLimits& limits,
             std::uint64_t first_line)
      : source_(std::move(source)), limits_(limits), cutter_(yaml, first_line) {}

  struct Part {
    std::string text;  ///< whole documents; empty: none are left, or items were read instead
    std::uint64_t first_line = 1;
  };

  /// Either puts `part`, or items into `batch`. False at the end.
  bool next(Part& part, ItemBatch& batch) {
    for (;;) {
      if (long_reader_ != nullptr) {
        if (long_reader_->next(batch)) return true;
        long_reader_ = nullptr;
      }
      if (take_part(part)) return true;
      if (long_reader_ == nullptr) return false;
    }
  }

 private:
  /// Gathers documents until they are worth a batch. A long one waits for the next call and opens the long reader.
  bool take_part(Part& part) {
    part = Part{};
    if (!long_start_.empty()) {
      open_long();
      return false;
    }
    while (part.text.size() < limits_.block_bytes && cutter_.next_document()) {
      std::string document = read_document();
      if (document.size() >= limits_.yaml_stream_bytes) {
        long_start_ = std::move(document);
        break;
      }
      if (document.empty()) continue;
      if (part.text.empty()) part.first_line = cutter_.first_line();
      part.text += document;
    }
    if (!part.text.empty()) return true;
    if (!long_start_.empty()) open_long();
    return false;
  }

  std::string read_document() {
    std::string document;
    std::array<char, kPeekBytes> buffer;
    while (document.size() < limits_.yaml_stream_bytes) {
      const std::size_t count = cutter_.read(buffer.data(), buffer.size());
      if (count == 0) break;
      document.append(buffer.data(), count);
    }
    return document;
  }

  void open_long() {
    long_input_ = std::make_unique<PrefixedStream>(std::exchange(long_start_, {}), cutter_);
    long_reader_ = std::make_unique<YamlItemReader>(source_, *long_input_, limits_, cutter_.first_line());
  }

  std::shared_ptr<const std::string> source_;
  TextLimits limits_;
  YamlDocumentCutter cutter_;
  std::string long_start_;
  std::unique_ptr<PrefixedStream> long_input_;
  std::unique_ptr<YamlItemReader> long_reader_;
};

/// One file's content as memory: for what is small.
std::string read_small(FileSource& file, std::size_t bytes_max) {
  std::string text;
  std::array<char, kPeekBytes> buffer;
  while (const std::size_t count = file.read(buffer.data(), buffer.size())) {
    text.append(buffer.data(), count);
    if (text.size() > bytes_max) {
      throw InputError(
          InputProblem{file.name(), "", "is larger than the limit of " + std::to_string(bytes_max) + " bytes"});
    }
  }
  return text;
}

/// Cuts JSON values that follow one another. False and an empty `documents` when the text is no JSON at all.
bool split_json_documents(std::string_view text, std::vector<JsonDocument>& documents) {
  std::string padded(text);
  const std::size_t size = padded.size();
  padded.append(kSlicePaddingBytes, '\0');
  const char* const end = padded.data() + size;
  std::uint64_t line = 1;
  const char* counted = padded.data();
  for (const char* at = skip_json_space(counted, end); at != end; at = skip_json_space(at, end)) {
    const char* value_end = *at == '{' || *at == '[' ? find_value_end(at, end) : nullptr;
    if (value_end == nullptr) {
      documents.clear();
      return false;
    }
    line += count_newlines(counted, at);
    counted = at;
    documents.push_back({std::string(at, value_end), line});
    at = value_end;
  }
  return true;
}

/// A '{' or '[' text counts as JSON when a field name is quoted or there is none.
bool begins_as_json(std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* at = skip_json_space(text.data(), end);
  if (at == end) return true;
  if (*at == '[') return true;
  if (*at != '{') return false;
  at = skip_json_space(at + 1, end);
  return at == end || *at == '"' || *at == '}';
}

std::vector<JsonDocument> convert_yaml_documents(std::string_view text, const std::string& source,
                                                 const TextLimits& limits) {
  MemoryStream input(text);
  YamlJsonStream json(input, source, limits);
  std::string converted;
  std::vector<InputProblem> problems;
  std::array<char, kPeekBytes> buffer;
  for (bool more = true; more;) {
    try {
      const std::size_t count = json.read(buffer.data(), buffer.size());
      converted.append(buffer.data(), count);
      more = count > 0;
    } catch (const InputError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
      more = problems.size() < kDocumentProblemsMax;
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  std::vector<JsonDocument> documents;
  split_json_documents(converted, documents);
  return documents;
}

}  // namespace

/// The path that is being read.
struct TextReader::Source {
  Source(const std::string& path, const TextLimits& source_limits)
      : name(std::make_shared<const std::string>(path)), limits(source_limits), file(path, source_limits) {
    std::string first(kPeekBytes, '\0');
    first.resize(read_fully(file, first.data(), first.size()));
    if (std::string what = describe_foreign_format(first); !what.empty()) {
      throw InputError(InputProblem{path, "", std::move(what)});
    }
    check_encoding(first, path);
    const bool is_json = looks_like_json(first);
    input = std::make_unique<PrefixedStream>(std::move(first), file);
    if (is_json) {
      json = std::make_unique<JsonItemSplitter>(name, limits);
    } else {
      yaml = std::make_unique<YamlSource>(name, *input, limits, 1);
    }
  }

  bool next(ItemBatch& batch, YamlSource::Part& part) {
    if (json != nullptr && next_json(batch)) return true;
    return yaml != nullptr && yaml->next(part, batch);
  }

  bool next_json(ItemBatch& batch) {
    if (json->next(*input, batch)) {
      if (!json->failed_at_once()) return true;
      json_problem = std::move(batch);
      open_yaml();
      return try_yaml(batch);
    }
    if (json->yaml_follows()) open_yaml();
    const bool is_blank = json->found_nothing();
    json = nullptr;
    if (is_blank) {
      throw InputError(
          InputProblem{*name, "", "is empty, expected Kubernetes objects: did the command that wrote it fail?"});
    }
    return false;
  }

  /// What is no JSON may be YAML that begins with a flow mapping. When it is not, the error of the JSON reader is the
  /// more helpful one.
  bool try_yaml(ItemBatch& batch) {
    json = nullptr;
    YamlSource::Part part;
    ItemBatch first;
    const bool has_first = yaml->next(part, first);
    set_part(first, std::move(part));
    first.convert();
    if (!has_first || (first.items().empty() && !first.problems().empty())) {
      batch = std::move(*json_problem);
      yaml = nullptr;
    } else {
      batch = std::move(first);
    }
    return true;
  }

  void open_yaml() {
    const std::uint64_t line = json->line();
    yaml_input = std::make_unique<PrefixedStream>(std::string(json->unread()), *input);
    yaml = std::make_unique<YamlSource>(name, *yaml_input, limits, line);
  }

  void set_part(ItemBatch& batch, YamlSource::Part part) {
    if (part.text.empty()) return;
    batch = ItemBatch();
    batch.source_ = name;
    batch.yaml_text_ = std::move(part.text);
    batch.yaml_first_line_ = part.first_line;
    batch.yaml_limits_ = limits;
  }

  std::shared_ptr<const std::string> name;
  TextLimits limits;
  FileSource file;
  std::unique_ptr<PrefixedStream> input;
  std::unique_ptr<JsonItemSplitter> json;
  std::optional<ItemBatch> json_problem;
  std::unique_ptr<PrefixedStream> yaml_input;
  std::unique_ptr<YamlSource> yaml;
};

TextReader::TextReader(const std::vector<std::string>& paths, const TextLimits& limits) : limits_(limits) {
  paths_ = expand_paths(paths, path_problems_, limits.files_max);
}

TextReader::~TextReader() = default;

bool TextReader::next(ItemBatch& batch) {
  batch = ItemBatch();
  if (!path_problems_.empty()) {
    batch.problems_ = std::exchange(path_problems_, {});
    return true;
  }
  while (source_ != nullptr || next_path_ < paths_.size()) {
    try {
      if (source_ == nullptr) source_ = std::make_unique<Source>(paths_[next_path_++], limits_);
      YamlSource::Part part;
      if (source_->next(batch, part)) {
        source_->set_part(batch, std::move(part));
        return true;
      }
      close_source();
    } catch (const InputError& error) {
      const auto name =
          source_ == nullptr ? std::make_shared<const std::string>(paths_[next_path_ - 1]) : source_->name;
      close_source();
      batch = ItemBatch();
      batch.source_ = name;
      batch.problems_ = error.problems();
      return true;
    }
  }
  return false;
}

void TextReader::close_source() {
  if (source_ != nullptr) {
    bytes_closed_ += source_->file.bytes_read();
    stored_bytes_closed_ += source_->file.stored_bytes_read();
  }
  source_ = nullptr;
}

std::uint64_t TextReader::bytes_read() const {
  return bytes_closed_ + (source_ == nullptr ? 0 : source_->file.bytes_read());
}

std::uint64_t TextReader::stored_bytes_read() const {
  return stored_bytes_closed_ + (source_ == nullptr ? 0 : source_->file.stored_bytes_read());
}

std::uint64_t TextReader::stored_bytes_total() const {
  std::uint64_t total = 0;
  for (const std::string& path : paths_) {
    std::error_code error;
    const bool is_file = path != "-" && std::filesystem::is_regular_file(path, error);
    const std::uintmax_t bytes = is_file ? std::filesystem::file_size(path, error) : 0;
    if (!is_file || error) return 0;
    total += bytes;
  }
  return total;
}

std::vector<InputProblem> for_each_item(const std::vector<std::string>& paths,
                                        const std::function<void(const ItemSlice&, const std::string& source)>& use,
                                        const TextLimits& limits) {
  std::vector<InputProblem> problems;
  TextReader reader(paths, limits);
  for (ItemBatch batch; reader.next(batch);) {
    batch.convert();
    for (const ItemSlice& item : batch.items()) use(item, batch.source());
    problems.insert(problems.end(), batch.problems().begin(), batch.problems().end());
  }
  return problems;
}

void add_lines(std::vector<InputProblem>& problems, const JsonDocument& document) {
  const std::string padded = document.json + std::string(kSlicePaddingBytes, ' ');  // as ItemSlice asks for
  ItemSlice whole;
  whole.json = std::string_view(padded).substr(0, document.json.size());
  whole.line = document.line;
  for (InputProblem& problem : problems) problem.location = field_location(whole, problem.location);
}

namespace {

/// A text in memory that begins as JSON. Behind a line of "---" it goes on as YAML, as in files.
class JsonFirstReader {
 public:
  JsonFirstReader(std::shared_ptr<const std::string> source, std::string_view text, const TextLimits& limits)
      : source_(std::move(source)), limits_(limits), stream_(text), json_(source_, limits) {}

  bool next(ItemBatch& batch) {
    if (yaml_ == nullptr) {
      if (json_.next(stream_, batch)) return true;
      if (!json_.yaml_follows()) return false;
      rest_ = std::make_unique<PrefixedStream>(std::string(json_.unread()), stream_);
      yaml_ = std::make_unique<YamlItemReader>(source_, *rest_, limits_, json_.line());
    }
    return yaml_->next(batch);
  }

 private:
  std::shared_ptr<const std::string> source_;
  TextLimits limits_;
  MemoryStream stream_;
  JsonItemSplitter json_;
  std::unique_ptr<PrefixedStream> rest_;
  std::unique_ptr<YamlItemReader> yaml_;
};

}  // namespace

std::function<bool(ItemBatch&)> batches_of_text(std::string_view text, const std::string& source_name,
                                                const TextLimits& limits) {
  const auto source = std::make_shared<const std::string>(source_name);
  const auto stream = std::make_shared<MemoryStream>(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '['))
    return [reader = std::make_shared<JsonFirstReader>(source, text, limits)](ItemBatch& batch) {
      return reader->next(batch);
    };
  return [stream, reader = std::make_shared<YamlItemReader>(source, *stream, limits, 1)](ItemBatch& batch) {
    return reader->next(batch);
  };
}

std::vector<JsonDocument> documents_from_text(std::string_view text, const std::string& source_name,
                                              const TextLimits& limits) {
  std::string first(text.substr(0, kUtf8Mark.size() + 1));
  check_encoding(first, source_name);
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  std::vector<JsonDocument> documents;
  if (begins_as_json(text) && split_json_documents(text, documents)) return documents;
  return convert_yaml_documents(text, source_name, limits);
}

std::vector<JsonDocument> documents_from_file(const std::string& path, const TextLimits& limits) {
  FileSource file(path, limits);
  return documents_from_text(read_small(file, limits.item_bytes_max), path, limits);
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/capi/arrow_export.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/cluster.h"
#include "host/capi/result_columns.h"

namespace berth::capi {
namespace {

constexpr const char* kFormatStruct = "+s";
constexpr const char* kFormatLargeText = "U";

const char* format_of(std::uint32_t type) {
  switch (type) {
    case BERTH_TYPE_U8:
      return "C";
    case BERTH_TYPE_U32:
      return "I";
    case BERTH_TYPE_I32:
      return "i";
    default:
      return "l";
  }
}

/// The texts of a result in Arrow's form: text i has the bytes offsets[i] up to offsets[i + 1].
struct Texts {
  std::vector<std::int64_t> offsets;
  std::string bytes;
};

std::shared_ptr<const Texts> texts_of(const Result& result) {
  auto texts = std::make_shared<Texts>();
  texts->offsets.reserve(result.text_count() + 1);
  texts->offsets.push_back(0);
  for (std::uint32_t i = 0; i < result.text_count(); ++i) {
    texts->bytes += result.text(i);
    texts->offsets.push_back(static_cast<std::int64_t>(texts->bytes.size()));
  }
  return texts;
}

/// One exported column.
struct Part {
  const ResultColumn* column;
  berth_column view;
};

// What a struct owns, behind its private_data. Children are released by their parent, unless somebody has moved them:
// then their own callback was cleared there.

struct OwnedSchema {
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

struct OwnedArray {
  std::shared_ptr<const Result> result;
  std::shared_ptr<const Texts> texts;
  std::array<const void*, 3> buffers{};
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

template <class Struct>
void release_part(Struct& part) {
  if (part.release != nullptr) part.release(&part);
}

template <class Struct, class Owned>
void release_struct(Struct* released) {
  auto* const owned = static_cast<Owned*>(released->private_data);
  for (const auto& child : owned->children) release_part(*child);
  if (owned->dictionary) release_part(*owned->dictionary);
  delete owned;
  released->release = nullptr;
}

/// In a child of the process that made the result nothing is freed, as by free_handle().
void release_array(ArrowArray* released) {
  const auto* const owned = static_cast<OwnedArray*>(released->private_data);
  if (owned->result->cluster().engine().process.is_here()) return release_struct<ArrowArray, OwnedArray>(released);
  released->release = nullptr;
}

/// Releases what was made so far where an allocation fails.
template <class Struct>
class Made {
 public:
  ~Made() { release_part(made_); }
  Struct* operator->() { return &made_; }
  Struct take() { return std::exchange(made_, Struct{}); }

 private:
  Struct made_{};
};

void own(Made<ArrowSchema>& schema, std::unique_ptr<OwnedSchema> owned) {
  schema->children = owned->pointers.data();
  schema->n_children = static_cast<std::int64_t>(owned->pointers.size());
  schema->dictionary = owned->dictionary.get();
  schema->private_data = owned.release();
  schema->release = release_struct<ArrowSchema, OwnedSchema>;
}

void own(Made<ArrowArray>& array, std::unique_ptr<OwnedArray> owned, std::int64_t length, std::int64_t buffer_count) {
  array->length = length;
  array->n_buffers = buffer_count;
  array->buffers = owned->buffers.data();
  array->children = owned->pointers.data();
  array->n_children = static_cast<std::int64_t>(owned->pointers.size());
  array->dictionary = owned->dictionary.get();
  array->private_data = owned.release();
  array->release = release_array;
}

ArrowSchema schema_of(const char* name, const char* format, bool has_texts) {
  auto owned = std::make_unique<OwnedSchema>();
  if (has_texts) {
    owned->dictionary = std::make_unique<ArrowSchema>();
    *owned->dictionary = schema_of("", kFormatLargeText, false);
  }
  Made<ArrowSchema> schema;
  schema->format = format;
  schema->name = name;
  own(schema, std::move(owned));
  return schema.take();
}

ArrowArray texts_array(const std::shared_ptr<const Result>& result, const std::shared_ptr<const Texts>& texts) {
  auto owned = std::make_unique<OwnedArray>();
  owned->result = result;
  owned->texts = texts;
  owned->buffers = {nullptr, texts->offsets.data(), texts->bytes.data()};
  Made<ArrowArray> array;
  own(array, std::move(owned), static_cast<std::int64_t>(texts->offsets.size()) - 1, 3);
  return array.take();
}

ArrowArray array_of(const Part& part, const std::shared_ptr<const Result>& result,
                    const std::shared_ptr<const Texts>& texts) {
  auto owned = std::make_unique<OwnedArray>();
  owned->result = result;
  owned->buffers[1] = part.view.data;
  if (part.column->kind == ResultColumn::Kind::kText) {
    owned->dictionary = std::make_unique<ArrowArray>();
    *owned->dictionary = texts_array(result, texts);
  }
  Made<ArrowArray> array;
  own(array, std::move(owned), static_cast<std::int64_t>(part.view.length), 2);
  return array.take();
}

std::vector<Part> parts_of(const Result& result, std::span<const std::uint32_t> columns) {
  std::vector<Part> parts;
  for (const std::uint32_t id : columns) {
    const berth_column view = result.view(id);
    const Part part{find_result_column(id), view};
    if (!parts.empty() && parts.front().view.length != view.length)
      throw ApiError(BERTH_E_ARGUMENT, "columns",
                     std::string(part.column->name) + " has " + std::to_string(view.length) + " elements, and " +
                         parts.front().column->name + " has " + std::to_string(parts.front().view.length));
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

void export_to_arrow(const std::shared_ptr<const Result>& result, std::span<const std::uint32_t> columns,
                     ArrowSchema& schema, ArrowArray& array) {
  if (columns.empty()) throw ApiError(BERTH_E_ARGUMENT, "columns", "names no column");
  const std::vector<Part> parts = parts_of(*result, columns);
  auto schemas = std::make_unique<OwnedSchema>();
  auto arrays = std::make_unique<OwnedArray>();
  arrays->result = result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    schemas->children.push_back(std::make_unique<ArrowSchema>());
    schemas->pointers.push_back(schemas->children.back().get());
    arrays->children.push_back(std::make_unique<ArrowArray>());
    arrays->pointers.push_back(arrays->children.back().get());
  }
  const std::vector<ArrowSchema*> schema_of_part = schemas->pointers;
  const std::vector<ArrowArray*> array_of_part = arrays->pointers;
  // From here on children that were filled are released with the whole, also where an allocation fails.
  Made<ArrowSchema> whole_schema;
  Made<ArrowArray> whole_array;
  whole_schema->format = kFormatStruct;
  whole_schema->name = "";
  own(whole_schema, std::move(schemas));
  own(whole_array, std::move(arrays), static_cast<std::int64_t>(parts.front().view.length), 1);
  std::shared_ptr<const Texts> texts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_text = parts[i].column->kind == ResultColumn::Kind::kText;
    if (is_text && texts == nullptr) texts = texts_of(*result);
    *schema_of_part[i] = schema_of(parts[i].column->name, format_of(parts[i].view.type), is_text);
    *array_of_part[i] = array_of(parts[i], result, texts);
  }
  schema = whole_schema.take();
  array = whole_array.take();
}

}  // namespace berth::capi

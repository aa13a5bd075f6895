// SPDX-License-Identifier: Apache-2.0
#include "host/perf/stored_form.h"

#include <simdjson.h>

#include "host/objects/text/yaml_scalars.h"

namespace berth {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kConstraints = "topologySpreadConstraints";

/// Writes one JSON object, field by field.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) { out_ += '{'; }
  void key(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    append_json_string(out_, name);
    out_ += ':';
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(out_, value);
  }
  void raw(std::string_view name, element value) {
    key(name);
    out_ += simdjson::minify(value);
  }
  void close() { out_ += '}'; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

std::string api_spelling(std::string_view key) {
  std::string name(key);
  if (!name.empty() && name.front() >= 'A' && name.front() <= 'Z') name.front() += 'a' - 'A';
  return name;
}

void append_constraints(std::string& out, array constraints) {
  out += '[';
  bool is_first = true;
  for (const element constraint : constraints) {
    if (!is_first) out += ',';
    is_first = false;
    if (!constraint.is_object()) {
      out += simdjson::minify(constraint);
      continue;
    }
    FieldWriter fields(out);
    for (const auto& [key, value] : object(constraint)) fields.raw(api_spelling(key), value);
    fields.close();
  }
  out += ']';
}

void append_pod_spec(std::string& out, object spec) {
  FieldWriter fields(out);
  for (const auto& [key, value] : spec) {
    if (key == kConstraints && value.is_array()) {
      fields.key(kConstraints);
      append_constraints(out, array(value));
    } else {
      fields.raw(key, value);
    }
  }
  fields.close();
}

void append_node_status(std::string& out, object status) {
  FieldWriter fields(out);
  bool has_allocatable = false;
  for (const auto& [key, value] : status) {
    fields.raw(key, value);
    has_allocatable = has_allocatable || (key == "allocatable" && !value.is_null());
  }
  element capacity;
  if (!has_allocatable && status["capacity"].get(capacity) == simdjson::SUCCESS) fields.raw("allocatable", capacity);
  fields.close();
}

void append_metadata(std::string& out, const JsonValue& metadata, std::string_view name, std::string_view name_space) {
  FieldWriter fields(out);
  fields.text("name", name);
  if (!name_space.empty()) fields.text("namespace", name_space);
  metadata.for_each_field([&](std::string_view key, const JsonValue& value) {
    const bool is_replaced = key == "name" || (key == "namespace" && !name_space.empty());
    if (!is_replaced && key != "generateName" && key != "finalizers") fields.raw(key, value.element());
  });
  fields.close();
}

void append_field(std::string& out, std::string_view kind, std::string_view key, const JsonValue& value) {
  if (kind == "Pod" && key == "spec" && value.is_object()) return append_pod_spec(out, object(value.element()));
  if (kind == "Node" && key == "status" && value.is_object()) return append_node_status(out, object(value.element()));
  out += simdjson::minify(value.element());
}

}  // namespace

StoredForm stored_form(const JsonValue& object, std::string_view name_space, std::string_view placeholder) {
  StoredForm form;
  const JsonValue kind = object.field("kind");
  if (!kind.read(form.kind) && !kind.present()) kind.mismatch("the kind of an object, such as \"Pod\"");
  const JsonValue metadata = object.field("metadata");
  std::string name;
  metadata.field("name").read(name);
  metadata.field("generateName").read(form.generate_name);
  metadata.field("finalizers").read(form.finalizers);
  form.has_name = !name.empty();
  FieldWriter fields(form.json);
  fields.key("metadata");
  append_metadata(form.json, metadata, form.has_name ? std::string_view(name) : placeholder, name_space);
  object.for_each_field([&](std::string_view key, const JsonValue& value) {
    if (key == "metadata") return;
    fields.key(key);
    append_field(form.json, form.kind, key, value);
  });
  fields.close();
  return form;
}

}  // namespace berth

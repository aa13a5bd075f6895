// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/label_map.h"
#include "host/objects/resources.h"
#include "host/objects/text/yaml_scalars.h"

namespace berth {

/// Appends JSON to a text; keeps track of commas. Helpers named after what they write (text, flag, list, labels, ...)
/// leave out a field that holds nothing; field() and object() always write it.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void key(std::string_view name) {
    separate();
    append_text(name);
    out_ += ':';
    needs_comma_ = false;
  }
  void open(char bracket) {
    separate();
    out_ += bracket;
    needs_comma_ = false;
  }
  void close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
  }
  void value(std::string_view text) {
    separate();
    append_text(text);
    needs_comma_ = true;
  }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(std::int64_t number) {
    separate();
    char buffer[24];
    out_.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr);
    needs_comma_ = true;
  }
  void value(std::int32_t number) { value(std::int64_t{number}); }
  void value(std::uint64_t number) {
    separate();
    char buffer[24];
    out_.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr);
    needs_comma_ = true;
  }
  /// The shortest text that reads as the number; null where JSON has none.
  void value(double number) {
    separate();
    char buffer[32];
    if (std::isfinite(number)) {
      out_.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr);
    } else {
      out_ += "null";
    }
    needs_comma_ = true;
  }
  void value(bool flag) {
    separate();
    out_ += flag ? "true" : "false";
    needs_comma_ = true;
  }

  void null() {
    separate();
    out_ += "null";
    needs_comma_ = true;
  }

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  void text(std::string_view name, std::string_view content) {
    if (!content.empty()) field(name, content);
  }
  void flag(std::string_view name, bool content) {
    if (content) field(name, true);
  }
  /// {"name": {...}} written by body().
  template <class Body>
  void object(std::string_view name, Body&& body) {
    key(name);
    open('{');
    body();
    close('}');
  }
  /// {"name": [...]} with each(element) for every element; nothing for an empty list.
  template <class List, class Each>
  void list(std::string_view name, const List& elements, Each&& each) {
    if (elements.empty()) return;
    key(name);
    open('[');
    for (const auto& element : elements) each(element);
    close(']');
  }
  /// As list(), with each element an object.
  template <class List, class Each>
  void objects(std::string_view name, const List& elements, Each&& each) {
    list(name, elements, [&](const auto& element) {
      open('{');
      each(element);
      close('}');
    });
  }
  void strings(std::string_view name, const std::vector<std::string>& texts) {
    list(name, texts, [&](const std::string& text) { value(text); });
  }
  void labels(std::string_view name, const LabelMap& map) {
    if (map.empty()) return;
    object(name, [&] {
      for (const auto& [label, content] : map) field(label, content);
    });
  }
  void resources(std::string_view name, const ResourceList& resources) {
    if (resources.empty()) return;
    object(name, [&] {
      for (const auto& [resource, amount] : resources) field(resource, amount.to_string());
    });
  }

 private:
  /// Writes ASCII only, with escapes for the rest: readers get the same text, and a terminal gets nothing that it acts
  /// on.
  void append_text(std::string_view text);
  void separate() {
    if (needs_comma_) out_ += ',';
  }

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "host/cli/scheduler_flags.h"
#include "host/objects/go_duration.h"

namespace berth {

std::string read_boolean(const std::string& text, bool& out) {
  // strconv.ParseBool
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text != yes) continue;
    out = true;
    return {};
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text != no) continue;
    out = false;
    return {};
  }
  return "true or false";
}

std::string read_go_duration(const std::string& text, std::int64_t& out_us) {
  const std::optional<std::int64_t> ns = parse_go_duration_ns(text);
  if (!ns || *ns < 0) return "a duration such as 15s or 1m30s";
  out_us = duration_us(*ns);
  return {};
}

std::string read_integer(const std::string& text, std::int64_t lowest, std::int64_t highest, std::int64_t& out) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number < lowest || number > highest)
    return fmt::format("a whole number from {} to {}", lowest, highest);
  out = number;
  return {};
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> entries;
  if (text.empty()) return entries;
  entries.emplace_back();
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  return entries;
}

namespace flag_reader {

Read text(Place<std::string> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    place(flags) = values.back();
    return std::string();
  };
}

Read text(Place<std::optional<std::string>> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    place(flags) = values.back();
    return std::string();
  };
}

Read boolean(Place<bool> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    return read_boolean(values.back(), place(flags));
  };
}

Read boolean(Place<std::optional<bool>> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    bool value = false;
    std::string expected = read_boolean(values.back(), value);
    if (expected.empty()) place(flags) = value;
    return expected;
  };
}

Read duration(Place<std::int64_t> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    return read_go_duration(values.back(), place(flags));
  };
}

Read duration(Place<std::optional<std::int64_t>> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    std::int64_t value = 0;
    std::string expected = read_go_duration(values.back(), value);
    if (expected.empty()) place(flags) = value;
    return expected;
  };
}

Read list(Place<std::vector<std::string>> place) {
  return [place](SchedulerFlags& flags, const SchedulerFlag::Values& values) {
    place(flags).clear();
    for (const std::string& value : values)
      for (std::string& entry : split_list(value)) place(flags).push_back(std::move(entry));
    return std::string();
  };
}

}  // namespace flag_reader

}  // namespace berth

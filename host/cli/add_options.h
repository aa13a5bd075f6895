// SPDX-License-Identifier: Apache-2.0
#pragma once

// One way for every command to read each kind of option value. A value that is empty, that is given twice or that is
// not what was expected is a usage error naming the option, the value and the expectation.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace berth {

/// Reads one value into its place. @return "" or what was expected: "a whole number from 0 to 9"
using ReadValue = std::function<std::string(const std::string&)>;

/// An option (or argument, when `names` has no dash) with one value that is given at most once.
/// @param value  how --help shows the value: "FILE", "N", "table|json"
CLI::Option* add_value(CLI::App& app, const std::string& names, const std::string& value,
                       const std::string& description, ReadValue read);

/// The same, but it may be given several times: `read` is called for each value, in order. An option takes one value
/// each time; an argument takes all that stand there.
CLI::Option* add_values(CLI::App& app, const std::string& names, const std::string& value,
                        const std::string& description, ReadValue read);

/// Reads decimal digits: no sign, no blank, no leading zero (which other tools read as octal), no "0x".
/// @return "" or what was expected; `out` is untouched then
std::string read_whole_number(std::string_view text, std::uint64_t lowest, std::uint64_t highest, std::uint64_t& out);

/// @return "" when `text` is one of `choices` ("table|json"), else what was expected
std::string check_choice(std::string_view text, const std::string& choices);

/// @return "" unless `text` is empty, else what was expected
std::string check_text(std::string_view text);

namespace add_options_detail {

template <class Target>
struct ValueOf {
  using Type = Target;
};
template <class Target>
struct ValueOf<std::optional<Target>> {
  using Type = Target;
};

}  // namespace add_options_detail

/// Any text but an empty one. @param target  std::string, or an optional one
template <class Target>
CLI::Option* add_text(CLI::App& app, const std::string& names, Target& target, const std::string& value,
                      const std::string& description) {
  return add_value(app, names, value, description, [&target](const std::string& text) {
    target = text;
    return check_text(text);
  });
}

/// One of the words of `choices` ("table|json"), which --help and the completions also show.
template <class Target>
CLI::Option* add_choice(CLI::App& app, const std::string& names, Target& target, const std::string& choices,
                        const std::string& description) {
  return add_value(app, names, choices, description, [&target, choices](const std::string& text) {
    std::string expected = check_choice(text, choices);
    if (expected.empty()) target = text;
    return expected;
  });
}

/// A whole number from `lowest` to `highest`. @param target  an integer, or an optional one
template <class Target, class Value = typename add_options_detail::ValueOf<Target>::Type>
CLI::Option* add_number(CLI::App& app, const std::string& names, Target& target, const std::string& description,
                        std::type_identity_t<Value> lowest = 0,
                        std::type_identity_t<Value> highest = std::numeric_limits<Value>::max()) {
  return add_value(app, names, "N", description, [&target, lowest, highest](const std::string& text) {
    std::uint64_t number = 0;
    std::string expected =
        read_whole_number(text, static_cast<std::uint64_t>(lowest), static_cast<std::uint64_t>(highest), number);
    if (expected.empty()) target = static_cast<Value>(number);
    return expected;
  });
}

/// A duration as Go writes it, "90s", from 0 to `highest_us` microseconds, which is a whole number of hours.
CLI::Option* add_duration(CLI::App& app, const std::string& names, std::optional<std::int64_t>& target_us,
                          std::int64_t highest_us, const std::string& description);

}  // namespace berth

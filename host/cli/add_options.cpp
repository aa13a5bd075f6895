// SPDX-License-Identifier: Apache-2.0
#include "host/cli/add_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>

#include "host/cli/command_model.h"
#include "host/config/config_reader.h"
#include "host/objects/go_duration.h"

namespace berth {
namespace {

/// @throws CLI::ValidationError
void read_one(const CLI::Option& option, const std::string& text, const ReadValue& read) {
  const std::string expected = read(text);
  if (expected.empty()) return;
  throw CLI::ValidationError(option.get_name(), fmt::format("got {}, expected {}", quoted_for_message(text), expected));
}

/// The results are taken from the option itself: what the parser hands to a callback of its own has gone through its
/// vector syntax, in which "{}" is a list without elements.
CLI::Option* add_results(CLI::App& app, const std::string& names, const std::string& value,
                         const std::string& description, const std::function<void(const CLI::Option&)>& take) {
  const auto self = std::make_shared<CLI::Option*>(nullptr);
  CLI::Option* option = app.add_option(
      names,
      [self, take](const CLI::results_t&) {
        take(**self);
        return true;
      },
      description);
  *self = option;
  return option->option_text(value)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

CLI::Option* add_value(CLI::App& app, const std::string& names, const std::string& value,
                       const std::string& description, ReadValue read) {
  return add_results(app, names, value, description, [read = std::move(read)](const CLI::Option& option) {
    const std::size_t times = option.results().size();
    if (times > 1)
      throw CLI::ValidationError(option.get_name(), fmt::format("got {} values, expected it to be given once", times));
    read_one(option, option.results().front(), read);
  });
}

CLI::Option* add_values(CLI::App& app, const std::string& names, const std::string& value,
                        const std::string& description, ReadValue read) {
  CLI::Option* option = add_results(app, names, value, description, [read = std::move(read)](const CLI::Option& given) {
    for (const std::string& text : given.results()) read_one(given, text, read);
  });
  const bool is_argument = option->get_positional();
  return option->expected(is_argument ? 0 : 1, CLI::detail::expected_max_vector_size)->allow_extra_args(is_argument);
}

std::string read_whole_number(std::string_view text, std::uint64_t lowest, std::uint64_t highest, std::uint64_t& out) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  if (error != std::errc() || stopped != end || has_leading_zero || number < lowest || number > highest)
    return fmt::format("a whole number from {} to {}, in decimal digits without leading zeros", lowest, highest);
  out = number;
  return {};
}

std::string check_choice(std::string_view text, const std::string& choices) {
  OptionModel option;
  option.value = choices;
  const std::vector<std::string> words = option.choices();
  if (std::find(words.begin(), words.end(), text) != words.end()) return {};
  std::string expected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) expected += i + 1 == words.size() ? " or " : ", ";
    expected += words[i];
  }
  return expected;
}

CLI::Option* add_duration(CLI::App& app, const std::string& names, std::optional<std::int64_t>& target_us,
                          std::int64_t highest_us, const std::string& description) {
  return add_value(app, names, "DURATION", description, [&target_us, highest_us](const std::string& text) {
    constexpr std::int64_t kHourUs = std::int64_t{3'600} * 1'000'000;
    const std::optional<std::int64_t> ns = parse_go_duration_ns(text);
    if (!ns || *ns < 0 || duration_us(*ns) > highest_us)
      return fmt::format("a duration from 0s to {}h, such as 90s or 1h30m", highest_us / kHourUs);
    target_us = duration_us(*ns);
    return std::string();
  });
}

std::string check_text(std::string_view text) { return text.empty() ? "a text that is not empty" : ""; }

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The words of scenario text and their parts. docs/testing.md lists every word.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/node.h"
#include "host/objects/quantity.h"
#include "host/objects/resources.h"
#include "host/objects/selectors.h"

namespace berth::test {

/// A scenario line with an unknown word; the message names the word.
class TextError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// @throws TextError `WHAT: "WORD"`
[[noreturn]] void fail(std::string_view what, std::string_view word);

/// The words of a line; blanks separate them, double quotes group them and are removed; \" is a
/// quote itself.
std::vector<std::string> split_words(std::string_view line);

/// "key=value" at the first '='; without one the value is empty.
std::pair<std::string, std::string> key_value(std::string_view word);
std::vector<std::string> split(std::string_view text, char separator);
std::int64_t integer(std::string_view text);
std::int32_t small_integer(std::string_view text);
Quantity quantity(std::string_view text);
/// "name*3" -> name0, name1, name2; "name" -> name.
std::vector<std::string> expand_name(const std::string& word);

void set_amount(ResourceList& list, const std::string& name, std::string_view text);
/// "cpu", "memory", "ephemeral" or "res:<full name>"; nullopt for other words.
std::optional<std::string> resource_name(const std::string& key);
TaintEffect taint_effect(std::string_view text);
/// "zone" and "host" stand for the Kubernetes labels; any other key is unchanged.
std::string topology_key(const std::string& word);

/// "key:Operator[:value,value]"
SelectorRequirement requirement(std::string_view text);
/// Requirements of a node selector joined with '&'; one that starts with '@' is a field. The empty text is an
/// empty term.
NodeSelectorTerm term(std::string_view text);
/// "weight:term"
PreferredSchedulingTerm preferred_term(std::string_view text);
/// Requirements of a label selector joined with '&'; "key=value" is an entry of matchLabels. The empty text is {}.
LabelSelector label_selector(std::string_view text);

}  // namespace berth::test

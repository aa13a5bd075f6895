// SPDX-License-Identifier: Apache-2.0
#include "host/perf/text_template.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "host/config/config_reader.h"
#include "host/objects/errors.h"
#include "host/objects/text/byte_source.h"

namespace berth {
namespace {

constexpr std::size_t kTemplateBytesMax = std::size_t{16} << 20;
constexpr std::int64_t kNumberMax = 1'000'000'000'000;  // so that no division overflows
constexpr std::string_view kExpectation = "expected .Index, .Count, div A B or mod A B";

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

}  // namespace

TextTemplate::TextTemplate(std::string text, std::string source) : text_(std::move(text)), source_(std::move(source)) {
  for (std::size_t at = text_.find("{{"); at != std::string::npos; at = text_.find("{{", at)) {
    const std::size_t close = text_.find("}}", at);
    if (close == std::string::npos) refuse(at, "\"{{\" without \"}}\"");
    directives_.push_back(parse(at, close + 2));
    at = close + 2;
  }
}

TextTemplate::Directive TextTemplate::parse(std::size_t begin, std::size_t end) const {
  const std::string_view inner = std::string_view(text_).substr(begin + 2, end - begin - 4);
  const std::vector<std::string> words = words_of(inner);
  Directive directive{begin, end, Function::kValue, {}, {}};
  bool is_known = false;
  if (words.size() == 1) {
    is_known = parse_operand(words[0], directive.first);
  } else if (words.size() == 3 && (words[0] == "div" || words[0] == "mod")) {
    directive.function = words[0] == "div" ? Function::kDivide : Function::kModulo;
    is_known = parse_operand(words[1], directive.first) && parse_operand(words[2], directive.second);
  }
  if (!is_known)
    refuse(begin,
           "the template directive " + quoted_for_message(inner) + " is not supported, " + std::string(kExpectation));
  return directive;
}

bool TextTemplate::parse_operand(const std::string& word, Operand& out) const {
  if (word == ".Index" || word == ".Count") {
    out.kind = word == ".Index" ? Operand::Kind::kIndex : Operand::Kind::kCount;
    return true;
  }
  const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), out.number);
  const bool is_whole = error == std::errc() && stopped == word.data() + word.size();
  return is_whole && out.number >= -kNumberMax && out.number <= kNumberMax;
}

std::int64_t TextTemplate::evaluate(const Directive& directive, std::int64_t index, std::int64_t count) const {
  const auto value_of = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::kNumber) return operand.number;
    return operand.kind == Operand::Kind::kIndex ? index : count;
  };
  const std::int64_t first = value_of(directive.first);
  if (directive.function == Function::kValue) return first;
  const std::int64_t second = value_of(directive.second);
  if (second == 0) refuse(directive.begin, "division by 0");
  return directive.function == Function::kDivide ? first / second : first % second;
}

std::string TextTemplate::render(std::int64_t index, std::int64_t count) const {
  std::string out;
  std::size_t copied = 0;
  for (const Directive& directive : directives_) {
    out.append(text_, copied, directive.begin - copied);
    out += std::to_string(evaluate(directive, index, count));
    copied = directive.end;
  }
  return out.append(text_, copied);
}

void TextTemplate::refuse(std::size_t position, const std::string& message) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(position);
  const auto line = std::count(text_.begin(), end, '\n') + 1;
  throw InputError(InputProblem{source_, "line " + std::to_string(line), message});
}

TextTemplate load_text_template(const std::string& path) {
  TextLimits limits;
  limits.source_bytes_max = kTemplateBytesMax;
  FileSource file(path, limits);
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (const std::size_t size = file.read(block.data(), block.size())) text.append(block, 0, size);
  return {std::move(text), path};
}

}  // namespace berth

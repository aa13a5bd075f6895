// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

/// A text with the directives of Go's text/template that scheduler_perf's files use: {{.Index}}, {{.Count}},
/// {{div A B}} and {{mod A B}}, where A and B are .Index, .Count or a number. Any other directive is an error.
class TextTemplate {
 public:
  /// @param source  name of the text in errors
  /// @throws InputError naming the line and the directive
  TextTemplate(std::string text, std::string source);

  /// Without directives every index gives the same text.
  bool has_directives() const { return !directives_.empty(); }
  /// @throws InputError for a division by 0
  std::string render(std::int64_t index, std::int64_t count) const;
  const std::string& source() const { return source_; }

 private:
  struct Operand {
    enum class Kind : std::uint8_t { kIndex, kCount, kNumber };
    Kind kind = Kind::kNumber;
    std::int64_t number = 0;
  };
  enum class Function : std::uint8_t { kValue, kDivide, kModulo };
  struct Directive {
    std::size_t begin = 0;  ///< of "{{" in the text
    std::size_t end = 0;    ///< behind "}}"
    Function function = Function::kValue;
    Operand first = {};
    Operand second = {};
  };

  Directive parse(std::size_t begin, std::size_t end) const;
  bool parse_operand(const std::string& word, Operand& out) const;
  std::int64_t evaluate(const Directive& directive, std::int64_t index, std::int64_t count) const;
  [[noreturn]] void refuse(std::size_t position, const std::string& message) const;

  std::string text_;
  std::string source_;
  std::vector<Directive> directives_;
};

/// The text of a file of at most 16 MiB. @throws InputError naming `path`
TextTemplate load_text_template(const std::string& path);

}  // namespace berth

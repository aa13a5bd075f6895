// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/metrics/exposition_text.h"

#include <cctype>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

namespace berth::test {
namespace {

struct Sample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  ///< values as they are escaped
  double value = 0;
};

bool is_name(std::string_view text, bool with_colon) {
  const auto starts = [&](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (with_colon && c == ':');
  };
  if (text.empty() || !starts(text.front())) return false;
  for (const char c : text)
    if (!starts(c) && std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return true;
}

/// Reads one line from left to right.
class LineReader {
 public:
  explicit LineReader(const std::string& line) : line_(line) {}

  Sample sample() {
    Sample sample;
    sample.name = until("{ ");
    check(is_name(sample.name, true), "the name");
    if (line_[at_] == '{') labels(sample);
    check(line_[at_] == ' ', "a space before the value");
    const std::string value = line_.substr(at_ + 1);
    std::size_t end = 0;
    sample.value = std::stod(value, &end);
    check(end == value.size() && !value.empty() && value.front() != ' ', "the value");
    return sample;
  }

 private:
  void labels(Sample& sample) {
    do {
      ++at_;
      const std::string name = until("=");
      check(is_name(name, false), "a label name");
      check(line_.compare(at_, 2, "=\"") == 0, "a quote before a label value");
      at_ += 2;
      const std::size_t from = at_;
      for (; at_ < line_.size() && line_[at_] != '"'; ++at_) {
        if (line_[at_] != '\\') continue;
        ++at_;
        check(at_ < line_.size() && std::string_view("\\\"n").find(line_[at_]) != std::string_view::npos, "an escape");
      }
      check(at_ < line_.size(), "a quote behind a label value");
      const bool is_sorted = sample.labels.empty() || sample.labels.back().first < name || name == "le";
      check(is_sorted, "the order of labels");
      sample.labels.emplace_back(name, line_.substr(from, at_ - from));
      ++at_;
    } while (at_ < line_.size() && line_[at_] == ',');
    check(at_ < line_.size() && line_[at_] == '}', "a brace behind labels");
    ++at_;
  }
  std::string until(const char* ends) {
    const std::size_t end = line_.find_first_of(ends, at_);
    check(end != std::string::npos, "an end of a name");
    const std::string text = line_.substr(at_, end - at_);
    at_ = end;
    return text;
  }
  void check(bool is_right, const std::string& what) const {
    if (!is_right) throw ExpositionError("expected " + what + " in: " + line_);
  }

  const std::string& line_;
  std::size_t at_ = 0;
};

std::string joined(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "{" : ",") + name + "=\"" + value + "\"";
  return text.empty() ? text : text + "}";
}

class Reader {
 public:
  ExpositionText read(const std::string& text) {
    if (!text.empty() && text.back() != '\n') throw ExpositionError("the last line does not end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) take(line);
    end_family();
    return std::move(result_);
  }

 private:
  struct Histogram {
    double last_bound = -INFINITY;
    double last_count = 0;
    double count = -1;
    bool has_sum = false;
  };

  void take(const std::string& line) {
    if (line.starts_with("# HELP ")) {
      end_family();
      family_ = line.substr(7, line.find(' ', 7) - 7);
      type_.clear();
      if (!is_name(family_, true) || result_.types.contains(family_)) fail("a new family", line);
    } else if (line.starts_with("# TYPE ")) {
      type_ = line.substr(line.rfind(' ') + 1);
      if (line != "# TYPE " + family_ + " " + type_) fail("the type of " + family_, line);
      if (type_ != "counter" && type_ != "gauge" && type_ != "histogram") fail("a type", line);
      result_.types[family_] = type_;
    } else {
      take(LineReader(line).sample(), line);
    }
  }

  void take(const Sample& sample, const std::string& line) {
    if (type_.empty()) fail("HELP and TYPE before", line);
    const std::string key = sample.name + joined(sample.labels);
    if (!result_.values.emplace(key, sample.value).second) fail("no second sample", line);
    ++sample_count_;
    if (type_ != "histogram") {
      if (sample.name != family_) fail("a sample of " + family_, line);
      if (type_ == "counter" && !(sample.value >= 0)) fail("a count", line);
      return;
    }
    auto labels = sample.labels;
    double bound = 0;
    if (sample.name == family_ + "_bucket") {
      if (labels.empty() || labels.back().first != "le") fail("le", line);
      bound = std::stod(labels.back().second);
      labels.pop_back();
    }
    Histogram& histogram = histograms_[joined(labels)];
    if (sample.name == family_ + "_bucket") {
      if (!(bound > histogram.last_bound) || sample.value < histogram.last_count) fail("buckets that grow", line);
      histogram.last_bound = bound;
      histogram.last_count = sample.value;
    } else if (sample.name == family_ + "_count") {
      histogram.count = sample.value;
    } else if (sample.name == family_ + "_sum") {
      histogram.has_sum = true;
    } else {
      fail("a sample of " + family_, line);
    }
  }

  void end_family() {
    if (family_.empty()) return;
    if (sample_count_ == 0) throw ExpositionError(family_ + " has no sample");
    for (const auto& [labels, histogram] : histograms_)
      if (!std::isinf(histogram.last_bound) || histogram.last_count != histogram.count || !histogram.has_sum)
        throw ExpositionError("histogram " + family_ + labels);
    histograms_.clear();
    sample_count_ = 0;
  }

  [[noreturn]] static void fail(const std::string& expected, const std::string& line) {
    throw ExpositionError("expected " + expected + ": " + line);
  }

  ExpositionText result_;
  std::string family_;
  std::string type_;
  std::map<std::string, Histogram> histograms_;  ///< of the family, by labels
  std::size_t sample_count_ = 0;                 ///< of the family
};

}  // namespace

ExpositionText parse_exposition(const std::string& text) { return Reader().read(text); }

std::string unescaped(const std::string& value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\') {
      text += value[i];
    } else {
      ++i;
      text += value[i] == 'n' ? '\n' : value[i];
    }
  }
  return text;
}

}  // namespace berth::test

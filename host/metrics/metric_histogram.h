// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "host/metrics/series.h"

namespace berth {

class MetricHistogram {
 public:
  explicit MetricHistogram(const Series& series) : bounds_(bounds_of(series.buckets)), counts_(bounds_.size() + 1) {}
  /// A value on a bound lies below it.
  void observe(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  const std::vector<std::uint64_t>& counts() const { return counts_; }  ///< [bound], not summed; then those above all
  std::uint64_t count() const;
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

/// The histograms of one series, by the values of its labels.
/// @tparam Labels  values in the order of Series::labels; std::string where there is text
template <class... Labels>
class LabelledHistogram {
 public:
  using Key = std::tuple<Labels...>;
  explicit LabelledHistogram(std::string_view series) : series_(series_named(series)) {}
  LabelledHistogram(const LabelledHistogram&) = delete;
  LabelledHistogram& operator=(const LabelledHistogram&) = delete;

  /// @param labels  anything that compares with Labels; nothing is copied where the histogram is there already
  template <class... Views>
  void observe(double value, const Views&... labels) {
    const std::tuple<const Views&...> views(labels...);
    if (last_ == nullptr || last_->first != views) {
      auto at = by_labels_.find(views);
      if (at == by_labels_.end()) at = by_labels_.emplace(Key(labels...), MetricHistogram(series_)).first;
      last_ = &*at;
    }
    last_->second.observe(value);
  }

  const Series& series() const { return series_; }
  const std::map<Key, MetricHistogram, std::less<>>& by_labels() const { return by_labels_; }

 private:
  const Series& series_;
  std::map<Key, MetricHistogram, std::less<>> by_labels_;
  std::pair<const Key, MetricHistogram>* last_ = nullptr;  ///< observed last: most often the next one, too
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the rows of bench_embed have in common: calls that must work, their time, and the table.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "host/objects/json_out.h"
#include "include/berth/berth.h"

namespace berth {

inline void check(berth_status status, const berth_error& error) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s: %s\n", berth_status_name(status), error.object, error.text);
  std::exit(1);
}
#define CHECK(call)                       \
  do {                                    \
    berth_error error = BERTH_ERROR_INIT; \
    check((call), error);                 \
  } while (0)

inline double microseconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

class Table {
 public:
  /// @param limit  0: none
  void row(const char* what, double value, const char* unit, double limit) {
    const bool is_short = limit > 0 && value > limit;
    std::printf("%-62s %12.3f %-6s limit %10.3f%s\n", what, value, unit, limit, is_short ? "  SHORT" : "");
    std::fflush(stdout);
    ++rows_;
    short_ += is_short ? 1 : 0;
  }
  /// Median and 99th percentile of many calls; the limit is the median's.
  void calls(const std::string& what, int rounds, double limit_us, const std::function<void(int)>& call) {
    std::vector<double> us;
    for (int i = 0; i < rounds; ++i) us.push_back(microseconds_of([&] { call(i); }));
    std::sort(us.begin(), us.end());
    row((what + ", median").c_str(), us[us.size() / 2], "us", limit_us);
    row((what + ", p99").c_str(), us[us.size() * 99 / 100], "us", 0);
  }
  void finish() const { std::printf("bench-embed: %d rows, %d short\n", rows_, short_); }

 private:
  int rows_ = 0;
  int short_ = 0;
};

struct Bulk {
  std::string text;
  std::vector<std::uint64_t> offsets = {0};

  template <class T>
  void add(const T& object) {
    append_json(text, object);
    offsets.push_back(text.size());
  }
  berth_bulk view() const {
    berth_bulk bulk = BERTH_BULK_INIT;
    bulk.data = text.data();
    bulk.offsets = offsets.data();
    bulk.count = offsets.size() - 1;
    return bulk;
  }
};

inline std::int64_t sum_of(const berth_result* result, std::uint32_t id) {
  berth_column column{};
  CHECK(berth_result_column(result, id, &column, &error));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < column.length; ++i) sum += static_cast<const std::uint32_t*>(column.data)[i];
  return sum;
}

}  // namespace berth

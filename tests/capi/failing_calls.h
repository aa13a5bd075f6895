// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of berth.h in which memory runs out, at each of their allocations.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "include/berth/berth.h"
#include "tests/failure/failing_allocations.h"

namespace berth::test {

/// A call on `Handles`, which allocates nothing itself.
template <class Handles>
struct Call {
  std::string name;
  std::function<berth_status(Handles&)> make;
};

/// Every allocation of the first ones, then ever fewer: building the handles anew for each takes most of the time.
/// @tparam Handles  made anew for each failure; answers() is what they say
/// @param skipped_of  behind allocation n, n / skipped_of are left out
template <class Handles>
void expect_all_or_nothing(const std::vector<Call<Handles>>& calls, std::int64_t skipped_of = 3) {
  const std::string before = Handles().answers();
  for (const Call<Handles>& call : calls) {
    Handles twin;
    ASSERT_EQ(call.make(twin), BERTH_OK) << call.name;
    const std::string after = twin.answers();
    bool has_failed = true;
    for (std::int64_t n = 1; has_failed; n += 1 + (n > 8 ? n / skipped_of : 0))
      for (const Failure failure : {Failure::kOnce, Failure::kAllBehind}) {
        Handles handles;
        berth_status status = BERTH_OK;
        {
          const FailingAllocation failing(n, failure);
          status = call.make(handles);
          has_failed = failing.has_failed();
        }
        const std::string where = call.name + ", allocation " + std::to_string(n);
        ASSERT_TRUE(status == BERTH_OK || (status == BERTH_E_MEMORY && has_failed))
            << where << ": " << berth_status_name(status);
        if (status != BERTH_OK) {
          ASSERT_EQ(handles.answers(), before) << where;
          ASSERT_EQ(call.make(handles), BERTH_OK) << where;
        }
        ASSERT_EQ(handles.answers(), after) << where;
      }
  }
}

}  // namespace berth::test

// SPDX-License-Identifier: Apache-2.0
#include "host/perf/background.h"

#include <gtest/gtest.h>

#include "host/perf/perf_objects.h"

namespace berth {
namespace {

class Steps final : public BackgroundTask {
 public:
  explicit Steps(std::int64_t& done, std::int64_t limit = INT64_MAX) : done_(done), limit_(limit) {}
  void run_once(BackgroundCounts& counts) override { ++done_, ++counts.churned; }
  bool is_over() const override { return done_ >= limit_; }

 private:
  std::int64_t& done_;
  std::int64_t limit_;
};

ChurnOp churn(bool recreates, std::int64_t number) {
  ChurnOp op;
  op.recreates = recreates;
  op.number = number;
  return op;
}

std::vector<ObjectSeries> pod_series() {
  std::vector<ObjectSeries> series;
  series.push_back(make_series(base_pod_template(), {"a", 1, false}).series);
  return series;
}

TEST(Background, RunsAtTheRateOfTheFileTimesTheFactor) {
  std::int64_t done = 0;
  Background background({10, 0});
  background.start(std::make_unique<Steps>(done), 1'000'000, 0);
  EXPECT_EQ(background.next_due_us(), 100'000);
  EXPECT_FALSE(background.run_due(99'999, 0));
  EXPECT_TRUE(background.run_due(350'000, 0));
  EXPECT_EQ(done, 3);
  EXPECT_EQ(background.next_due_us(), 400'000);
}

TEST(Background, FollowsThePodsDuringAMeasurement) {
  std::int64_t done = 0;
  Background background({100, 50});  // 50 pods between two steps
  background.start(std::make_unique<Steps>(done), 1'000'000, 0);
  background.begin_measurement();
  EXPECT_EQ(background.pods_until_due(0), 50);
  background.run_due(0, 49);
  EXPECT_EQ(done, 0);
  background.run_due(0, 120);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(background.pods_until_due(120), 30);
  EXPECT_EQ(background.missing(120), 0);
}

TEST(Background, ComesByTimeOnlyWhileTheSchedulerHasNothingToDo) {
  std::int64_t done = 0;
  Background background({100, 50});
  background.start(std::make_unique<Steps>(done), 1'000'000, 0);
  background.begin_measurement();
  background.run_due(5'000'000, 10);
  EXPECT_EQ(done, 0);
  background.run_idle(9'999);
  EXPECT_EQ(done, 0);
  background.run_idle(5'000'000);
  EXPECT_EQ(done, 1);
  background.end_measurement();
  background.run_due(5'020'000, 10);
  EXPECT_EQ(done, 3);
}

TEST(Background, MissesStepsWhenTheFileIsRunAsItIs) {
  std::int64_t done = 0;
  Background background({1, 50});
  background.start(std::make_unique<Steps>(done), 1'000'000, 0);
  background.begin_measurement();
  background.run_due(1'000'000, 500);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(background.missing(500), 9);
}

TEST(Background, AFinishedTaskIsNotMissing) {
  std::int64_t done = 0;
  Background background({1, 50});
  background.start(std::make_unique<Steps>(done, 2), 1'000'000, 0);
  background.begin_measurement();
  background.run_due(10'000'000, 5000);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(background.missing(5000), 0);
  EXPECT_EQ(background.next_due_us(), INT64_MAX);
}

TEST(Churn, CreatesUpToItsNumber) {
  const VirtualClock clock(1'000'000);
  ObjectStore store(clock);
  BackgroundCounts counts;
  const auto task = make_churn(store, churn(false, 2), pod_series(), "a");
  while (!task->is_over()) task->run_once(counts);
  EXPECT_EQ(store.count<Pod>(), 2u);
  EXPECT_EQ(counts.churned, 2);
}

TEST(Churn, RecreatesByDeletingWhatItCreated) {
  const VirtualClock clock(1'000'000);
  ObjectStore store(clock);
  BackgroundCounts counts;
  const auto task = make_churn(store, churn(true, 2), pod_series(), "a");
  std::vector<std::size_t> counts_seen;
  for (int i = 0; i < 6; ++i) {
    task->run_once(counts);
    counts_seen.push_back(store.count<Pod>());
  }
  EXPECT_EQ(counts_seen, std::vector<std::size_t>({1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(counts.churned, 6);
}

}  // namespace
}  // namespace berth

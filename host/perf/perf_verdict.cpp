// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_runner.h"

namespace berth {

PerfVerdict verdict_of(const PerfMeasurement& measurement, double threshold) {
  if (measurement.missing > 0) return PerfVerdict::kNotMeasured;
  if (threshold <= 0) return PerfVerdict::kNoThreshold;
  return measurement.pods_per_second() > threshold ? PerfVerdict::kReached : PerfVerdict::kBelow;
}

PerfVerdict verdict_of(const PerfResult& result) {
  if (!result.skip_reason.empty()) return PerfVerdict::kSkipped;
  if (!result.error.empty()) return PerfVerdict::kFailed;
  PerfVerdict worst = PerfVerdict::kNoThreshold;
  for (const PerfMeasurement& measurement : result.measurements) {
    const PerfVerdict verdict = verdict_of(measurement, result.threshold);
    if (verdict < worst) worst = verdict;
  }
  return worst;
}

std::string_view to_string(PerfVerdict verdict) {
  switch (verdict) {
    case PerfVerdict::kSkipped:
      return "skipped";
    case PerfVerdict::kFailed:
      return "failed";
    case PerfVerdict::kNotMeasured:
      return "not measured";
    case PerfVerdict::kBelow:
      return "below threshold";
    case PerfVerdict::kReached:
      return "reached";
    case PerfVerdict::kNoThreshold:
      return "no threshold";
  }
  return "";
}

PerfTotals totals_of(const std::vector<PerfResult>& results) {
  PerfTotals totals;
  for (const PerfResult& result : results) {
    const PerfVerdict verdict = verdict_of(result);
    if (verdict == PerfVerdict::kSkipped) {
      ++totals.skipped;
    } else if (verdict == PerfVerdict::kFailed) {
      ++totals.failed;
    } else {
      ++totals.run;
      if (verdict == PerfVerdict::kBelow) ++totals.below;
    }
  }
  return totals;
}

}  // namespace berth

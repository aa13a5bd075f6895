// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named ranges for Nsight Systems, one per step of the pipeline. Without a profiler a range costs a few nanoseconds.

#include <nvtx3/nvtx3.hpp>

namespace berth::cuda {

struct NvtxDomain {
  static constexpr const char* name = "berth";
};

// One type per step: NVTX registers a name once, by its type.
struct CompileStep {
  static constexpr const char* message = "compile";
};
struct UploadStep {
  static constexpr const char* message = "upload";
};
struct BuildRowsStep {
  static constexpr const char* message = "build_rows";
};
struct CommitStep {
  static constexpr const char* message = "commit";
};
struct SelectRunStep {
  static constexpr const char* message = "select_run";
};
struct DownloadStep {
  static constexpr const char* message = "download";
};

/// Shows the step from here to the end of the scope: `const StepRange<BuildRowsStep> range;`. On the host's time line;
/// the profiler adds the stream work enqueued meanwhile.
template <class Step>
class StepRange {
 public:
  StepRange() : range_(nvtx3::registered_string_in<NvtxDomain>::template get<Step>()) {}

 private:
  nvtx3::scoped_range_in<NvtxDomain> range_;
};

}  // namespace berth::cuda

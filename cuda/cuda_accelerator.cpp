// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_accelerator.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "batching/device/device_errors.h"
#include "cuda/device_probe.h"
#include "cuda/kernels/build_rows.cuh"
#include "cuda/kernels/commit_batch.cuh"
#include "cuda/kernels/commit_run.cuh"
#include "cuda/kernels/commit_window.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/event.h"
#include "cuda/launch/ranges.h"
#include "cuda/launch/stream.h"
#include "cuda/launch/tuning.h"
#include "cuda/memory/device_buffer.h"
#include "cuda/memory/pinned_buffer.h"
#include "cuda/memory/pool.h"

namespace berth::cuda {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;  ///< of each of two halves, used in turn

/// Page-locked staging memory for transfers, so that the caller may reuse its memory immediately.
class Staging {
 public:
  explicit Staging(StreamView stream) : stream_(stream) {}

  void upload(void* device, const void* host, std::uint64_t bytes) {
    const auto* from = static_cast<const std::uint8_t*>(host);
    auto* to = static_cast<std::uint8_t*>(device);
    for (std::uint64_t done = 0; done < bytes;) {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, kStagingBytes));
      Half& half = next_half();
      half.passed.synchronize();
      std::memcpy(half.memory.data(), from + done, size);
      berth::cuda::upload(half.memory.span().first(size), std::span<std::uint8_t>(to + done, size), stream_);
      half.passed.record(stream_);
      done += size;
    }
  }
  /// Waits.
  void download(void* host, const void* device, std::uint64_t bytes) {
    auto* to = static_cast<std::uint8_t*>(host);
    const auto* from = static_cast<const std::uint8_t*>(device);
    for (std::uint64_t done = 0; done < bytes;) {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, kStagingBytes));
      Half& half = next_half();
      half.passed.synchronize();
      berth::cuda::download(std::span<const std::uint8_t>(from + done, size), half.memory.span().first(size), stream_);
      stream_.synchronize();
      std::memcpy(to + done, half.memory.data(), size);
      done += size;
    }
  }

 private:
  struct Half {
    PinnedBuffer<std::uint8_t> memory{kStagingBytes};
    Event passed;
  };
  Half& next_half() { return halves_[turn_ = 1 - turn_]; }

  StreamView stream_;
  std::array<Half, 2> halves_;
  std::size_t turn_ = 0;
};

/// Times of kernels on the device, read after a wait for the stream.
class KernelClock {
 public:
  explicit KernelClock(StreamView stream) : stream_(stream) {}

  /// Runs `launch_kernel` between two events. @param bytes  the minimum that the kernel has to move
  template <class Launch>
  void time(std::string_view name, std::uint64_t bytes, Launch launch_kernel) {
    Span span{name, Event(EventTiming::kOn), Event(EventTiming::kOn)};
    span.begin.record(stream_);
    launch_kernel();
    span.end.record(stream_);
    DeviceStats::Kernel& figures = figures_[name];
    figures.name = name;
    ++figures.launches;
    figures.bytes += bytes;
    waiting_.push_back(std::move(span));
  }
  /// Adds the times of all kernels so far. Waits for those that have not finished.
  void collect() {
    for (; !waiting_.empty(); waiting_.pop_front()) {
      const Span& span = waiting_.front();
      span.end.synchronize();  // a kernel may have finished before its event is recorded
      figures_[span.name].seconds += span.end.elapsed_us_since(span.begin) / 1'000'000;
    }
  }
  std::vector<DeviceStats::Kernel> figures() const {
    std::vector<DeviceStats::Kernel> all;
    all.reserve(figures_.size());
    for (const auto& [name, figures] : figures_) all.push_back(figures);
    return all;
  }

 private:
  struct Span {
    std::string_view name;
    Event begin, end;
  };
  StreamView stream_;
  std::deque<Span> waiting_;
  std::map<std::string_view, DeviceStats::Kernel> figures_;
};

/// The team that kCommitTeamVariable asks for; nothing when it is not set.
std::optional<CommitTeam> forced_commit_team(const DeviceFacts& facts) {
  const char* value = std::getenv(kCommitTeamVariable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::optional<CommitTeam> team = commit_team_of(value);
  if (!team)
    throw DeviceError(device_text(facts), std::string(kCommitTeamVariable) + ": expected block, cluster or grid");
  if (team == CommitTeam::kCluster && !facts.has_clusters)
    throw DeviceError(device_text(facts), std::string(kCommitTeamVariable) + "=cluster: the device has no clusters");
  return team;
}

class CudaAccelerator : public Accelerator {
 public:
  explicit CudaAccelerator(int ordinal)
      : facts_(open_device(ordinal)),
        forced_team_(forced_commit_team(facts_)),
        pool_(facts_, facts_.memory_bytes_free),
        staging_(stream_.view()),
        clock_(stream_.view()),
        partials_(grid_partials_bytes(facts_), stream_.view(), pool_, {"reductions", ""}) {
    clear(partials_.data(), partials_.size_bytes());  // padding is read along
  }

  std::string_view name() const override { return "cuda"; }
  const DeviceFacts& facts() const override { return facts_; }
  void use_in_this_thread() override { use_device(facts_.ordinal); }

  void* allocate(std::uint64_t bytes, const char* what) override {
    DeviceBuffer<std::uint8_t> block(std::max<std::uint64_t>(bytes, 1), stream_.view(), pool_,
                                     {what, "device.memoryBytesMax"});
    void* memory = block.data();
    blocks_.emplace(memory, std::move(block));
    return memory;
  }
  void release(void* memory) noexcept override { blocks_.erase(memory); }
  std::uint64_t allocated_bytes() const override { return pool_.counts().bytes_in_use; }
  std::uint64_t free_bytes() const override { return pool_.byte_limit() - pool_.counts().bytes_in_use; }

  void upload(void* device, const void* host, std::uint64_t bytes) override {
    const StepRange<UploadStep> range;
    uploaded_bytes_ += bytes;
    staging_.upload(device, host, bytes);
  }
  void download(void* host, const void* device, std::uint64_t bytes) override {
    const StepRange<DownloadStep> range;
    downloaded_bytes_ += bytes;
    staging_.download(host, device, bytes);
    clock_.collect();
  }
  void copy(void* to, const void* from, std::uint64_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.view().raw()), "copy on the device");
  }
  void clear(void* device, std::uint64_t bytes) override {
    check(cudaMemsetAsync(device, 0, bytes, stream_.view().raw()), "clearing of memory");
  }

  DeviceSideSummary evaluate_node_side(const DeviceNodeSide& side) override {
    const StepRange<BuildRowsStep> range;
    const std::size_t blocks = node_side_blocks(side.node_count);
    DeviceBuffer<DeviceSideSummary> summaries(blocks, stream_.view(), pool_, {"node sides of classes", ""});
    const std::uint64_t bytes = static_cast<std::uint64_t>(side.node_count) * kNodeSideBytes;
    clock_.time("evaluate_node_side", bytes, [&] { cuda::evaluate_node_side(side, summaries.data(), stream_.view()); });
    std::vector<DeviceSideSummary> of_blocks(blocks);
    download(of_blocks.data(), summaries.data(), blocks * sizeof(DeviceSideSummary));
    DeviceSideSummary all;
    for (const DeviceSideSummary& of_block : of_blocks) all = CombineSummaries()(all, of_block);
    return all;
  }
  void build_rows(const DeviceState& state, const DeviceRowsToBuild& rows) override {
    const StepRange<BuildRowsStep> range;
    const BuildRowsTuning tuning = build_rows_tuning(facts_.sm);
    clock_.time("build_rows", row_bytes(state, rows.row_count, tuning),
                [&] { cuda::build_rows(state, rows, tuning, stream_.view()); });
  }
  void refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows) override {
    const StepRange<BuildRowsStep> range;
    clock_.time("refresh_rows", 0, [&] { cuda::refresh_rows(state, rows, stream_.view()); });
  }
  void apply_delta(const DeviceState& state, const DeviceDelta& delta) override {
    const StepRange<UploadStep> range;
    clock_.time("apply_delta", 0,
                [&] { cuda::apply_delta(state, delta, build_rows_tuning(facts_.sm), stream_.view()); });
  }
  void evaluate_pod(const DeviceState& state, DeviceNodeScores* nodes) override {
    const StepRange<CommitStep> range;
    const auto bytes = static_cast<std::uint64_t>(state.columns.node_count) * sizeof(DeviceNodeScores);
    clock_.time("evaluate_pod", bytes,
                [&] { cuda::evaluate_pod(state, nodes, facts_, partials_.data(), stream_.view()); });
  }
  void commit_batch(const DeviceState& state, const DeviceBatch& batch, std::int32_t widest_row_cells) override {
    const StepRange<CommitStep> range;
    const CommitTeam team = forced_team_.value_or(commit_team(facts_.sm, widest_row_cells, batch.row_count));
    clock_.time("commit_batch", 0,
                [&] { cuda::commit_batch(state, batch, team, facts_, partials_.data(), stream_.view()); });
  }
  void commit_window(const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window) override {
    const StepRange<CommitStep> range;
    clock_.time("select_tops", 0, [&] { cuda::select_tops(state, batch.row_count, window, stream_.view()); });
    clock_.time("commit_window", 0, [&] { cuda::commit_window(state, batch, window, stream_.view()); });
  }
  void commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count) override {
    const StepRange<CommitStep> range;
    clock_.time("commit_forks", 0, [&] { cuda::commit_forks(states, batches, fork_count, stream_.view()); });
  }
  DeviceRun commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count) override {
    const StepRange<SelectRunStep> range;
    DeviceRun run;
    clock_.time("commit_run", 0, [&] {
      run = cuda::commit_run(state, row, pod_count, commit_run_tuning(facts_.sm), stream_.view(), pool_);
    });
    clock_.collect();
    downloaded_bytes_ += run.picks.size() * sizeof(DevicePick);
    return run;
  }

  DeviceStats stats() const override {
    DeviceStats stats;
    stats.device = facts_.name;
    stats.kernels = clock_.figures();
    stats.uploaded_bytes = uploaded_bytes_;
    stats.downloaded_bytes = downloaded_bytes_;
    stats.allocated_bytes = allocated_bytes();
    stats.peak_bandwidth_bytes_per_s = facts_.peak_bandwidth_bytes_per_s;
    return stats;
  }

 private:
  /// Cordon, taint set and the written base; label columns are added.
  static constexpr std::uint64_t kNodeSideBytes = sizeof(std::uint8_t) + 2 * sizeof(std::int32_t);

  /// Keys are written and read once more by the tournament over them; a tile of rows reads the columns once.
  static std::uint64_t row_bytes(const DeviceState& state, std::int32_t row_count, const BuildRowsTuning& tuning) {
    constexpr std::uint64_t kColumnBytes = 9 * sizeof(std::int64_t) + sizeof(std::uint32_t);  // cpu, memory, storage
    const auto nodes = static_cast<std::uint64_t>(state.columns.node_count);
    const auto rows = static_cast<std::uint64_t>(row_count);
    const std::uint64_t tiles = (rows + tuning.rows_per_tile - 1) / tuning.rows_per_tile;
    return nodes * (rows * (2 * sizeof(NodeKey) + sizeof(std::int32_t)) + tiles * kColumnBytes);
  }

  DeviceFacts facts_;
  std::optional<CommitTeam> forced_team_;
  Stream stream_;
  Pool pool_;
  Staging staging_;
  KernelClock clock_;
  DeviceBuffer<std::uint8_t> partials_;
  std::unordered_map<void*, DeviceBuffer<std::uint8_t>> blocks_;
  std::uint64_t uploaded_bytes_ = 0;
  std::uint64_t downloaded_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Accelerator> open_cuda_accelerator(int ordinal) { return std::make_unique<CudaAccelerator>(ordinal); }

}  // namespace berth::cuda

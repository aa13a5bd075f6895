// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "batching/commit_log.h"
#include "batching/device/views.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_classes.h"
#include "host/engine/device/device_tuning.h"
#include "host/engine/device/launch_plan.h"
#include "host/engine/device/node_event_delta.h"

namespace berth {

/// Bytes of the row of a class in a layout.
std::uint64_t device_row_bytes(const DeviceLayout& layout);
/// Those of its beginning, without DeviceRow::left_out.
std::uint64_t row_key_bytes(const DeviceLayout& layout);

/// Writes which nodes the row leaves out, which takes effect when they are evaluated next. @param node_count  slots
void upload_left_out(const DeviceRow& row, std::span<const std::int32_t> nodes, std::int32_t node_count,
                     Accelerator& accelerator);
/// The set as words. @param node_count  slots
std::vector<std::uint32_t> node_set_of(std::span<const std::int32_t> nodes, std::int32_t node_count);

/// A row over `memory`, which has device_row_bytes().
DeviceRow lay_row(std::int32_t pod_class, std::int32_t layout_index, const DeviceLayout& layout, std::uint8_t* memory);

/// Rows of classes in device memory, kept between batches within a byte limit. The least recently used are dropped
/// first. Dropping a row never changes a result: it is rebuilt when it is needed.
class DeviceRowStore {
 public:
  DeviceRowStore(Accelerator& accelerator, std::uint64_t bytes_max, const DeviceTuning& tuning)
      : accelerator_(accelerator), bytes_max_(bytes_max), tuning_(tuning) {}

  /// How many of the classes, from the first on, can have rows at the same time; at least 1.
  std::size_t fitting(std::span<const std::int32_t> pod_classes, const DeviceClassTable& classes) const;

  /// The work that makes the rows of a batch current. Indices are into `rows`.
  struct Work {
    std::vector<DeviceRow> rows;  ///< of the classes, in their order
    std::vector<std::int32_t> build;
    /// Rows that are evaluated again on some nodes.
    struct Refresh {
      std::vector<std::int32_t> rows;
      std::vector<std::int32_t> first_node, end_node;  ///< [row] into `nodes`
      std::vector<std::int32_t> nodes;
      void add(std::int32_t row, std::size_t first, std::size_t end) {
        rows.push_back(row);
        first_node.push_back(static_cast<std::int32_t>(first));
        end_node.push_back(static_cast<std::int32_t>(end));
      }
      std::int64_t evaluations() const {
        std::int64_t all = 0;
        for (std::size_t r = 0; r < rows.size(); ++r) all += end_node[r] - first_node[r];
        return all;
      }
    };
    Refresh refresh;   ///< on the nodes that changed since the oldest row was current
    Refresh left_out;  ///< on the nodes that rows leave out now, or left out until now
  };
  /// Makes room for the rows of the plan, tells them what they leave out, and marks them as current to the end of the
  /// log. @throws DeviceOutOfMemory  when a single row does not fit
  Work prepare(const LaunchPlan& plan, const DeviceClassTable& classes, const CommitLog& log, std::int32_t node_count);
  /// The row of a class of the latest prepare().
  const DeviceRow& row(std::int32_t pod_class) const { return rows_.at(pod_class).row; }
  /// Corrects the position to which the row is current.
  void set_position(std::int32_t pod_class, std::uint64_t position) { rows_.at(pod_class).position = position; }
  void clear() { rows_.clear(), by_use_.clear(), bytes_ = 0; }
  /// Adds the rows that have positions which nodes left.
  void add_vacancies(NodeEventDelta& delta) const;
  /// Call when the class gets another layout.
  void drop_row_of(std::int32_t pod_class);
  /// Call when a layout was laid out again.
  void drop_rows_of(std::int32_t layout);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_max() const { return bytes_max_; }
  std::int64_t rows_built() const { return rows_built_; }

 private:
  struct Kept {
    DeviceRow row;
    DeviceArray<std::uint8_t> memory;
    std::uint64_t bytes = 0;
    std::uint64_t position = 0;  ///< in the log
    std::uint64_t last_used = 0;
    LeftOutNodes left_out;
    std::list<std::int32_t>::iterator in_order_of_use;  ///< in by_use_
  };
  void note_use(Kept& kept);
  Kept drop(std::unordered_map<std::int32_t, Kept>::iterator at);
  std::optional<Kept> drop_one_other();
  std::vector<std::int32_t> leave_out(const LeftOutNodes& nodes, Kept& kept);
  Kept& make_row(std::int32_t pod_class, const DeviceClassTable& classes);

  Accelerator& accelerator_;
  std::uint64_t bytes_max_;
  const DeviceTuning& tuning_;
  std::unordered_map<std::int32_t, Kept> rows_;  ///< by class
  std::list<std::int32_t> by_use_;               ///< classes of rows_, the least recently used first
  std::uint64_t bytes_ = 0;
  std::uint64_t clock_ = 0;
  std::int64_t rows_built_ = 0;
};

}  // namespace berth

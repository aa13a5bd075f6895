// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/objects/errors.h"
#include "host/record/database.h"
#include "host/record/decision_hash.h"
#include "host/record/recorded_event.h"
#include "host/record/recording_writer.h"

namespace berth {

/// Whether `path` is a regular file that says it is a recording of any version. False for what cannot be read.
bool is_recording(const std::string& path);

/// One file that the run read.
struct RecordedInput {
  std::string kind;
  std::string name;  ///< as it was given
  std::uint64_t bytes = 0;
  std::string checksum;  ///< of the checksums of its batches
  std::int64_t first_batch = 0;
  std::int64_t batch_count = 0;
};

/// How far a recording goes.
struct RecordedExtent {
  bool is_complete = false;  ///< else the process died: what came after the last closed batch is lost
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  std::int64_t bindings = 0;
  std::int64_t evictions = 0;
  std::int64_t time_us = 0;  ///< of the end, or of the last event; 0 when there is none
  std::string hash;          ///< of all events
};

/// Reads a recording, which may be damaged or made to do harm: everything is checked as it is read.
/// All calls throw InputError naming the file, table and row of what is wrong.
class RecordingReader {
 public:
  explicit RecordingReader(const std::string& path);
  ~RecordingReader();
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;

  const std::string& path() const { return path_; }
  const RecordedFacts& facts() const { return facts_; }
  /// null: there is none
  const std::string* fact(std::string_view key) const;
  const std::vector<RecordedInput>& inputs() const { return inputs_; }
  const RecordedExtent& extent() const { return extent_; }
  /// The bytes of one batch of an input. @param batch  from 0, below its batch_count
  std::string input_batch(const RecordedInput& input, std::int64_t batch);
  /// The next event; false behind the last one. Each batch is compared with its hash.
  bool next(RecordedEvent& event);

 private:
  struct Cursors;
  [[noreturn]] void fail(std::string_view table, std::int64_t row, const std::string& message) const;
  template <class Work>
  auto guarded(Work&& work);
  void check_tables();
  void read_facts();
  void list_inputs();
  void read_extent();
  void read_decision(RecordedEvent& event);
  const std::string& message(std::int64_t id, std::int64_t row);
  void check_batch();

  std::string path_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Cursors> cursors_;
  RecordedFacts facts_;
  std::vector<RecordedInput> inputs_;
  RecordedExtent extent_;
  DecisionHash hash_;
  std::int64_t event_ = 0;  ///< read so far
  std::unordered_map<std::int64_t, std::string> messages_;
};

/// The bytes of a recorded input, one batch in memory at a time.
class RecordedInputStream final : public ByteStream {
 public:
  /// @param reader, input  outlive the stream
  RecordedInputStream(RecordingReader& reader, const RecordedInput& input) : reader_(reader), input_(input) {}
  std::size_t read(char* out, std::size_t capacity) override;

 private:
  RecordingReader& reader_;
  const RecordedInput& input_;
  std::int64_t batch_ = 0;
  std::string bytes_;
  std::size_t used_ = 0;
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/text/byte_source.h"
#include "host/record/background_job.h"
#include "host/record/database.h"
#include "host/record/decision_hash.h"
#include "host/record/event_bytes.h"
#include "host/record/recorded_event.h"

namespace berth {

/// The recording could not be written; names the file.
class RecordingError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a recording says of its run: key and value, in order.
using RecordedFacts = std::vector<std::pair<std::string, std::string>>;

/// Writes one recording: inputs, then begin(), then events, then end(). Events come in batches of kEventsPerBatch: a
/// thread of the writer makes one transaction of each while the next one fills, so that a process that dies at any
/// moment leaves all but these two, and the file says that it has no end. All calls come from one thread, and throw
/// RecordingError when the file cannot be written, for events at the latest one batch later; what was closed before
/// stays readable.
class RecordingWriter {
 public:
  enum class Existing : std::uint8_t { kRefuse, kReplaceRecording };

  /// @throws RecordingError when the file is there, or cannot be made; with kReplaceRecording another recording is
  ///         replaced, and any other file is refused
  RecordingWriter(const std::string& path, Existing existing);
  ~RecordingWriter();
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  /// Copies `stream` to its end. @param kind  docs/recordings.md lists them
  /// @throws InputError when the stream cannot be read, or all inputs are larger than kRecordedInputBytesMax
  void add_input(std::string_view kind, const std::string& name, ByteStream& stream);
  /// All inputs are there. Without it the file is a recording that holds no run.
  void begin(const RecordedFacts& facts);
  void add(const RecordedEvent& event);
  /// Takes all events back, for a run that starts again.
  void restart();
  /// @param time_us  of the scheduler's clock
  void end(std::int64_t time_us);
  /// Removes the file, for a run that did not come about. Nothing else may be called afterwards.
  void discard() noexcept;

  /// Of all events; after end().
  std::string hash() const { return hash_.hex(); }

 private:
  struct Statements;
  template <class Work>
  void guarded(Work&& work);
  void insert_input(std::string_view kind, const std::string& name, std::string_view bytes);
  /// Events as append_bytes() writes them.
  struct Batch {
    std::string events;
    std::int64_t event_count = 0;
    std::int64_t time_us = 0;
    bool is_end = false;
  };
  void close_batch(std::int64_t time_us, bool is_end);
  void write(const Batch& batch);
  void insert(const RecordedEventView& event);
  std::int64_t message_id(std::string_view text);

  std::string path_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> statements_;
  Batch open_;
  // Of the thread, while it writes a batch:
  Batch written_;
  DecisionHash hash_;
  std::unordered_map<std::string, std::int64_t> message_ids_;
  std::int64_t message_count_ = 0;
  std::int64_t event_count_ = 0;
  std::int64_t batch_count_ = 0;
  std::int64_t counts_[3] = {};  ///< by kind
  // Not of the thread:
  std::int64_t file_count_ = 0;
  std::int64_t input_count_ = 0;
  std::uint64_t input_bytes_ = 0;
  BackgroundJob job_;  ///< last: it ends before what it uses
};

}  // namespace berth

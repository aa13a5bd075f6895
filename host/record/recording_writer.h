// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/text/byte_source.h"
#include "host/record/background_jobs.h"
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

/// Writes one recording: inputs, then begin(), then events, then end(). Events come in batches of kEventsPerBatch, each
/// one transaction. A thread of the writer makes rows of a batch while it fills, and add() returns from the last event
/// of a batch when it is committed, so that a process that dies at any moment leaves all but the batch that was open,
/// and the file says that it has no end. All calls come from one thread, and throw RecordingError when the file cannot
/// be written, for events at the latest at the end of their batch; what was closed before stays readable.
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
  /// add() makes the rows itself. For a program without other threads, which one makes slower: the counts of shared
  /// objects are atomic then, and malloc locks. Before the first add().
  void write_without_thread() { jobs_.run_at_once(); }
  /// All inputs are there. Without it the file is a recording that holds no run.
  void begin(const RecordedFacts& facts);
  void add(const RecordedEventView& event);
  void add(const RecordedEvent& event) { add(view_of(event)); }
  /// Takes all events back, for a run that starts again.
  void restart();
  /// @param time_us  of the scheduler's clock
  void end(std::int64_t time_us);
  /// Removes the file, for a run that did not come about. Nothing else may be called afterwards.
  void discard() noexcept;

  /// Of all events; after end().
  std::string hash() const { return hash_.hex(); }

 private:
  class Binder;
  struct Inserts;
  struct Statements;
  /// One event that is to be inserted.
  struct Row {
    std::int64_t id = 0;
    RecordedEventView event;
    std::int64_t message = 0;  ///< its id; 0: none
  };
  template <class Work>
  void guarded(Work&& work);
  void insert_input(std::string_view kind, const std::string& name, std::string_view bytes);
  void pass_on();
  void close_batch(std::int64_t time_us, bool is_end);
  void checkpoint();
  // By the thread:
  void write(const std::shared_ptr<const std::string>& passed);
  void commit(std::int64_t time_us, bool is_end);
  static void bind(Binder& binder, std::size_t first, const Row& row);
  void insert(const RecordedEventView& event);
  void insert_waiting();
  std::int64_t message_id(std::string_view text);

  std::string path_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> statements_;
  std::string open_;             ///< events that the thread does not have yet, as append_bytes() writes them
  std::int64_t open_count_ = 0;  ///< of them
  std::int64_t in_batch_ = 0;    ///< of the batch that is open, those that the thread has included
  // Of the thread, while it has jobs:
  bool in_transaction_ = false;
  std::vector<std::shared_ptr<const std::string>> waiting_events_;  ///< which rows that wait refer to
  DecisionHash hash_;
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> message_ids_;
  std::int64_t message_count_ = 0;
  std::int64_t event_count_ = 0;
  std::int64_t batch_count_ = 0;
  std::int64_t counts_[3] = {};  ///< by kind
  // Not of the thread:
  std::int64_t file_count_ = 0;
  std::int64_t input_count_ = 0;
  std::uint64_t input_bytes_ = 0;
  std::int64_t batches_since_checkpoint_ = 0;
  BackgroundJobs jobs_;  ///< last: it ends before what it uses
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/record/recording_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "host/objects/text/zstd_bytes.h"
#include "host/record/recording_reader.h"
#include "host/record/schema.h"

namespace berth {
namespace {

constexpr int kCompressionLevel = 3;
/// Texts whose ids are remembered; beyond it a text may stand in the file more than once.
constexpr std::size_t kMessagesKnownMax = 10'000;
/// Events that the thread gets at once: so many are left to be written when a batch is full. Each time wakes it, which
/// on two busy cores costs more than the wait for a few hundred rows.
constexpr std::int64_t kEventsPassedOn = 512;
/// Rows of one statement: starting and ending it costs as much as a row.
constexpr std::size_t kRowsAtOnce = 64;
/// Batches of the write-ahead log before they are moved into the file, which waits for the disk. It is done by the
/// thread while the next batch fills, not within a commit, for which a batch waits.
constexpr std::int64_t kBatchesPerCheckpoint = 16;
constexpr const char* kNoCheckpoints = "PRAGMA wal_autocheckpoint=0";
constexpr const char* kCheckpoint = "PRAGMA wal_checkpoint(PASSIVE)";
/// Rows are only appended: large pages cost less of them each.
constexpr const char* kPageBytes = "PRAGMA page_size=16384";

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw RecordingError(fmt::format("{}: {}", path, why));
}

void remove_files(const std::string& path) noexcept {
  ::unlink(path.c_str());
  try {
    ::unlink((path + "-wal").c_str());
    ::unlink((path + "-shm").c_str());
  } catch (const std::bad_alloc&) {
    return;  // they are empty once the file is closed
  }
}

/// A new empty file of that name, so that nothing that is there is ever written into.
void create_file(const std::string& path, RecordingWriter::Existing existing) {
  if (existing == RecordingWriter::Existing::kReplaceRecording && is_recording(path)) remove_files(path);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    ::close(descriptor);
    return;
  }
  if (errno != EEXIST) fail(path, std::string("cannot be written: ") + std::strerror(errno));
  fail(path, existing == RecordingWriter::Existing::kRefuse
                 ? "is there already, expected a name that is free (--force replaces a recording)"
                 : "is there and is no recording, so that --force does not replace it");
}

}  // namespace

/// Values of the rows of a statement, which stay bound when it runs again: what most rows have in common is bound once.
class RecordingWriter::Binder {
 public:
  Binder(const Database& database, const std::string& sql, std::size_t values) : statement_(database, sql) {
    known_.resize(values);
  }
  /// Position of the first value of the row that is bound from now on, from 0.
  void begin(std::size_t first) { next_ = first; }
  void number(std::int64_t value) {
    Known& known = known_[next_++];
    if (known.kind == Known::Kind::kNumber && known.number == value) return;
    known.kind = Known::Kind::kNumber;
    known.number = value;
    statement_.bind(static_cast<int>(next_), value);
  }
  /// A text that few rows differ in.
  void common(std::string_view text) {
    Known& known = known_[next_++];
    if (known.kind == Known::Kind::kText && known.text == text) return;
    known.kind = Known::Kind::kText;
    known.text = text;
    statement_.bind(static_cast<int>(next_), known.text);
  }
  /// @param text  lives until run() has returned
  void text(std::string_view text) {
    known_[next_++].kind = Known::Kind::kOther;
    statement_.bind(static_cast<int>(next_), text);
  }
  void null() {
    Known& known = known_[next_++];
    if (std::exchange(known.kind, Known::Kind::kNull) != Known::Kind::kNull)
      statement_.bind_null(static_cast<int>(next_));
  }
  void run() { statement_.run(); }

 private:
  struct Known {
    enum class Kind : std::uint8_t { kOther, kNumber, kText, kNull };
    Kind kind = Kind::kOther;
    std::int64_t number = 0;
    std::string text;
  };
  Statement statement_;
  std::vector<Known> known_;  ///< [position - 1]; texts keep their addresses
  std::size_t next_ = 0;
};

/// Inserts into a table of events, one row or kRowsAtOnce.
struct RecordingWriter::Inserts {
  Inserts(const Database& database, std::string_view table, int columns_of_row)
      : columns(static_cast<std::size_t>(columns_of_row)),
        one(database, sql(table, 1), columns),
        many(database, sql(table, kRowsAtOnce), columns * kRowsAtOnce) {}

  std::size_t columns;
  Binder one;
  Binder many;
  std::vector<Row> waiting;

 private:
  std::string sql(std::string_view table, std::size_t rows) const {
    std::string row = "(?";
    for (std::size_t column = 1; column < columns; ++column) row += ",?";
    row += ")";
    // FAIL: no copy of each page is kept to take back the rows of a statement. One that fails ends the transaction.
    std::string text = fmt::format("INSERT OR FAIL INTO {} VALUES", table) + row;
    for (std::size_t more = 1; more < rows; ++more) text += "," + row;
    return text;
  }
};

struct RecordingWriter::Statements {
  explicit Statements(const Database& database)
      : events{{{database, "decisions", 11}, {database, "bindings", 6}, {database, "evictions", 9}}},
        fact(database, "INSERT INTO run VALUES(?,?,?)"),
        input(database, "INSERT INTO inputs VALUES(?,?,?,?,?,?,?)"),
        message(database, "INSERT INTO messages VALUES(?,?)"),
        batch(database, "INSERT INTO batches VALUES(?,?,?,?,?,?,?,?)"),
        start(database, "BEGIN"),
        commit(database, "COMMIT"),
        take_back(database, "ROLLBACK") {}
  std::array<Inserts, 3> events;  ///< [RecordedKind]
  Statement fact;
  Statement input;
  Statement message;
  Statement batch;
  Statement start;
  Statement commit;
  Statement take_back;
};

template <class Work>
void RecordingWriter::guarded(Work&& work) {
  try {
    work();
  } catch (const DatabaseError& error) {
    fail(path_, std::string("cannot be written: ") + error.what());
  } catch (const std::system_error& error) {
    fail(path_, std::string("no thread to write it: ") + error.what());
  }
}

RecordingWriter::RecordingWriter(const std::string& path, Existing existing) : path_(path) {
  create_file(path, existing);
  try {
    guarded([&] {
      database_ = std::make_unique<Database>(path, Database::Mode::kCreate);
      database_->execute(kPageBytes);
      database_->execute(
          fmt::format("PRAGMA application_id={};PRAGMA user_version={}", kRecordingApplicationId, kRecordingVersion));
      database_->execute("PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL");
      database_->execute(kNoCheckpoints);
      database_->execute("BEGIN");
      for (const RecordingTable& table : kRecordingTables) database_->execute(std::string(table.sql));
      database_->execute("COMMIT");
      statements_ = std::make_unique<Statements>(*database_);
    });
  } catch (...) {
    discard();
    throw;
  }
}

RecordingWriter::~RecordingWriter() = default;

void RecordingWriter::discard() noexcept {
  jobs_.wait_for_failure();  // what they could not write is removed
  statements_.reset();
  database_.reset();
  remove_files(path_);
}

void RecordingWriter::insert_input(std::string_view kind, const std::string& name, std::string_view bytes) {
  const std::string data = zstd_compressed(bytes, kCompressionLevel);
  const std::string checksum = checksum_of(bytes);
  Statement& statement = statements_->input;
  statement.bind(1, ++input_count_);
  statement.bind(2, file_count_);
  statement.bind(3, kind);
  statement.bind(4, name);
  statement.bind(5, static_cast<std::int64_t>(bytes.size()));
  statement.bind(6, checksum);
  statement.bind_blob(7, data);
  statement.run();
}

void RecordingWriter::add_input(std::string_view kind, const std::string& name, ByteStream& stream) {
  if (file_count_ == kRecordedInputsMax)
    throw InputError(InputProblem{name, "", fmt::format("is beyond the {} files that a recording takes", file_count_)});
  ++file_count_;
  std::string bytes(kInputBatchBytes, '\0');
  for (bool is_first = true;; is_first = false) {
    const std::size_t count = read_fully(stream, bytes.data(), bytes.size());
    if (count == 0 && !is_first) return;
    input_bytes_ += count;
    if (input_bytes_ > kRecordedInputBytesMax) {
      throw InputError(InputProblem{
          name, "", fmt::format("a recording takes inputs of {} bytes at most, all together", kRecordedInputBytesMax)});
    }
    guarded([&] { insert_input(kind, name, std::string_view(bytes).substr(0, count)); });
    if (count < bytes.size()) return;
  }
}

void RecordingWriter::begin(const RecordedFacts& facts) {
  guarded([&] {
    statements_->start.run();
    std::int64_t id = 0;
    for (const auto& [key, value] : facts) {
      statements_->fact.bind(1, ++id);
      statements_->fact.bind(2, key);
      statements_->fact.bind(3, value);
      statements_->fact.run();
    }
    statements_->commit.run();
  });
}

std::int64_t RecordingWriter::message_id(std::string_view text) {
  const auto known = message_ids_.find(text);
  if (known != message_ids_.end()) return known->second;
  if (message_ids_.size() >= kMessagesKnownMax) message_ids_.clear();
  statements_->message.bind(1, ++message_count_);
  statements_->message.bind(2, text);
  statements_->message.run();
  message_ids_.emplace(std::string(text), message_count_);
  return message_count_;
}

/// @param first  position of the row's first value, from 0
void RecordingWriter::bind(Binder& binder, std::size_t first, const Row& row) {
  const RecordedEventView& event = row.event;
  binder.begin(first);
  binder.number(row.id);
  binder.number(event.time_us);
  binder.common(event.pod.name_space);
  binder.text(event.pod.name);
  binder.text(event.pod.uid);
  if (event.kind == RecordedKind::kDecision) {
    binder.common(event.profile);
    binder.number(event.attempt);
    binder.common(event.result);
    if (event.node.empty()) {
      binder.null();
      binder.null();
    } else {
      binder.text(event.node);
      binder.number(event.score);
    }
    row.message == 0 ? binder.null() : binder.number(row.message);
    return;
  }
  binder.text(event.node);
  if (event.kind == RecordedKind::kBinding) return;
  binder.common(event.preemptor.name_space);
  binder.text(event.preemptor.name);
  binder.text(event.preemptor.uid);
}

void RecordingWriter::insert(const RecordedEventView& event) {
  Inserts& inserts = statements_->events[static_cast<std::size_t>(event.kind)];
  inserts.waiting.push_back({event_count_, event, event.message.empty() ? 0 : message_id(event.message)});
  if (inserts.waiting.size() < kRowsAtOnce) return;
  std::size_t first = 0;
  for (const Row& row : inserts.waiting) {
    bind(inserts.many, first, row);
    first += inserts.columns;
  }
  inserts.waiting.clear();
  inserts.many.run();
}

/// The rows that are too few for a statement of many.
void RecordingWriter::insert_waiting() {
  for (Inserts& inserts : statements_->events) {
    for (const Row& row : inserts.waiting) {
      bind(inserts.one, 0, row);
      inserts.one.run();
    }
    inserts.waiting.clear();
  }
  waiting_events_.clear();
}

void RecordingWriter::add(const RecordedEventView& event) {
  append_bytes(open_, event);
  ++in_batch_;
  if (++open_count_ == kEventsPassedOn) pass_on();
  if (in_batch_ == kEventsPerBatch) close_batch(event.time_us, false);
}

/// Gives the thread what was added since.
void RecordingWriter::pass_on() {
  if (open_count_ == 0) return;
  const auto events = std::make_shared<std::string>();
  events->reserve(open_.size());
  std::swap(open_, *events);
  open_count_ = 0;
  guarded([&] { jobs_.add([this, events] { write(events); }); });
}

void RecordingWriter::close_batch(std::int64_t time_us, bool is_end) {
  pass_on();
  guarded([&] {
    jobs_.add([this, time_us, is_end] { commit(time_us, is_end); });
    jobs_.wait();
  });
  in_batch_ = 0;
  if (++batches_since_checkpoint_ == kBatchesPerCheckpoint && !is_end) checkpoint();
}

void RecordingWriter::checkpoint() {
  batches_since_checkpoint_ = 0;
  guarded([&] { jobs_.add([this] { database_->execute(kCheckpoint); }); });
}

/// Rows of the batch that is open. Those that are too few for a statement wait for more, or for the end of the batch.
void RecordingWriter::write(const std::shared_ptr<const std::string>& passed) {
  if (!std::exchange(in_transaction_, true)) statements_->start.run();
  waiting_events_.push_back(passed);
  std::string_view events = *passed;
  hash_.add_bytes(events);
  while (!events.empty()) {
    const RecordedEventView event = take_event(events);
    ++event_count_;
    ++counts_[static_cast<std::size_t>(event.kind)];
    insert(event);
  }
}

void RecordingWriter::commit(std::int64_t time_us, bool is_end) {
  if (!std::exchange(in_transaction_, true)) statements_->start.run();
  insert_waiting();
  const std::string hash = hash_.hex();
  Statement& row = statements_->batch;
  row.bind(1, ++batch_count_);
  row.bind(2, event_count_);
  for (int kind = 0; kind < 3; ++kind) row.bind(3 + kind, counts_[kind]);
  row.bind(6, time_us);
  row.bind(7, hash);
  row.bind(8, static_cast<std::int64_t>(is_end));
  row.run();
  statements_->commit.run();
  in_transaction_ = false;
}

void RecordingWriter::restart() {
  guarded([&] {
    jobs_.wait();
    if (std::exchange(in_transaction_, false)) statements_->take_back.run();
    database_->execute(
        "BEGIN;DELETE FROM decisions;DELETE FROM bindings;DELETE FROM evictions;DELETE FROM messages;"
        "DELETE FROM batches;COMMIT");
  });
  for (Inserts& inserts : statements_->events) inserts.waiting.clear();
  waiting_events_.clear();
  open_.clear();
  open_count_ = in_batch_ = 0;
  hash_.reset();
  message_ids_.clear();
  message_count_ = event_count_ = batch_count_ = 0;
  for (std::int64_t& count : counts_) count = 0;
}

void RecordingWriter::end(std::int64_t time_us) {
  close_batch(time_us, true);
  guarded([&] {
    // One file, without a log beside it: it can be read from a folder that cannot be written.
    statements_.reset();
    database_->execute("PRAGMA journal_mode=DELETE");
    database_.reset();
  });
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/record/recording_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

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
constexpr std::size_t kRowsAtOnce = 16;
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

std::string compressed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kCompressionLevel);
  if (ZSTD_isError(size)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

}  // namespace

/// Inserts into a table of events, one row or kRowsAtOnce.
struct RecordingWriter::Inserts {
  Inserts(const Database& database, std::string_view table, int columns_of_row)
      : columns(columns_of_row), one(database, sql(table, 1)), many(database, sql(table, kRowsAtOnce)) {}

  int columns;
  Statement one;
  Statement many;
  std::vector<Row> waiting;

 private:
  std::string sql(std::string_view table, std::size_t rows) const {
    std::string row = "(?";
    for (int column = 1; column < columns; ++column) row += ",?";
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
  const std::string data = compressed(bytes);
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

/// @param first  position of the row's first value
void RecordingWriter::bind(Statement& statement, int first, const Row& row) {
  const RecordedEventView& event = row.event;
  statement.bind(first, row.id);
  statement.bind(first + 1, event.time_us);
  statement.bind(first + 2, event.pod.name_space);
  statement.bind(first + 3, event.pod.name);
  statement.bind(first + 4, event.pod.uid);
  if (event.kind == RecordedKind::kDecision) {
    statement.bind(first + 5, event.profile);
    statement.bind(first + 6, event.attempt);
    statement.bind(first + 7, event.result);
    if (event.node.empty()) {
      statement.bind_null(first + 8);
      statement.bind_null(first + 9);
    } else {
      statement.bind(first + 8, event.node);
      statement.bind(first + 9, event.score);
    }
    if (row.message == 0) {
      statement.bind_null(first + 10);
    } else {
      statement.bind(first + 10, row.message);
    }
    return;
  }
  statement.bind(first + 5, event.node);
  if (event.kind == RecordedKind::kBinding) return;
  statement.bind(first + 6, event.preemptor.name_space);
  statement.bind(first + 7, event.preemptor.name);
  statement.bind(first + 8, event.preemptor.uid);
}

void RecordingWriter::insert(const RecordedEventView& event) {
  Inserts& inserts = statements_->events[static_cast<std::size_t>(event.kind)];
  inserts.waiting.push_back({event_count_, event, event.message.empty() ? 0 : message_id(event.message)});
  if (inserts.waiting.size() < kRowsAtOnce) return;
  int first = 1;
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
    for (const Row& row : std::exchange(inserts.waiting, {})) {
      bind(inserts.one, 1, row);
      inserts.one.run();
    }
  }
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
  std::string events;
  events.reserve(open_.size());
  std::swap(open_, events);
  open_count_ = 0;
  guarded([&] { jobs_.add([this, passed = std::move(events)] { write(passed); }); });
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

/// Rows of the batch that is open.
void RecordingWriter::write(std::string_view events) {
  if (!std::exchange(in_transaction_, true)) statements_->start.run();
  hash_.add_bytes(events);
  while (!events.empty()) {
    const RecordedEventView event = take_event(events);
    ++event_count_;
    ++counts_[static_cast<std::size_t>(event.kind)];
    insert(event);
  }
  insert_waiting();
}

void RecordingWriter::commit(std::int64_t time_us, bool is_end) {
  if (!std::exchange(in_transaction_, true)) statements_->start.run();
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

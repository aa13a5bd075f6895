// SPDX-License-Identifier: Apache-2.0
#include "host/record/recording_reader.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

#include "host/record/schema.h"

namespace berth {
namespace {

constexpr std::size_t kMessagesHeldMax = 1000;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kApplicationIdAt = 68;  // sqlite.org/fileformat2.html 1.3
constexpr std::size_t kHeadBytes = 100;
constexpr std::int64_t kLatestUs = 253'402'300'799'999'999;  // 9999-12-31T23:59:59.999999Z

/// The first bytes of a SQLite file; empty for anything else.
std::string sqlite_head(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || error) return {};
  std::string head(kHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (file.gcount() != static_cast<std::streamsize>(head.size()) || !head.starts_with(kMagic)) return {};
  return head;
}

std::int32_t application_id(const std::string& head) {
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < sizeof id; ++i) id = id << 8U | static_cast<unsigned char>(head[kApplicationIdAt + i]);
  return static_cast<std::int32_t>(id);
}

/// Reads the columns of one row and says what is wrong with them.
class Row {
 public:
  using Fail = std::function<void(const std::string&)>;
  Row(const Statement& statement, const Fail& fail) : statement_(statement), fail_(fail) {}

  std::int64_t integer(int column, std::string_view name, std::int64_t lowest = INT64_MIN) const {
    const auto value = statement_.integer(column);
    if (!value) fail_(fmt::format("{}: expected an integer", name));
    if (*value < lowest) fail_(fmt::format("{}: got {}, expected {} or more", name, *value, lowest));
    return *value;
  }
  std::int64_t time(int column) const {
    const std::int64_t time_us = integer(column, "time_us", -kLatestUs);
    if (time_us > kLatestUs) fail_(fmt::format("time_us: got {}, expected {} at most", time_us, kLatestUs));
    return time_us;
  }
  std::string_view text(int column, std::string_view name) const {
    const auto value = statement_.text(column);
    if (!value) fail_(fmt::format("{}: expected a text", name));
    return *value;
  }
  std::string_view blob(int column, std::string_view name) const {
    const auto value = statement_.blob(column);
    if (!value) fail_(fmt::format("{}: expected a blob", name));
    return *value;
  }

 private:
  const Statement& statement_;
  const Fail& fail_;
};

void read_pod(const Row& row, int first_column, RecordedPod& pod) {
  pod.name_space = row.text(first_column, "namespace");
  pod.name = row.text(first_column + 1, "name of the pod");
  pod.uid = row.text(first_column + 2, "uid");
}

}  // namespace

bool is_recording(const std::string& path) {
  const std::string head = sqlite_head(path);
  return !head.empty() && application_id(head) == kRecordingApplicationId;
}

struct RecordingReader::Cursors {
  explicit Cursors(const Database& database)
      : decisions(database, "SELECT * FROM decisions ORDER BY id"),
        bindings(database, "SELECT * FROM bindings ORDER BY id"),
        evictions(database, "SELECT * FROM evictions ORDER BY id"),
        batches(database, "SELECT * FROM batches ORDER BY id"),
        message(database, "SELECT text FROM messages WHERE id=?"),
        input(database, "SELECT * FROM inputs WHERE id=?") {}
  Statement decisions;
  Statement bindings;
  Statement evictions;
  Statement batches;
  Statement message;
  Statement input;
  bool has_decision = false;  ///< the cursor is on a row that was not taken yet
  bool has_binding = false;
  bool has_eviction = false;
  bool has_batch = false;
  bool is_started = false;
};

void RecordingReader::fail(std::string_view table, std::int64_t row, const std::string& message) const {
  throw InputError(InputProblem{path_, table.empty() ? "" : fmt::format("{}, row {}", table, row), message});
}

template <class Work>
auto RecordingReader::guarded(Work&& work) {
  try {
    return work();
  } catch (const DatabaseError& error) {
    throw InputError(InputProblem{path_, "", std::string("cannot be read as a recording: ") + error.what()});
  }
}

RecordingReader::RecordingReader(const std::string& path) : path_(path) {
  const std::string head = sqlite_head(path);
  if (head.empty() || application_id(head) != kRecordingApplicationId) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail("", 0, "no such file");
    fail("", 0, head.empty() ? "is no recording: it is not a SQLite file" : "is a SQLite file, but no recording");
  }
  guarded([&] {
    database_ = std::make_unique<Database>(path, Database::Mode::kRead);
    check_tables();
    cursors_ = std::make_unique<Cursors>(*database_);
    read_facts();
    list_inputs();
    read_extent();
  });
}

RecordingReader::~RecordingReader() = default;

void RecordingReader::check_tables() {
  Statement version(*database_, "PRAGMA user_version");
  version.step();
  const std::int64_t found = version.integer(0).value_or(0);
  if (found > kRecordingVersion) {
    fail("", 0,
         fmt::format("is a recording of version {}, expected {} at most: a newer berth wrote it", found,
                     kRecordingVersion));
  }
  if (found < kRecordingVersion)
    fail("", 0, fmt::format("is a recording of version {}, expected {}", found, kRecordingVersion));
  // Tables that are exactly these have no generated column, no other type and no view behind them.
  Statement schema(*database_, "SELECT sql FROM sqlite_schema WHERE type='table' AND name=?");
  for (const RecordingTable& table : kRecordingTables) {
    schema.bind(1, table.name);
    if (!schema.step() || schema.text(0) != table.sql)
      fail("", 0, fmt::format("does not have the table {} of a recording", table.name));
    schema.reset();
  }
}

void RecordingReader::read_facts() {
  Statement rows(*database_, "SELECT id, key, value FROM run ORDER BY id");
  for (std::int64_t id = 1; rows.step(); ++id) {
    const Row::Fail refuse = [&](const std::string& message) { fail("run", id, message); };
    const Row row(rows, refuse);
    if (row.integer(0, "id") != id || id > kRecordedFactsMax) refuse("rows do not count from 1 to 1000 at most");
    facts_.emplace_back(row.text(1, "key"), row.text(2, "value"));
  }
  if (facts_.empty()) fail("", 0, "the recording ends before its inputs are complete: it holds no run");
}

const std::string* RecordingReader::fact(std::string_view key) const {
  for (const auto& [name, value] : facts_)
    if (name == key) return &value;
  return nullptr;
}

void RecordingReader::list_inputs() {
  Statement rows(*database_, "SELECT id, file, kind, name, bytes, checksum FROM inputs ORDER BY id");
  std::uint64_t total = 0;
  std::string checksums;
  for (std::int64_t id = 1; rows.step(); ++id) {
    const Row::Fail refuse = [&](const std::string& message) { fail("inputs", id, message); };
    const Row row(rows, refuse);
    if (row.integer(0, "id") != id) refuse("rows do not count from 1");
    const std::int64_t file = row.integer(1, "file");
    if (file == static_cast<std::int64_t>(inputs_.size()) + 1 && file <= kRecordedInputsMax) {
      inputs_.push_back({std::string(row.text(2, "kind")), std::string(row.text(3, "name")), 0, "", id, 0});
      checksums.clear();
    } else if (file != static_cast<std::int64_t>(inputs_.size()) || file == 0) {
      refuse(fmt::format("file: got {}, expected {} or one more", file, inputs_.size()));
    }
    RecordedInput& input = inputs_.back();
    const auto bytes = static_cast<std::uint64_t>(row.integer(4, "bytes", 0));
    if (bytes > kInputBatchBytes) refuse(fmt::format("bytes: got {}, expected {} at most", bytes, kInputBatchBytes));
    total += bytes;
    if (total > kRecordedInputBytesMax)
      refuse(fmt::format("all inputs have more than {} bytes", kRecordedInputBytesMax));
    input.bytes += bytes;
    ++input.batch_count;
    checksums += row.text(5, "checksum");
    // Of one batch at a time, so that a file of many batches costs no more than one of few.
    input.checksum = checksum_of(checksums);
    checksums = input.checksum;
  }
}

void RecordingReader::read_extent() {
  Statement last(*database_, "SELECT * FROM batches ORDER BY id DESC LIMIT 1");
  if (!last.step()) return;
  const Row::Fail refuse = [&](const std::string& message) { fail("batches", last.integer(0).value_or(0), message); };
  const Row row(last, refuse);
  extent_.events = row.integer(1, "last_event", 0);
  extent_.decisions = row.integer(2, "decisions", 0);
  extent_.bindings = row.integer(3, "bindings", 0);
  extent_.evictions = row.integer(4, "evictions", 0);
  extent_.time_us = row.time(5);
  extent_.hash = row.text(6, "hash");
  extent_.is_complete = row.integer(7, "is_end", 0) == 1;
}

std::string RecordingReader::input_batch(const RecordedInput& input, std::int64_t batch) {
  return guarded([&] {
    const std::int64_t id = input.first_batch + batch;
    Statement& rows = cursors_->input;
    rows.reset();
    const Row::Fail refuse = [&](const std::string& message) { fail("inputs", id, message); };
    rows.bind(1, id);
    if (!rows.step()) refuse("is not there");
    const Row row(rows, refuse);
    const auto expected = row.integer(4, "bytes", 0);
    const std::string_view data = row.blob(6, "data");
    // The buffer is as large as the row says, at most a batch, whatever the data say of themselves.
    std::string bytes(std::min(static_cast<std::size_t>(expected), kInputBatchBytes), '\0');
    const std::size_t size = ZSTD_decompress(bytes.data(), bytes.size(), data.data(), data.size());
    if (ZSTD_isError(size)) refuse(fmt::format("zstd data is corrupt: {}", ZSTD_getErrorName(size)));
    if (size != bytes.size() || checksum_of(bytes) != row.text(5, "checksum"))
      refuse("the data are not those that the checksum was made of");
    rows.reset();
    return bytes;
  });
}

std::size_t RecordedInputStream::read(char* out, std::size_t capacity) {
  while (used_ == bytes_.size()) {
    if (batch_ == input_.batch_count) return 0;
    bytes_ = reader_.input_batch(input_, batch_++);
    used_ = 0;
  }
  const std::size_t count = std::min(capacity, bytes_.size() - used_);
  std::copy_n(bytes_.data() + used_, count, out);
  used_ += count;
  return count;
}

const std::string& RecordingReader::message(std::int64_t id, std::int64_t row) {
  if (const auto known = messages_.find(id); known != messages_.end()) return known->second;
  Statement& rows = cursors_->message;
  rows.bind(1, id);
  if (!rows.step()) fail("decisions", row, fmt::format("message: there is no message {}", id));
  const auto text = rows.text(0);
  if (!text) fail("messages", id, "text: expected a text");
  if (messages_.size() >= kMessagesHeldMax) messages_.clear();
  const std::string& stored = messages_.emplace(id, *text).first->second;
  rows.reset();
  return stored;
}

void RecordingReader::read_decision(RecordedEvent& event) {
  const Row::Fail refuse = [&](const std::string& message) { fail("decisions", event_, message); };
  const Statement& rows = cursors_->decisions;
  const Row row(rows, refuse);
  event.kind = RecordedKind::kDecision;
  read_pod(row, 2, event.pod);
  event.profile = row.text(5, "profile");
  event.attempt = row.integer(6, "attempt", 0);
  event.result = row.text(7, "result");
  if (!rows.is_null(8)) event.node = row.text(8, "node");
  if (!rows.is_null(9)) event.score = row.integer(9, "score");
  if (!rows.is_null(10)) event.message = message(row.integer(10, "message"), event_);
}

void RecordingReader::check_batch() {
  Cursors& at = *cursors_;
  if (!at.has_batch) fail("", 0, fmt::format("event {} is in no batch", event_));
  const Row::Fail refuse = [&](const std::string& message) {
    fail("batches", at.batches.integer(0).value_or(0), message);
  };
  // The last batch of a complete run may be empty: the one before it ends with the same event.
  while (at.has_batch) {
    const Row row(at.batches, refuse);
    const std::int64_t last = row.integer(1, "last_event", 0);
    if (last < event_) refuse(fmt::format("last_event: got {}, expected {} or more", last, event_));
    if (last > event_) return;
    if (row.text(6, "hash") != hash_.hex())
      refuse("the rows up to here do not give the hash that stands there: the file is damaged or was changed");
    at.has_batch = at.batches.step();
  }
}

bool RecordingReader::next(RecordedEvent& event) {
  return guarded([&] {
    Cursors& at = *cursors_;
    if (!at.is_started) {
      at.is_started = true;
      at.has_decision = at.decisions.step();
      at.has_binding = at.bindings.step();
      at.has_eviction = at.evictions.step();
      at.has_batch = at.batches.step();
      if (at.has_batch) check_batch();
    }
    if (!at.has_decision && !at.has_binding && !at.has_eviction) {
      if (event_ != extent_.events)
        fail("", 0, fmt::format("holds {} events, expected {}, as its batches say", event_, extent_.events));
      return false;
    }
    ++event_;
    event = RecordedEvent();
    const auto is_next = [&](bool has_row, const Statement& rows) { return has_row && rows.integer(0) == event_; };
    if (is_next(at.has_decision, at.decisions)) {
      const Row::Fail refuse = [&](const std::string& message) { fail("decisions", event_, message); };
      event.time_us = Row(at.decisions, refuse).time(1);
      read_decision(event);
      at.has_decision = at.decisions.step();
    } else if (is_next(at.has_binding, at.bindings) || is_next(at.has_eviction, at.evictions)) {
      const bool is_binding = is_next(at.has_binding, at.bindings);
      Statement& rows = is_binding ? at.bindings : at.evictions;
      const Row::Fail refuse = [&](const std::string& message) {
        fail(is_binding ? "bindings" : "evictions", event_, message);
      };
      const Row row(rows, refuse);
      event.kind = is_binding ? RecordedKind::kBinding : RecordedKind::kEviction;
      event.time_us = row.time(1);
      read_pod(row, 2, event.pod);
      event.node = row.text(5, "node");
      if (!is_binding) read_pod(row, 6, event.preemptor);
      (is_binding ? at.has_binding : at.has_eviction) = rows.step();
    } else {
      fail("", 0, fmt::format("event {} is missing from decisions, bindings and evictions", event_));
    }
    hash_.add(event);
    check_batch();
    return true;
  });
}

}  // namespace berth

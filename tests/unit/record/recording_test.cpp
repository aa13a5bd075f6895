// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "host/record/comparison.h"
#include "host/record/recording_reader.h"
#include "host/record/recording_writer.h"
#include "host/record/schema.h"
#include "host/record/unpacked_inputs.h"

namespace berth {
namespace {

using Existing = RecordingWriter::Existing;

RecordedEvent decision(std::int64_t k, const std::string& node = "node-a") {
  RecordedEvent event;
  event.time_us = 1'767'225'600'000'000 + k;
  event.pod = {"default", "pod-" + std::to_string(k), "uid-" + std::to_string(k)};
  event.profile = "default-scheduler";
  event.attempt = 1;
  event.result = node.empty() ? "unschedulable" : "scheduled";
  event.node = node;
  if (node.empty()) event.message = "0/1 nodes are available: 1 Insufficient cpu.";
  return event;
}

class RecordingTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "run.db") const { return folder_.path() + "/" + name; }

  std::string write(const std::string& name, std::int64_t events, std::int64_t other = -1) {
    RecordingWriter writer(path(name), Existing::kRefuse);
    MemoryStream input("the input");
    writer.add_input(kClusterInput, "cluster.json", input);
    writer.begin({{"berth", "test"}});
    for (std::int64_t k = 0; k < events; ++k) writer.add(decision(k, k == other ? "" : "node-a"));
    writer.end(1'767'225'700'000'000);
    return path(name);
  }

  void change(const std::string& file, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  /// Everything that can be read of it. @return the error, or ""
  static std::string error_of(const std::string& file) {
    try {
      RecordingReader reader(file);
      for (RecordedEvent event; reader.next(event);) continue;
      UnpackedInputs inputs(reader);
      return "";
    } catch (const InputError& error) {
      return error.problems().front().location + ": " + error.problems().front().message;
    }
  }

  PrivateFolder folder_;
};

TEST_F(RecordingTest, WhatWasWrittenIsRead) {
  RecordedEvent binding = decision(2);
  binding.kind = RecordedKind::kBinding;
  binding.profile = binding.result = "";
  binding.attempt = 0;
  RecordedEvent eviction = binding;
  eviction.kind = RecordedKind::kEviction;
  eviction.preemptor = {"b", "urgent", "u"};
  const std::vector<RecordedEvent> events = {decision(1), decision(2, ""), binding, eviction};
  std::string hash;
  const std::string input(3 * kInputBatchBytes + 5, 'x');
  {
    RecordingWriter writer(path(), Existing::kRefuse);
    MemoryStream stream(input);
    writer.add_input(kScenarioInput, "a.yaml", stream);
    MemoryStream empty("");
    writer.add_input(kClusterInput, "b", empty);
    writer.begin({{"key", "value"}});
    for (const RecordedEvent& event : events) writer.add(event);
    writer.end(9);
    hash = writer.hash();
  }
  RecordingReader reader(path());
  EXPECT_EQ(reader.facts(), (RecordedFacts{{"key", "value"}}));
  EXPECT_TRUE(reader.extent().is_complete);
  EXPECT_EQ(reader.extent().hash, hash);
  for (const RecordedEvent& event : events) {
    RecordedEvent read;
    ASSERT_TRUE(reader.next(read));
    EXPECT_EQ(read, event);
  }
  RecordedEvent none;
  EXPECT_FALSE(reader.next(none));
  const UnpackedInputs inputs(reader);
  EXPECT_EQ(std::filesystem::file_size(inputs.scenario()), input.size());
  ASSERT_EQ(inputs.clusters().size(), 1u);
  EXPECT_EQ(std::filesystem::file_size(inputs.clusters()[0]), 0u);
  EXPECT_EQ(inputs.with_recorded_names("in " + inputs.scenario() + ": bad, " + inputs.clusters()[0]),
            "in a.yaml: bad, b");
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
}

TEST_F(RecordingTest, ARunThatStartsAgainLeavesNothingOfTheFirst) {
  RecordingWriter writer(path(), Existing::kRefuse);
  writer.begin({{"berth", "test"}});
  for (std::int64_t k = 0; k < kEventsPerBatch + 1000; ++k) writer.add(decision(k, ""));
  writer.restart();
  writer.add(decision(7, ""));
  writer.end(1);
  EXPECT_EQ(error_of(path()), "");
  EXPECT_EQ(RecordingReader(path()).extent().events, 1);
}

TEST_F(RecordingTest, AWriterThatIsKilledLosesTheOpenBatchAtMost) {
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::atomic<std::int64_t>& added = *new (shared) std::atomic<std::int64_t>(0);  ///< events that the child has added
  const std::int64_t kEvents = 20'000;
  std::minstd_rand random(7);
  std::int64_t cut_short = 0;
  for (int round = 0; round < 30; ++round) {
    const std::string file = path(std::to_string(round));
    // In even rounds the writer stands still there, so that some surely die between two batches.
    const bool stands_still = round % 2 == 0;
    const auto killed_after = static_cast<std::int64_t>(random() % kEvents);
    added = 0;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RecordingWriter writer(file, Existing::kRefuse);
      if (round % 3 == 0) writer.write_without_thread();
      writer.begin({{"berth", "test"}});
      for (std::int64_t k = 0; k < kEvents; ++k) {
        writer.add(decision(k, k % 3 == 0 ? "" : "node-a"));
        added = k + 1;
        while (stands_still && added > killed_after) pause();
      }
      writer.end(1);
      _exit(0);
    }
    int status = 0;
    pid_t ended = 0;
    while (added <= killed_after && ended == 0) {
      std::this_thread::yield();
      ended = waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
      kill(child, SIGKILL);
      ended = waitpid(child, &status, 0);
    }
    ASSERT_EQ(ended, child);
    ASSERT_TRUE(WIFEXITED(status) || WTERMSIG(status) == SIGKILL) << status;
    if (!is_recording(file)) continue;  // it died before the file had its first page
    try {
      RecordingReader reader(file);
      std::int64_t count = 0;
      for (RecordedEvent event; reader.next(event); ++count)
        ASSERT_EQ(event, decision(count, count % 3 == 0 ? "" : "node-a"));
      EXPECT_EQ(count, reader.extent().events);
      // The end may be written, and the process die before it can leave.
      if (reader.extent().is_complete || WIFEXITED(status)) {
        EXPECT_TRUE(reader.extent().is_complete) << round;
        EXPECT_EQ(count, kEvents) << round;
      }
      if (!reader.extent().is_complete) {
        EXPECT_TRUE(count % kEventsPerBatch == 0 || count == kEvents) << count;
        EXPECT_GE(count, added - added % kEventsPerBatch) << "of " << added;
        if (count > 0) ++cut_short;
      }
    } catch (const InputError& error) {
      const std::string message = error.problems().front().message;
      EXPECT_TRUE(message.find("holds no run") != std::string::npos ||
                  message.find("is a recording of version 0") != std::string::npos ||
                  message.find("does not have the table") != std::string::npos)
          << message;
    }
  }
  EXPECT_GT(cut_short, 0) << "no round killed the writer between its batches";
  munmap(shared, sizeof(std::atomic<std::int64_t>));
}

TEST_F(RecordingTest, WithoutAThreadTheSameIsWritten) {
  const auto write_it = [this](const std::string& name, bool has_thread) {
    RecordingWriter writer(path(name), Existing::kRefuse);
    if (!has_thread) writer.write_without_thread();
    writer.begin({{"berth", "test"}});
    for (std::int64_t k = 0; k < 2 * kEventsPerBatch + 10; ++k) writer.add(decision(k, k % 3 == 0 ? "" : "node-a"));
    writer.end(1);
    return writer.hash();
  };
  EXPECT_EQ(write_it("with", true), write_it("without", false));
  RecordingReader with(path("with"));
  RecordingReader without(path("without"));
  EXPECT_EQ(with.extent().events, without.extent().events);
  EXPECT_TRUE(compare(with, without, 10).is_equal);
}

class FullDisk : public RecordingTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutAThread, FullDisk, testing::Bool());

TEST_P(FullDisk, IsAnErrorAndLeavesWhatWasClosed) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2'000'000, 2'000'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      RecordingWriter writer(path(), Existing::kRefuse);
      if (!GetParam()) writer.write_without_thread();
      writer.begin({{"berth", "test"}});
      for (std::int64_t k = 0; k < 100'000; ++k) writer.add(decision(k));
    } catch (const RecordingError& error) {
      code = std::string(error.what()).find("cannot be written") != std::string::npos ? 0 : 2;
    }
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(error_of(path()), "");
  const RecordingReader reader(path());
  EXPECT_FALSE(reader.extent().is_complete);
  EXPECT_GT(reader.extent().events, 0);
}

TEST_F(RecordingTest, OnlyARecordingIsReplaced) {
  write("run.db", 1);
  EXPECT_THROW(RecordingWriter(path(), Existing::kRefuse), RecordingError);
  EXPECT_EQ(error_of(path()), "");
  RecordingWriter(path(), Existing::kReplaceRecording).discard();
  EXPECT_FALSE(std::filesystem::exists(path()));
  std::ofstream(path("notes")) << "mine";
  EXPECT_THROW(RecordingWriter(path("notes"), Existing::kReplaceRecording), RecordingError);
  EXPECT_EQ(std::filesystem::file_size(path("notes")), 4u);
}

TEST_F(RecordingTest, EveryKindOfDamageIsReported) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"UPDATE decisions SET node='other' WHERE id=3", "do not give the hash"},
      {"UPDATE decisions SET node=x'00' WHERE id=3", "decisions, row 3: node: expected a text"},
      {"UPDATE decisions SET attempt='many' WHERE id=3", "decisions, row 3: attempt: expected an integer"},
      {"UPDATE decisions SET attempt=-1 WHERE id=3", "got -1, expected 0 or more"},
      {"UPDATE decisions SET time_us=9223372036854775807 WHERE id=3", "time_us: got 9223372036854775807"},
      {"UPDATE decisions SET message=77 WHERE id=3", "there is no message 77"},
      {"DELETE FROM decisions WHERE id=3", "event 3 is missing"},
      {"DELETE FROM decisions WHERE id=10", "holds 9 events, expected 10"},
      {"UPDATE decisions SET id=99 WHERE id=10", "event 10 is missing"},
      {"DELETE FROM run", "holds no run"},
      {"UPDATE run SET value=x'01'", "value: expected a text"},
      {"UPDATE batches SET hash=x'01'", "hash: expected a text"},
      {"UPDATE batches SET last_event=9", "do not give the hash"},
      {"UPDATE batches SET last_event=11", "holds 10 events, expected 11"},
      {"DELETE FROM batches", "is in no batch"},
      {"UPDATE inputs SET kind='watch-events'", "kind: got \"watch-events\""},
      {"UPDATE inputs SET data=zeroblob(100)", "zstd data is corrupt"},
      {"UPDATE inputs SET data='text'", "data: expected a blob"},
      {"UPDATE inputs SET bytes=1000000000", "bytes: got 1000000000"},
      {"UPDATE inputs SET bytes=8", "zstd data is corrupt"},
      {"UPDATE inputs SET checksum='0'", "not those that the checksum was made of"},
      {"UPDATE inputs SET file=4", "file: got 4"},
      {"INSERT INTO inputs SELECT 2, 2, 'scenario', 'a', bytes, checksum, data FROM inputs;INSERT INTO inputs SELECT "
       "3, "
       "3, kind, name, bytes, checksum, data FROM inputs WHERE id=2",
       "is a second scenario"},
      {"DROP TABLE messages", "does not have the table messages"},
      {"DROP TABLE messages;CREATE VIEW messages AS WITH RECURSIVE c(id) AS (VALUES(1) UNION ALL SELECT id+1 FROM c) "
       "SELECT id, 'x' AS text FROM c",
       "does not have the table messages"},
      {"PRAGMA user_version=2", "version 2, expected 1 at most"},
      {"PRAGMA user_version=0", "version 0, expected 1"},
      {"PRAGMA application_id=5", "no recording"},
  };
  int number = 0;
  for (const auto& [sql, expected] : cases) {
    const std::string file = write(std::to_string(number++), 10);
    change(file, sql);
    EXPECT_NE(error_of(file).find(expected), std::string::npos) << sql << "\n" << error_of(file);
  }
}

TEST_F(RecordingTest, DamagedBytesAreAnErrorAndNoCrash) {
  const std::string whole = write("whole", 300);
  std::string bytes(std::filesystem::file_size(whole), '\0');
  std::ifstream(whole, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::minstd_rand random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bad = bytes;
    if (round % 3 == 0) bad.resize(random() % bad.size());
    for (int k = 0; k < 1 + round % 20 && !bad.empty(); ++k) bad[random() % bad.size()] = static_cast<char>(random());
    std::ofstream(path("bad"), std::ios::binary) << bad;
    error_of(path("bad"));  // any answer, but an answer
  }
  std::ofstream(path("short"), std::ios::binary) << bytes.substr(0, 4096);
  EXPECT_NE(error_of(path("short")), "");
  EXPECT_NE(error_of(path("none")), "");
  EXPECT_NE(error_of("/"), "");
}

TEST_F(RecordingTest, ADataBlobThatGrowsBeyondItsSizeIsRefused) {
  const std::string file = write("run.db", 1);
  {
    RecordingWriter zeros(path("zeros"), Existing::kRefuse);
    const std::string large(kInputBatchBytes, '\0');
    MemoryStream stream(large);
    zeros.add_input(kClusterInput, "z", stream);
    zeros.begin({{"a", "b"}});
    zeros.end(1);
  }
  change(file, "ATTACH '" + path("zeros") + "' AS z;UPDATE inputs SET data=(SELECT data FROM z.inputs)");
  EXPECT_NE(error_of(file).find("zstd data is corrupt"), std::string::npos) << error_of(file);
}

TEST_F(RecordingTest, TheFirstDifferenceIsFound) {
  RecordingReader a(write("a", 9000));
  RecordingReader b(write("b", 9000, 5000));
  const RecordingComparison comparison = compare(a, b, 10);
  EXPECT_FALSE(comparison.is_equal);
  EXPECT_EQ(comparison.events_equal, 5000);
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_EQ(comparison.differences[0].a->node, "node-a");
  EXPECT_EQ(comparison.differences[0].b->result, "unschedulable");
}

TEST_F(RecordingTest, AShorterCompleteRunDiffersAndAKilledOneDoesNot) {
  {
    RecordingWriter killed(path("killed"), Existing::kRefuse);
    killed.begin({{"berth", "test"}});
    for (std::int64_t k = 0; k < kEventsPerBatch + 10; ++k) killed.add(decision(k));
  }
  const std::string whole = write("whole", 9000);
  RecordingReader a(whole);
  RecordingReader killed(path("killed"));
  const RecordingComparison prefix = compare(a, killed, 10);
  EXPECT_TRUE(prefix.is_equal);
  EXPECT_FALSE(prefix.is_complete);
  EXPECT_EQ(prefix.events_equal, kEventsPerBatch);
  RecordingReader again(whole);
  RecordingReader shorter(write("shorter", 8999));
  const RecordingComparison different = compare(again, shorter, 10);
  EXPECT_FALSE(different.is_equal);
  ASSERT_EQ(different.differences.size(), 1u);
  EXPECT_FALSE(different.differences[0].b.has_value());
}

}  // namespace
}  // namespace berth

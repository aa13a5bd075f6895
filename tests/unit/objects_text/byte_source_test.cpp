// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/objects_text/text_test_support.h"

namespace berth::testing {
namespace {

std::string read_all(const std::string& path, const TextLimits& limits = {}) {
  FileSource source(path, limits);
  std::string text;
  char buffer[1000];
  while (const std::size_t count = source.read(buffer, sizeof(buffer))) text.append(buffer, count);
  EXPECT_EQ(source.bytes_read(), text.size());
  return text;
}

std::string error_of(const std::string& path, const TextLimits& limits = {}) {
  try {
    read_all(path, limits);
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().front().source, path);
    return error.problems().front().message;
  }
  return "no error";
}

/// Text that compresses badly enough to fill several windows.
std::string long_text() {
  std::string text;
  std::uint64_t state = 1;
  while (text.size() < 700'000) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += std::to_string(state);
  }
  return text;
}

TEST(ByteSource, APlainFileIsReadUnchanged) {
  const TempFolder folder;
  EXPECT_EQ(read_all(folder.write("a", "hello")), "hello");
  EXPECT_EQ(read_all(folder.write("b", "")), "");
  EXPECT_EQ(read_all(folder.write("c", "x")), "x");
}

TEST(ByteSource, GzipIsDetectedForAnyFileName) {
  const TempFolder folder;
  const std::string text = long_text();
  EXPECT_EQ(read_all(folder.write("a.json", gzip(text))), text);
}

TEST(ByteSource, GzipMembersAreConcatenated) {
  const TempFolder folder;
  EXPECT_EQ(read_all(folder.write("a.gz", gzip("one ") + gzip("") + gzip("two"))), "one two");
}

TEST(ByteSource, ZstdIsDetectedForAnyFileName) {
  const TempFolder folder;
  const std::string text = long_text();
  EXPECT_EQ(read_all(folder.write("a.yaml", zstd(text))), text);
  EXPECT_EQ(read_all(folder.write("b", zstd("one ") + zstd("two"))), "one two");
  EXPECT_EQ(read_all(folder.write("c", zstd(std::string(5'000'000, 'z')))), std::string(5'000'000, 'z'));
}

TEST(ByteSource, ATruncatedArchiveIsAnErrorThatNamesTheFile) {
  const TempFolder folder;
  std::string packed = gzip(long_text());
  EXPECT_EQ(error_of(folder.write("a.gz", packed.substr(0, packed.size() / 2))), "ends in the middle of its gzip data");
  EXPECT_EQ(error_of(folder.write("b.gz", packed.substr(0, 4))), "ends in the middle of its gzip data");
  packed = zstd(long_text());
  EXPECT_EQ(error_of(folder.write("a.zst", packed.substr(0, packed.size() / 2))),
            "ends in the middle of its zstd data");
  EXPECT_EQ(error_of(folder.write("b.zst", packed.substr(0, 4))), "ends in the middle of its zstd data");
}

TEST(ByteSource, ACorruptArchiveIsAnErrorThatNamesTheFile) {
  const TempFolder folder;
  std::string packed = gzip(long_text());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  packed.back() = static_cast<char>(packed.back() ^ 0x55);
  EXPECT_TRUE(error_of(folder.write("a.gz", packed)).starts_with("gzip data is corrupt: "));
  EXPECT_TRUE(error_of(folder.write("b.gz", gzip("one") + "garbage")).starts_with("gzip data is corrupt: "));
  packed = zstd(long_text());
  for (std::size_t i = 20; i < 60; ++i) packed[i] = static_cast<char>(packed[i] ^ 0x55);
  EXPECT_TRUE(error_of(folder.write("a.zst", packed)).starts_with("zstd data is corrupt: "));
}

TEST(ByteSource, ADecompressionBombStopsAtTheLimit) {
  const TempFolder folder;
  TextLimits limits;
  limits.source_bytes_max = 1000;
  const std::string zeros(100'000, ' ');
  const std::string expected = "is larger than the limit of 1000 bytes (after decompression)";
  EXPECT_EQ(error_of(folder.write("a.gz", gzip(zeros)), limits), expected);
  EXPECT_EQ(error_of(folder.write("a.zst", zstd(zeros)), limits), expected);
  EXPECT_EQ(error_of(folder.write("a", zeros), limits), expected);
  EXPECT_EQ(read_all(folder.write("b", zeros.substr(0, 1000)), limits).size(), 1000U);
}

TEST(ByteSource, AnUnreadableFileIsAnErrorThatNamesIt) {
  const TempFolder folder;
  EXPECT_EQ(error_of(folder.path("absent.json")), "cannot be opened: No such file or directory");
  EXPECT_EQ(error_of(folder.path()), "is a directory, expected a file");
  const std::string secret = folder.write("secret.json", "{}");
  chmod(secret.c_str(), 0);
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  EXPECT_EQ(error_of(secret), "cannot be opened: Permission denied");
}

TEST(ByteSource, APipeWithoutAWriterIsAnErrorAndDoesNotHang) {
  const TempFolder folder;
  const std::string pipe = folder.path("pipe.json");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  TextLimits limits;
  limits.pipe_wait = std::chrono::milliseconds(50);
  EXPECT_EQ(error_of(pipe, limits), "is a pipe that no program writes into (waited 50 ms)");
}

TEST(ByteSource, APipeIsReadWhenItsWriterComesLateAndIsSlow) {
  const TempFolder folder;
  const std::string pipe = folder.path("pipe.json");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  TextLimits limits;
  limits.pipe_wait = std::chrono::seconds(60);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ofstream out(pipe);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    out << "{}" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    out << " [] ";
  });
  EXPECT_EQ(read_all(pipe, limits), "{} [] ");
  writer.join();
}

TEST(ByteSource, AZstdWindowBeyond128MebibytesIsRefused) {
  const TempFolder folder;
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 28);
  ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
  std::string packed(1000, '\0');
  ZSTD_inBuffer in{"{}", 2, 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);  // not at once: a size that is known would shrink the window
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  EXPECT_EQ(error_of(folder.write("a.zst", packed)),
            "zstd data is corrupt: Frame requires too much memory for decoding");
}

TEST(ExpandPaths, ADirectoryListsItsObjectFilesInByteOrder) {
  const TempFolder folder;
  for (const char* name : {"b.yaml", "B.json", "a/z.yml", "a/deep/x.json.gz", "a.json.zst", "notes.txt", "c.yaml.bak",
                           "d.tar.gz", "json"}) {
    folder.write(name, "");
  }
  std::vector<InputProblem> problems;
  const std::vector<std::string> paths = expand_paths({folder.path()}, problems);
  const std::vector<std::string> expected = {folder.path("B.json"), folder.path("a.json.zst"),
                                             folder.path("a/deep/x.json.gz"), folder.path("a/z.yml"),
                                             folder.path("b.yaml")};
  EXPECT_EQ(paths, expected);
  EXPECT_TRUE(problems.empty());
}

TEST(ExpandPaths, PathsKeepTheirOrderAndFilesMayHaveAnyName) {
  const TempFolder folder;
  const std::string dump = folder.write("dump", "");
  folder.write("dir/a.json", "");
  std::vector<InputProblem> problems;
  const std::vector<std::string> expected = {dump, "-", folder.path("dir/a.json"), "/dev/null", "/dev/null"};
  EXPECT_EQ(expand_paths({dump, "-", folder.path("dir"), "/dev/null", "/dev/null"}, problems), expected);
  EXPECT_TRUE(problems.empty());
}

TEST(ExpandPaths, LinksToFilesAreFollowedAndLinksToDirectoriesAreNot) {
  const TempFolder folder;
  folder.write("data/real", "{}");
  std::filesystem::create_directory(folder.path("dir"));
  std::filesystem::create_symlink("../data/real", folder.path("dir/link.json"));
  std::filesystem::create_directory_symlink("..", folder.path("dir/loop"));
  std::filesystem::create_directory_symlink("..", folder.path("dir/loop.json"));
  std::vector<InputProblem> problems;
  EXPECT_EQ(expand_paths({folder.path("dir")}, problems), std::vector<std::string>{folder.path("dir/link.json")});
  EXPECT_TRUE(problems.empty());
}

TEST(ExpandPaths, LinksToNowherePipesAndDevicesInADirectoryAreProblems) {
  const TempFolder folder;
  folder.write("a.json", "{}");
  std::filesystem::create_symlink("gone", folder.path("b.json"));
  std::filesystem::create_symlink("c.json", folder.path("c.json"));
  std::filesystem::create_symlink("/dev/zero", folder.path("d.json"));
  ASSERT_EQ(mkfifo(folder.path("e.json").c_str(), 0600), 0);
  std::vector<InputProblem> problems;
  EXPECT_EQ(expand_paths({folder.path()}, problems), std::vector<std::string>{folder.path("a.json")});
  ASSERT_EQ(problems.size(), 4U);
  EXPECT_EQ(problems[0].to_string(), folder.path("b.json") + ": is a link to a file that does not exist");
  EXPECT_EQ(problems[1].to_string(), folder.path("c.json") + ": cannot be read: Too many levels of symbolic links");
  const std::string expected = "is a pipe, socket or device, expected a file; to read it, name it by itself";
  EXPECT_EQ(problems[2].to_string(), folder.path("d.json") + ": " + expected);
  EXPECT_EQ(problems[3].to_string(), folder.path("e.json") + ": " + expected);
}

TEST(ExpandPaths, NamesMayEndInCapitals) {
  const TempFolder folder;
  for (const char* name : {"A.JSON", "B.Yaml.GZ", "C.YML", "D.Json.Zst", "E.TXT"}) folder.write(name, "");
  std::vector<InputProblem> problems;
  EXPECT_EQ(expand_paths({folder.path()}, problems).size(), 4U);
}

TEST(ExpandPaths, AMountedConfigMapIsReadOnce) {
  const TempFolder folder;
  folder.write("..2026_11_22/nodes.json", "{}");
  folder.write("..2026_11_22/pods.json", "{}");
  std::filesystem::create_directory_symlink("..2026_11_22", folder.path("..data"));
  for (const char* name : {"nodes.json", "pods.json"}) {
    std::filesystem::create_symlink(std::string("..data/") + name, folder.path(name));
  }
  std::vector<InputProblem> problems;
  const std::vector<std::string> expected = {folder.path("nodes.json"), folder.path("pods.json")};
  EXPECT_EQ(expand_paths({folder.path()}, problems), expected);
  EXPECT_EQ(expand_paths({folder.path("..data")}, problems).size(), 2U) << "a directory that is named is entered";
  EXPECT_TRUE(problems.empty());
}

TEST(ExpandPaths, AFileThatIsReachedTwiceIsReadOnce) {
  const TempFolder folder;
  const std::string file = folder.write("dir/a.json", "{}");
  std::filesystem::create_symlink("a.json", folder.path("dir/b.json"));
  std::filesystem::create_hard_link(file, folder.path("dir/c.json"));
  std::vector<InputProblem> problems;
  EXPECT_EQ(expand_paths({file, folder.path("dir"), file}, problems), std::vector<std::string>{file});
  EXPECT_TRUE(problems.empty());
}

TEST(ExpandPaths, TheNumberOfFilesHasALimit) {
  const TempFolder folder;
  for (const char* name : {"a.json", "b.json", "c.json", "d.json"}) folder.write(name, "");
  std::vector<InputProblem> problems;
  EXPECT_EQ(expand_paths({folder.path()}, problems, 2).size(), 2U);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].to_string(), "more than 2 files are given");
}

TEST(ExpandPaths, MissingEmptyAndRepeatedPathsAreProblems) {
  const TempFolder folder;
  folder.write("empty/readme.txt", "");
  std::vector<InputProblem> problems;
  const std::vector<std::string> paths =
      expand_paths({"-", folder.path("absent"), "-", folder.path("empty")}, problems);
  EXPECT_EQ(paths, std::vector<std::string>{"-"});
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].to_string(), folder.path("absent") + ": no such file or directory");
  EXPECT_EQ(problems[1].to_string(), "-: standard input is named twice");
  EXPECT_EQ(problems[2].to_string(),
            folder.path("empty") + ": holds no .json, .yaml or .yml file (.gz and .zst of them included)");
}

TEST(InputErrorTest, HasSourceLocationAndMessageWithoutEmptyParts) {
  EXPECT_EQ((InputProblem{"a.json", "items[1].x", "bad"}.to_string()), "a.json: items[1].x: bad");
  EXPECT_EQ((InputProblem{"", "", "bad"}.to_string()), "bad");
  const InputError error(std::vector<InputProblem>{{"a", "", "one"}, {"b", "line 2", "two"}});
  EXPECT_STREQ(error.what(), "a: one\nb: line 2: two");
  EXPECT_EQ(error.problems().size(), 2U);
}

}  // namespace
}  // namespace berth::testing

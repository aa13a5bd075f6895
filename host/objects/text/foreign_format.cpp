// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/foreign_format.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace berth {
namespace {

constexpr std::string_view kExpectation = ", expected Kubernetes objects as JSON or YAML";
constexpr std::size_t kShownLineBytes = 200;

struct Magic {
  std::string_view bytes;
  std::string_view name;
};

constexpr std::array kMagics = std::to_array<Magic>({
    {{"k8s\0", 4}, "is protobuf, as an API server stores objects"},
    {{"\x1f\x8b", 2}, "is gzip data within compressed data"},
    {{"\x28\xb5\x2f\xfd", 4}, "is zstd data within compressed data"},
    {{"\xfd"
      "7zXZ",
      5},
     "is an xz file (gzip and zstd are decompressed)"},
    {{"BZh", 3}, "is a bzip2 file (gzip and zstd are decompressed)"},
    {{"\x04\x22\x4d\x18", 4}, "is an lz4 file (gzip and zstd are decompressed)"},
    {{"PK\x03\x04", 4}, "is a zip archive"},
    {{"\x7f"
      "ELF",
      4},
     "is a program"},
    {{"%PDF-", 5}, "is a PDF"},
    {{"SQLite format 3", 15}, "is an SQLite database"},
});

constexpr std::size_t kTarMagicOffset = 257;
constexpr std::string_view kTarMagic = "ustar";

constexpr std::array<std::string_view, 6> kHtmlStarts = {"<!doctype", "<html", "<head", "<body", "<?xml", "<!--"};

/// How lines begin that kubectl, its libraries and git write to standard error.
constexpr std::array<std::string_view, 8> kErrorStarts = {
    "Error from server", "error: ",        "Error: ", "Unable to connect to the server", "The connection to the server",
    "Unauthorized",      "Command failed", "fatal: "};

/// What a shell or a filter such as jq says behind its name and a colon.
constexpr std::array<std::string_view, 3> kComplaints = {"command not found", "No such file or directory",
                                                         "ermission denied"};

std::string_view skip_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::string_view first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool starts_with_any_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char want, char got) {
           return want == static_cast<char>(std::tolower(static_cast<unsigned char>(got)));
         });
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "NAME   STATUS   ROLES", "NAMESPACE   NAME   READY", "LAST SEEN   TYPE": capitals in columns.
bool is_table_header(std::string_view line) {
  for (const std::string_view start : {"NAME", "NAMESPACE", "LAST SEEN"}) {
    if (!line.starts_with(start)) continue;
    const std::string_view rest = line.substr(start.size());
    const std::size_t next = rest.find_first_not_of(' ');
    if (next != 0 && next != std::string_view::npos && is_upper(rest[next])) return true;
  }
  return line == "NAME";
}

/// "pod/web-0", as kubectl -o name prints it.
bool is_name_line(std::string_view line) {
  const std::size_t slash = line.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == line.size()) return false;
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '.' || c == '-' || c == '/'; });
}

/// "E1122 10:03:07.123456   12345 memcache.go:265] couldn't get ...", as kubectl's logger writes it.
bool is_log_line(std::string_view line) {
  constexpr std::string_view kShape = "X0000 00:00:00.";
  if (line.size() < kShape.size() || std::string_view("EWIF").find(line.front()) == std::string_view::npos)
    return false;
  return std::equal(kShape.begin() + 1, kShape.end(), line.begin() + 1,
                    [](char shape, char got) { return shape == '0' ? is_digit(got) : shape == got; });
}

bool is_error_line(std::string_view line) {
  return is_log_line(line) || std::any_of(kErrorStarts.begin(), kErrorStarts.end(),
                                          [&](std::string_view start) { return line.starts_with(start); });
}

/// "bash: kubectl: command not found", "jq: error (at <stdin>:0): Cannot iterate over null".
bool is_complaint(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || line.substr(0, colon).find(' ') != std::string_view::npos) return false;
  const std::string_view rest = line.substr(colon + 2);
  return rest.starts_with("error") ||
         std::any_of(kComplaints.begin(), kComplaints.end(),
                     [&](std::string_view complaint) { return rest.find(complaint) != std::string_view::npos; });
}

/// What kubectl writes to standard error beside a good result.
bool is_warning_line(std::string_view line) {
  return line.starts_with("Warning: ") || (is_log_line(line) && line.front() != 'E' && line.front() != 'F');
}

/// "Name:         web-0": no manifest is written so.
bool is_description(std::string_view line) { return line.starts_with("Name:   "); }

std::string quoted(std::string_view line) {
  std::string text = "\"" + std::string(line.substr(0, kShownLineBytes));
  return text + (line.size() > kShownLineBytes ? "...\"" : "\"");
}

std::string describe_text(std::string_view text) {
  text = skip_space(text);
  const std::string_view line = first_line(text);
  const std::string expectation(kExpectation);
  if (std::any_of(kHtmlStarts.begin(), kHtmlStarts.end(),
                  [&](std::string_view start) { return starts_with_any_case(text, start); })) {
    return "is HTML or XML, such as the error page of a proxy" + expectation;
  }
  if (text.starts_with("{{")) return "is a template" + expectation + ": render it first, as helm template does";
  if (is_table_header(line)) return "is a table that kubectl prints for people" + expectation + ": add -o json";
  if (is_description(line)) return "is what kubectl describe prints" + expectation + ": use kubectl get -o json";
  if (is_name_line(line)) return "is a list of names" + expectation + ": use -o json in place of -o name";
  if (line.starts_with("No resources found")) return "is the message " + quoted(line) + expectation;
  if (is_warning_line(line)) {
    return "begins with a warning, " + quoted(line) + expectation +
           ": write only the standard output of the command into the file";
  }
  if (is_error_line(line) || is_complaint(line)) {
    return "is an error message, " + quoted(line) + expectation + ": the command that wrote it failed";
  }
  return {};
}

}  // namespace

std::string describe_foreign_format(std::string_view first_bytes) {
  for (const Magic& magic : kMagics) {
    if (first_bytes.starts_with(magic.bytes)) return std::string(magic.name).append(kExpectation);
  }
  if (first_bytes.size() > kTarMagicOffset && first_bytes.substr(kTarMagicOffset).starts_with(kTarMagic)) {
    return std::string("is a tar archive").append(kExpectation).append(": unpack it");
  }
  return describe_text(first_bytes);
}

}  // namespace berth

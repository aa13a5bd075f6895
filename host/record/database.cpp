// SPDX-License-Identifier: Apache-2.0
#include "host/record/database.h"

#include <sqlite3.h>

#include <new>

#include "host/record/schema.h"

namespace berth {
namespace {

constexpr int kBusyTimeoutMs = 2000;

[[noreturn]] void fail(sqlite3* handle) { throw DatabaseError(sqlite3_errmsg(handle)); }

/// A file from elsewhere may hold anything: no function of its schema is run, and each page is checked.
void distrust(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::Database(const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;
  // A name that begins with a dash or "file:" is a name like any other.
  const std::string name = path.starts_with('/') ? path : "./" + path;
  // To read, too: what a killed process left beside the file is taken in first. A file that may not be written is
  // opened for reading alone.
  const int code = sqlite3_open_v2(name.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (handle == nullptr) throw std::bad_alloc();
  if (code != SQLITE_OK) fail(handle);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, static_cast<int>(kRecordedValueBytesMax + (1U << 20)));
  if (mode != Mode::kRead) return;
  distrust(handle);
  execute("PRAGMA cell_size_check=ON;PRAGMA query_only=ON");
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(handle());
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Database& database, std::string_view sql) : database_(database.handle()) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement,
                           nullptr));
  statement_.reset(statement);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(database_);
}

void Statement::bind(int position, std::int64_t value) { check(sqlite3_bind_int64(statement_.get(), position, value)); }

void Statement::bind(int position, std::string_view text) {
  // A null pointer would be NULL instead of an empty text.
  const char* data = text.empty() ? "" : text.data();
  check(sqlite3_bind_text64(statement_.get(), position, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_blob(int position, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  check(sqlite3_bind_blob64(statement_.get(), position, data, bytes.size(), SQLITE_STATIC));
}

void Statement::bind_null(int position) { check(sqlite3_bind_null(statement_.get(), position)); }

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const std::string why = sqlite3_errmsg(database_);
  sqlite3_reset(statement_.get());
  throw DatabaseError(why);
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

void Statement::run() {
  step();
  reset();
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::optional<std::int64_t> Statement::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::string_view> Statement::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (data == nullptr) throw std::bad_alloc();
  return std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::optional<std::string_view> Statement::blob(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) return std::nullopt;
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (data == nullptr && bytes > 0) throw std::bad_alloc();
  return std::string_view(data, bytes);
}

}  // namespace berth

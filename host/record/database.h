// SPDX-License-Identifier: Apache-2.0
#pragma once

// SQLite with owners, and with a type for its failures.

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace berth {

/// SQLite refused or failed. The text is SQLite's own.
class DatabaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One file. Not for several threads at once.
class Database {
 public:
  enum class Mode : std::uint8_t { kCreate, kRead };

  /// kCreate: the file must be there and be empty. kRead: what the file says of itself is not trusted.
  /// @throws DatabaseError
  Database(const std::string& path, Mode mode);

  /// Statements without results. @throws DatabaseError
  void execute(const std::string& sql);
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement; values are bound by position, from 1, and columns count from 0. The database outlives it.
class Statement {
 public:
  /// @throws DatabaseError
  Statement(const Database& database, std::string_view sql);

  /// Texts and blobs are not copied: they have to live until the next reset().
  void bind(int position, std::int64_t value);
  void bind(int position, std::string_view text);
  void bind_blob(int position, std::string_view bytes);
  void bind_null(int position);

  /// @return whether there is a row. @throws DatabaseError
  bool step();
  void reset();
  /// step() of a statement without rows, then reset(). @throws DatabaseError
  void run();

  bool is_null(int column) const;
  /// nullopt when the column is of another type. Texts and blobs live until the next step() or reset().
  std::optional<std::int64_t> integer(int column) const;
  std::optional<std::string_view> text(int column) const;
  std::optional<std::string_view> blob(int column) const;

 private:
  void check(int code) const;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace berth

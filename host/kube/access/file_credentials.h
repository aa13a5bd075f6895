// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "host/kube/access/surroundings.h"
#include "host/kube/http/server_access.h"

namespace berth {

/// Where the parts of an identity come from. Of a text and a file of the same part the text counts, but for the token,
/// as client-go has it.
struct FileIdentity {
  std::string token = {};       ///< used where there is no token file, or it cannot be read
  std::string token_file = {};  ///< a path
  std::string username = {};    ///< basic authentication, with `password`
  std::string password = {};
  std::string certificate_pem = {};
  std::string certificate_file = {};
  std::string key_pem = {};
  std::string key_file = {};
};

/// An identity of texts and files. Files are read again 50 s after they were read, and before the next request after a
/// 401. A file that cannot be read then, or holds no token, changes nothing: the last one goes on being used. A
/// certificate and its key change together, when both files can be read and belong together. Any thread.
class FileCredentials : public Credentials {
 public:
  /// Reads all files. @throws std::runtime_error where one cannot be read, or certificate and key do not
  /// belong together
  FileCredentials(FileIdentity identity, Surroundings around);

  ClientIdentity current() override;
  void note_unauthorized() override;

 private:
  void read_token_file();
  void read_certificate_files();
  void read_files_again();
  std::string named_files() const;  ///< ": a.crt and a.key"; empty: none

  FileIdentity parts_;
  Surroundings around_;
  std::mutex mutex_;  ///< of what follows
  ClientIdentity identity_;
  std::int64_t read_us_ = 0;  ///< of the clock
  bool is_refused_ = false;
};

}  // namespace berth

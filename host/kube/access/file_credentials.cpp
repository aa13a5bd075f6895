// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/file_credentials.h"

#include <stdexcept>
#include <utility>

#include "host/config/base64.h"
#include "host/kube/access/secret_text.h"

namespace berth {
namespace {

/// client-go takes a token file as good for a minute and reads it 10 s before that ends.
constexpr std::int64_t kReadAgainUs = 50'000'000;

std::string read_pem(const std::string& path, const char* what) {
  std::string text = read_small_file(path);
  if (text.find("-----BEGIN ") == std::string::npos) {
    throw std::runtime_error("cannot use " + path + " as " + what + ": it holds no PEM text");
  }
  return text;
}

/// @return whether `read` did not throw
template <class Read>
bool try_to(Read&& read) {
  try {
    read();
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

FileCredentials::FileCredentials(FileIdentity identity, Surroundings around)
    : parts_(std::move(identity)), around_(std::move(around)), read_us_(around_.clock->now_us()) {
  if (!parts_.token.empty()) identity_.authorization = "Bearer " + parts_.token;
  if (!parts_.username.empty() || !parts_.password.empty()) {
    identity_.authorization = "Basic " + encode_base64(parts_.username + ":" + parts_.password);
  }
  identity_.certificate_pem = parts_.certificate_pem;
  identity_.key_pem = parts_.key_pem;
  if (!parts_.token_file.empty()) {
    try {
      read_token_file();
    } catch (const std::runtime_error&) {
      if (parts_.token.empty()) throw;
    }
  }
  read_certificate_files();
}

void FileCredentials::read_token_file() {
  std::string token = read_small_file(parts_.token_file);
  if (!trim_token(token) || token.empty()) {
    throw std::runtime_error("cannot use " + parts_.token_file +
                             " as token: it is empty or holds other than visible ASCII characters");
  }
  identity_.authorization = "Bearer " + token;
}

void FileCredentials::read_certificate_files() {
  std::string certificate = parts_.certificate_pem;
  std::string key = parts_.key_pem;
  if (certificate.empty() && !parts_.certificate_file.empty()) {
    certificate = read_pem(parts_.certificate_file, "client certificate");
  }
  if (key.empty() && !parts_.key_file.empty()) key = read_pem(parts_.key_file, "client key");
  identity_.certificate_pem = std::move(certificate);
  identity_.key_pem = std::move(key);
}

void FileCredentials::read_files_again() {
  // What was read before goes on: a file that is being replaced may be missing for a moment, and where it stays away
  // the server's 401 says so.
  if (!parts_.token_file.empty()) try_to([&] { read_token_file(); });
  try_to([&] { read_certificate_files(); });
  read_us_ = around_.clock->now_us();
  is_refused_ = false;
}

ClientIdentity FileCredentials::current() {
  if (is_refused_ || around_.clock->now_us() - read_us_ >= kReadAgainUs) read_files_again();
  return identity_;
}

}  // namespace berth

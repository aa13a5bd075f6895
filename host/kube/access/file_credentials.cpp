// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/file_credentials.h"

#include <stdexcept>
#include <utility>

#include "host/config/base64.h"
#include "host/kube/access/key_pair.h"
#include "host/kube/access/secret_text.h"

namespace berth {
namespace {

/// client-go takes a token file as good for a minute and reads it 10 s before that ends.
constexpr std::int64_t kReadAgainUs = 50'000'000;

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
    certificate = read_small_file(parts_.certificate_file);
  }
  if (key.empty() && !parts_.key_file.empty()) key = read_small_file(parts_.key_file);
  if (certificate.empty() && parts_.certificate_file.empty()) return;  // a key alone is nothing, as in client-go
  if (const std::string problem = problem_of_key_pair(certificate, key); !problem.empty()) {
    throw std::runtime_error(problem + named_files());
  }
  identity_.certificate_pem = std::move(certificate);
  identity_.key_pem = std::move(key);
}

std::string FileCredentials::named_files() const {
  std::string names;
  for (const std::string* path : {&parts_.certificate_file, &parts_.key_file}) {
    if (!path->empty()) names += (names.empty() ? ": " : " and ") + *path;
  }
  return names;
}

void FileCredentials::read_files_again() {
  // What was read before goes on: a file that is being replaced may be missing for a moment, and where it stays away
  // the server's 401 says so.
  if (!parts_.token_file.empty()) try_to([&] { read_token_file(); });
  try_to([&] { read_certificate_files(); });
  read_us_ = around_.clock->now_us();
  is_refused_ = false;
}

void FileCredentials::note_unauthorized() {
  const std::scoped_lock lock(mutex_);
  is_refused_ = true;
}

ClientIdentity FileCredentials::current() {
  const std::scoped_lock lock(mutex_);
  if (is_refused_ || around_.clock->now_us() - read_us_ >= kReadAgainUs) read_files_again();
  return identity_;
}

}  // namespace berth

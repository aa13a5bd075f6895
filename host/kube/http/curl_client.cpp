// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/curl_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/kube/http/curl_transfer.h"

namespace berth {
namespace {

using Monotonic = std::chrono::steady_clock;

constexpr std::size_t kIdleHandlesMax = 256;
constexpr long kConnectionsMax = 64;  ///< where the server has no HTTP/2 and each request takes one

void start_libcurl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw std::runtime_error(fmt::format("libcurl: {}", curl_easy_strerror(result)));
}

}  // namespace

struct CurlClient::Thread {
  explicit Thread(CurlClientOptions chosen) : options(std::move(chosen)), url(parts_of(options.access.url)) {
    start_libcurl();
    multi = curl_multi_init();
    if (multi == nullptr) throw std::runtime_error("libcurl: no memory for a client");
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, kConnectionsMax);
    thread = std::thread([this] { run(); });
  }
  ~Thread() {
    {
      const std::lock_guard lock(mutex);
      stops = true;
    }
    wake();
    thread.join();
    for (auto& [easy, transfer] : running) {
      curl_multi_remove_handle(multi, easy);
      curl_easy_cleanup(easy);
    }
    for (CURL* const easy : idle) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }

  // Any thread
  void wake() { curl_multi_wakeup(multi); }
  void add(std::unique_ptr<Transfer> transfer) {
    {
      const std::lock_guard lock(mutex);
      asked.push_back(std::move(transfer));
    }
    wake();
  }

  // The thread
  void run();
  bool take_commands();
  void run_timers();
  int wait_ms() const;
  void begin(std::unique_ptr<Transfer> transfer);
  void take_ended();
  void end(Transfer& transfer, CURLcode code);
  void deliver(Transfer& transfer);
  void close(StreamId id);
  void note_closed(StreamId id);
  CURL* take_handle();
  void recycle(CURL* easy);
  void tell(Transfer& transfer);

  CurlClientOptions options;
  UrlParts url;
  CURLM* multi = nullptr;

  std::mutex mutex;  // of what other threads ask for:
  std::vector<std::unique_ptr<Transfer>> asked;
  std::vector<StreamId> to_close;
  std::vector<std::pair<Monotonic::time_point, std::function<void()>>> new_timers;
  StreamId next_stream = 1;
  bool stops = false;

  // Of the thread alone:
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> running;
  std::vector<CURL*> idle;
  std::multimap<Monotonic::time_point, std::function<void()>> timers;
  std::thread thread;
};

void CurlClient::Thread::run() {
  while (take_commands()) {
    run_timers();
    int running_count = 0;
    curl_multi_perform(multi, &running_count);
    take_ended();
    curl_multi_poll(multi, nullptr, 0, wait_ms(), nullptr);
  }
}

/// @return false: the client is being destroyed
bool CurlClient::Thread::take_commands() {
  std::vector<std::unique_ptr<Transfer>> new_transfers;
  std::vector<StreamId> closed;
  {
    const std::lock_guard lock(mutex);
    if (stops) return false;
    new_transfers.swap(asked);
    closed.swap(to_close);
    for (auto& [at, work] : new_timers) timers.emplace(at, std::move(work));
    new_timers.clear();
  }
  for (std::unique_ptr<Transfer>& transfer : new_transfers) {
    if (transfer->id != 0 && std::find(closed.begin(), closed.end(), transfer->id) != closed.end()) continue;
    begin(std::move(transfer));
  }
  for (const StreamId id : closed) close(id);
  return true;
}

void CurlClient::Thread::run_timers() {
  const Monotonic::time_point now = Monotonic::now();
  while (!timers.empty() && timers.begin()->first <= now) timers.extract(timers.begin()).mapped()();
}

int CurlClient::Thread::wait_ms() const {
  constexpr int kLongestMs = 10'000;
  if (timers.empty()) return kLongestMs;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers.begin()->first - Monotonic::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestMs));
}

void CurlClient::Thread::begin(std::unique_ptr<Transfer> transfer) {
  transfer->begin = Monotonic::now();
  try {
    transfer->identity = options.access.credentials->current();
    transfer->easy = take_handle();
    set_up(*transfer, options, url);
  } catch (const std::exception& error) {
    if (transfer->easy != nullptr) recycle(transfer->easy);
    transfer->response = {.problem = error.what(), .was_not_sent = true};
    tell(*transfer);
    return deliver(*transfer);
  }
  CURL* const easy = transfer->easy;
  const CURLMcode added = curl_multi_add_handle(multi, easy);
  if (added == CURLM_OK) {
    running.emplace(easy, std::move(transfer));
    return;
  }
  recycle(easy);
  transfer->response = {.problem = curl_multi_strerror(added), .was_not_sent = true};
  tell(*transfer);
  deliver(*transfer);
}

void CurlClient::Thread::take_ended() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;  // the message is gone with the handle
    const auto at = running.find(easy);
    const std::unique_ptr<Transfer> transfer = std::move(at->second);
    running.erase(at);
    end(*transfer, code);
    curl_multi_remove_handle(multi, easy);
    recycle(easy);
    deliver(*transfer);
  }
}

/// Fills the answer.
void CurlClient::Thread::end(Transfer& transfer, CURLcode code) {
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  if (status == 401) options.access.credentials->note_unauthorized();
  tell(transfer);
  if (code == CURLE_OK || transfer.ends_here) return;
  transfer.response = {};
  transfer.response.was_not_sent = is_before_sending(code);
  if (!transfer.own_problem.empty()) {
    transfer.response.problem = std::move(transfer.own_problem);
    return;
  }
  // libcurl's own text has numbers of streams and milliseconds, which would make each failure another condition of a
  // pod; only of certificates it says more.
  const bool is_tls = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR;
  transfer.response.problem =
      fmt::format("{} {}: {}", transfer.request.method, url.authority,
                  is_tls && transfer.error[0] != '\0' ? transfer.error : curl_easy_strerror(code));
}

void CurlClient::Thread::deliver(Transfer& transfer) {
  if (transfer.is_closed) return;
  if (transfer.reader != nullptr) {
    transfer.reader->on_end(std::move(transfer.response));
  } else {
    transfer.done(std::move(transfer.response));
  }
}

void CurlClient::Thread::tell(Transfer& transfer) {
  if (options.meter == nullptr || std::exchange(transfer.is_told, true)) return;
  const std::chrono::duration<double> spent = Monotonic::now() - transfer.begin;
  options.meter->on_request(url.authority, transfer.request.method, transfer.response.status, spent.count());
}

/// Of a callback that closes a stream: nothing more is to come of it.
void CurlClient::Thread::note_closed(StreamId id) {
  if (std::this_thread::get_id() != thread.get_id()) return;
  for (const auto& [easy, transfer] : running)
    if (transfer->id == id) transfer->is_closed = true;
}

void CurlClient::Thread::close(StreamId id) {
  const auto at = std::find_if(running.begin(), running.end(), [&](const auto& one) { return one.second->id == id; });
  if (at == running.end()) return;
  curl_multi_remove_handle(multi, at->first);
  recycle(at->first);
  running.erase(at);
}

CURL* CurlClient::Thread::take_handle() {
  if (!idle.empty()) {
    CURL* const easy = idle.back();
    idle.pop_back();
    return easy;
  }
  CURL* const easy = curl_easy_init();
  if (easy == nullptr) throw std::runtime_error("libcurl: no memory for a request");
  return easy;
}

void CurlClient::Thread::recycle(CURL* easy) {
  if (idle.size() >= kIdleHandlesMax) return curl_easy_cleanup(easy);
  curl_easy_reset(easy);
  idle.push_back(easy);
}

CurlClient::CurlClient(CurlClientOptions options) : thread_(std::make_unique<Thread>(std::move(options))) {}
CurlClient::~CurlClient() = default;

void CurlClient::start(HttpRequest request, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  thread_->add(std::move(transfer));
}

HttpClient::StreamId CurlClient::open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->reader = std::move(reader);
  StreamId id = 0;
  {
    const std::lock_guard lock(thread_->mutex);
    id = transfer->id = thread_->next_stream++;
    thread_->asked.push_back(std::move(transfer));
  }
  thread_->wake();
  return id;
}

void CurlClient::close_stream(StreamId id) {
  thread_->note_closed(id);
  {
    const std::lock_guard lock(thread_->mutex);
    thread_->to_close.push_back(id);
  }
  thread_->wake();
}

void CurlClient::after(std::int64_t delay_us, std::function<void()> work) {
  {
    const std::lock_guard lock(thread_->mutex);
    thread_->new_timers.emplace_back(Monotonic::now() + std::chrono::microseconds(delay_us), std::move(work));
  }
  thread_->wake();
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/curl_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/kube/http/curl_transfer.h"

namespace berth {
namespace {

using Monotonic = IoLoop::Monotonic;

constexpr std::size_t kIdleHandlesMax = 256;
constexpr long kConnectionsMax = 64;  ///< where the server has no HTTP/2 and each request takes one

void start_libcurl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw std::runtime_error(fmt::format("libcurl: {}", curl_easy_strerror(result)));
}

}  // namespace

struct CurlClient::State final : IoLoop::Driver {
  State(CurlClientOptions chosen, IoLoop& runs)
      : options(std::move(chosen)), url(parts_of(options.access.url)), loop(runs) {
    start_libcurl();
    multi = curl_multi_init();
    if (multi == nullptr) throw std::runtime_error("libcurl: no memory for a client");
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, options.shares_connections ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, kConnectionsMax);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    loop.add_driver(*this);
  }
  ~State() override {
    for (auto& [easy, transfer] : running) {
      curl_multi_remove_handle(multi, easy);
      curl_easy_cleanup(easy);
    }
    for (CURL* const easy : idle) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
    loop.remove_driver(*this);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Any thread
  void add(std::unique_ptr<Transfer> transfer) {
    {
      const std::lock_guard lock(mutex);
      asked.push_back(std::move(transfer));
    }
    loop.wake();
  }

  // The loop's thread
  void on_ready(int socket, bool can_read, bool can_write) override;
  void on_turn() override;
  Monotonic::time_point next_turn() const override { return next_timeout; }
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* of_socket);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  void take_commands();
  void begin(std::unique_ptr<Transfer> transfer);
  void take_ended();
  void end(Transfer& transfer, CURLcode code);
  static void deliver(Transfer& transfer);
  void close(StreamId id);
  void note_closed(StreamId id);
  CURL* take_handle();
  void recycle(CURL* easy);
  void tell(Transfer& transfer);

  CurlClientOptions options;
  UrlParts url;
  IoLoop& loop;
  CURLM* multi = nullptr;

  std::mutex mutex;  // of what other threads ask for:
  std::vector<std::unique_ptr<Transfer>> asked;
  std::vector<StreamId> to_close;
  StreamId next_stream = 1;

  // Of the loop's thread alone:
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> running;
  std::vector<CURL*> idle;
  Monotonic::time_point next_timeout = Monotonic::time_point::max();
};

/// Runs a loop until it is destroyed.
class CurlClient::Thread {
 public:
  explicit Thread(IoLoop& loop) : loop_(loop), thread_([this] { run(); }) {}
  ~Thread() {
    stops_ = true;
    loop_.wake();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  void run() {
    constexpr std::int64_t kLongestWaitUs = 10'000'000;
    while (!stops_) loop_.run_once(kLongestWaitUs);
  }

  IoLoop& loop_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

/// What libcurl wants to know of a socket.
int CurlClient::State::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* self, void* /*of_socket*/) {
  auto& state = *static_cast<State*>(self);
  const bool is_kept = what != CURL_POLL_REMOVE;
  try {
    state.loop.watch_socket(state, socket, is_kept && (what & CURL_POLL_IN) != 0,
                            is_kept && (what & CURL_POLL_OUT) != 0);
    return 0;
  } catch (const std::bad_alloc&) {  // no exception may pass through libcurl
    return -1;
  }
}

int CurlClient::State::on_timer(CURLM* /*multi*/, long timeout_ms, void* self) {
  static_cast<State*>(self)->next_timeout =
      timeout_ms < 0 ? Monotonic::time_point::max() : Monotonic::now() + std::chrono::milliseconds(timeout_ms);
  return 0;
}

void CurlClient::State::on_ready(int socket, bool can_read, bool can_write) {
  int running_count = 0;
  const int ready = (can_read ? CURL_CSELECT_IN : 0) | (can_write ? CURL_CSELECT_OUT : 0);
  curl_multi_socket_action(multi, socket, ready, &running_count);
}

void CurlClient::State::on_turn() {
  take_commands();
  if (next_timeout <= Monotonic::now()) {
    next_timeout = Monotonic::time_point::max();  // libcurl tells the next one
    int running_count = 0;
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running_count);
  }
  take_ended();
}

void CurlClient::State::take_commands() {
  std::vector<std::unique_ptr<Transfer>> new_transfers;
  std::vector<StreamId> closed;
  {
    const std::lock_guard lock(mutex);
    new_transfers.swap(asked);
    closed.swap(to_close);
  }
  for (std::unique_ptr<Transfer>& transfer : new_transfers) {
    if (transfer->id != 0 && std::find(closed.begin(), closed.end(), transfer->id) != closed.end()) continue;
    begin(std::move(transfer));
  }
  for (const StreamId id : closed) close(id);
}

void CurlClient::State::begin(std::unique_ptr<Transfer> transfer) {
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

void CurlClient::State::take_ended() {
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
void CurlClient::State::end(Transfer& transfer, CURLcode code) {
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

void CurlClient::State::deliver(Transfer& transfer) {
  if (transfer.is_closed) return;
  if (transfer.reader != nullptr) {
    transfer.reader->on_end(std::move(transfer.response));
  } else {
    transfer.done(std::move(transfer.response));
  }
}

void CurlClient::State::tell(Transfer& transfer) {
  if (options.meter == nullptr || std::exchange(transfer.is_told, true)) return;
  const std::chrono::duration<double> spent = Monotonic::now() - transfer.begin;
  options.meter->on_request(url.authority, transfer.request.method, transfer.response.status, spent.count());
}

std::size_t CurlClient::running_count() const { return state_->running.size(); }

/// Of a callback that closes a stream: nothing more is to come of it.
void CurlClient::State::note_closed(StreamId id) {
  if (!loop.is_own_thread()) return;
  for (const auto& [easy, transfer] : running)
    if (transfer->id == id) transfer->is_closed = true;
}

void CurlClient::State::close(StreamId id) {
  const auto at = std::find_if(running.begin(), running.end(), [&](const auto& one) { return one.second->id == id; });
  if (at == running.end()) return;
  curl_multi_remove_handle(multi, at->first);
  recycle(at->first);
  running.erase(at);
}

CURL* CurlClient::State::take_handle() {
  if (!idle.empty()) {
    CURL* const easy = idle.back();
    idle.pop_back();
    return easy;
  }
  CURL* const easy = curl_easy_init();
  if (easy == nullptr) throw std::runtime_error("libcurl: no memory for a request");
  return easy;
}

void CurlClient::State::recycle(CURL* easy) {
  if (idle.size() >= kIdleHandlesMax) return curl_easy_cleanup(easy);
  curl_easy_reset(easy);
  idle.push_back(easy);
}

CurlClient::CurlClient(CurlClientOptions options)
    : own_loop_(std::make_unique<IoLoop>()),
      state_(std::make_unique<State>(std::move(options), *own_loop_)),
      thread_(std::make_unique<Thread>(*own_loop_)) {}
CurlClient::CurlClient(CurlClientOptions options, IoLoop& loop)
    : state_(std::make_unique<State>(std::move(options), loop)) {}
CurlClient::~CurlClient() = default;

void CurlClient::start(HttpRequest request, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  state_->add(std::move(transfer));
}

HttpClient::StreamId CurlClient::open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->reader = std::move(reader);
  StreamId id = 0;
  {
    const std::lock_guard lock(state_->mutex);
    id = transfer->id = state_->next_stream++;
    state_->asked.push_back(std::move(transfer));
  }
  state_->loop.wake();
  return id;
}

void CurlClient::close_stream(StreamId id) {
  state_->note_closed(id);
  {
    const std::lock_guard lock(state_->mutex);
    state_->to_close.push_back(id);
  }
  state_->loop.wake();
}

void CurlClient::after(std::int64_t delay_us, std::function<void()> work) {
  state_->loop.after(delay_us, std::move(work));
}

}  // namespace berth

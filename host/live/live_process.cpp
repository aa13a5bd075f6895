// SPDX-License-Identifier: Apache-2.0
#include "host/live/live_process.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/access/surroundings.h"
#include "host/kube/events/event_writer.h"
#include "host/kube/http/curl_client.h"
#include "host/kube/http/io_loop.h"
#include "host/kube/http/limited_client.h"
#include "host/kube/protobuf/api_formats.h"
#include "host/live/cache_dump.h"
#include "host/live/lease_keeper.h"
#include "host/live/live_routes.h"
#include "host/live/live_scheduler.h"
#include "host/live/signals.h"
#include "host/live/written_events.h"
#include "host/metrics/scheduler_metrics.h"

namespace berth {
namespace {

constexpr const char* kElectionName = "kube-scheduler";  ///< in metrics, whatever the lease is called, as upstream
constexpr std::int64_t kEventsUs = 2'000'000;            ///< for the events that wait
/// Of each kind. Measured on a server that could not keep up (bench/results/2026-11-27-live.md): with 64 bindings
/// waited here, with 256 the slowest pods took longer, 1,500 halved the throughput.
constexpr std::size_t kCallsInFlightMax = 128;
constexpr std::size_t kCallsAtEase = 8;          ///< beyond so many under way, bindings go before events
constexpr std::size_t kVolumeCallsMax = 10'000;  ///< most of them wait for a provisioner, without a request
/// KubeClient answers every call by then: it gives up after a minute, and a request takes half a minute at most. The
/// wait for volumes comes on top.
constexpr std::int64_t kLongestCallUs = 180'000'000;
constexpr std::int64_t kReleaseUs = 5'000'000;  ///< for giving the lease back

CurlClientOptions client_options(const ServerAccess& access, std::string_view part, HttpMeter& meter) {
  CurlClientOptions options;
  options.access = access;
  options.user_agent = "berth-scheduler/" + std::string(part);
  options.meter = &meter;
  return options;
}

/// Members go in the other order of their declaration, also when making one fails: the server ends before clients, and
/// clients, with their threads, before what those call.
class LiveProcess {
 public:
  explicit LiveProcess(LiveProcessOptions options)
      : options_(std::move(options)),
        log_(options_.log_format, options_.verbosity),
        metrics_(clock_),
        access_(open_server_access(options_.access, around_)),
        reviews_(open_review_access()) {
    const ApiFormats formats = api_formats(options_.loop.config.client_connection);
    options_.loop.meter = &metrics_;
    options_.loop.calls_in_flight_max = kCallsInFlightMax;
    options_.loop.volume_calls_in_flight_max = kVolumeCallsMax;
    options_.loop.call_timeout_us = options_.bind_timeout_us + kLongestCallUs;
    CurlClientOptions watches = client_options(access_, "watch", requests_);
    watches.shares_connections = false;
    watches_.emplace(std::move(watches), io_);
    calls_.emplace(client_options(access_, "scheduler", requests_), io_);
    const LeaderElection& election = options_.loop.config.leader_election;
    if (election.leader_elect) open_lease(election);
    open_limited();
    open_events();
    LiveOptions live;
    live.loop = options_.loop;
    live.calls.bind_timeout_us = options_.bind_timeout_us;
    live.calls.bind_format = formats.bind;
    live.informers = {{.accept = formats.accept}, options_.declared};
    scheduler_.emplace(LiveScheduler::Parts{*limited_watches_, *watches_, *limited_calls_, clock_, log_,
                                            lease_ ? &*lease_ : nullptr, &*event_sink_, io_},
                       std::move(live));
    if (options_.serves) open_server();
  }
  int run() {
    const SignalThread signals(
        [this] {
          log_.info("The process was asked to end");
          is_ending_ = true;
          scheduler_->stop();
        },
        [this] { log_dump(); });
    log_limit();
    if (server_) {
      server_->start();
      log_.info("Serving securely", {{"port", std::to_string(server_->port())}});
    }
    if (lease_) lease_->start();
    const LiveEnd end = scheduler_->run();
    if (end == LiveEnd::kLostLease) {
      log_.error("Leaderelection lost");
      log_.flush();
      return 1;
    }
    // Before the lease is released, after which no call starts.
    write_events();
    if (lease_) lease_->stop(kReleaseUs);
    log_.flush();
    return 0;
  }

 private:
  struct ReviewAccess {
    std::optional<ServerAccess> authentication;
    std::optional<ServerAccess> authorization;
  };

  /// Of a kubeconfig, or of the pod that this is; nothing where it is neither, or where the pod's cannot be used.
  /// @throws InputError, std::runtime_error for a kubeconfig that cannot be used
  std::optional<ServerAccess> review_access(const std::string& kubeconfig) {
    if (!kubeconfig.empty()) return open_server_access({.kubeconfig = kubeconfig}, around_);
    if (around_.variable("KUBERNETES_SERVICE_HOST").empty()) return std::nullopt;
    try {
      return open_server_access({}, around_);
    } catch (const std::runtime_error& error) {
      log_.warning("The service account cannot be used for reviews", {{"err", error.what()}});
      return std::nullopt;
    }
  }

  ReviewAccess open_review_access() {
    ReviewAccess access;
    if (!options_.serves) return access;
    access.authentication = review_access(options_.authentication_kubeconfig);
    access.authorization = review_access(options_.authorization_kubeconfig);
    return access;
  }

  void open_lease(const LeaderElection& settings) {
    leaders_.set_leader(kElectionName, false);
    lease_client_.emplace(client_options(access_, "leader-election", requests_));
    ElectionOptions election;
    election.settings = settings;
    election.identity = make_election_identity();
    election.component = options_.loop.config.profiles.front().scheduler_name;
    lease_.emplace(LeaseKeeper::Parts{*lease_client_, *lease_client_, clock_, log_,
                                      [this] {
                                        leaders_.set_leader(kElectionName, lease_->is_leading());
                                        io_.wake();
                                      }},
                   std::move(election), around_.wall_time_us, std::random_device()());
  }

  /// clientConnection's limit, which the requests of one kind of client share; null where none is set.
  std::shared_ptr<SharedTokenBucket> new_bucket() const {
    const ClientConnection& connection = options_.loop.config.client_connection;
    if (!connection.qps && !connection.burst) return nullptr;
    return std::make_shared<SharedTokenBucket>(connection.qps.value_or(ClientConnection::kQpsDefault),
                                               connection.burst.value_or(ClientConnection::kBurstDefault), clock_);
  }

  void log_limit() {
    const ClientConnection& connection = options_.loop.config.client_connection;
    if (!connection.qps && !connection.burst)
      return log_.info(
          "clientConnection.qps and burst are not set: the API server's answers alone (429, Retry-After) limit "
          "requests, unlike kube-scheduler's 50 and 100");
    log_.info("Requests are limited by clientConnection",
              {{"qps", std::to_string(connection.qps.value_or(ClientConnection::kQpsDefault))},
               {"burst", std::to_string(connection.burst.value_or(ClientConnection::kBurstDefault))}});
  }

  std::function<bool()> write_gate() const {
    if (!lease_) return {};
    return [this] { return lease_->may_write(); };
  }

  /// Lists and calls share one limit, as kube-scheduler's main client has one.
  void open_limited() {
    const std::shared_ptr<SharedTokenBucket> bucket = new_bucket();
    limited_watches_.emplace(LimitedClient::Parts{*watches_, *watches_, clock_, bucket});
    limited_calls_.emplace(LimitedClient::Parts{*calls_, *calls_, clock_, bucket, write_gate()});
  }

  void open_events() {
    events_client_.emplace(client_options(access_, "events", requests_), io_);
    limited_events_.emplace(LimitedClient::Parts{*events_client_, *events_client_, clock_, new_bucket(), write_gate()});
    EventRecorderOptions options;
    options.host_name = host_name();
    events_.emplace(EventWriter::Parts{*limited_events_, *events_client_, clock_,
                                       [this](const std::string& line) { log_.warning(line); },
                                       [this] { return calls_->running_count() > kCallsAtEase; }},
                    std::move(options), around_.wall_time_us, std::random_device()());
    event_sink_.emplace(*events_, [this](const Pod& pod) { return scheduler_->watched_version(pod); });
  }

  void open_server() {
    const ServingLog log = [this](const std::string& message) { log_.warning(message); };
    if (reviews_.authentication) {
      authentication_client_.emplace(client_options(*reviews_.authentication, "tokenreview", requests_));
      options_.authentication.client = &*authentication_client_;
    }
    if (reviews_.authorization) {
      authorization_client_.emplace(client_options(*reviews_.authorization, "subjectaccessreview", requests_));
      options_.authorization.client = &*authorization_client_;
    }
    options_.server.tls.asks_for_client_certificate = options_.authentication.wants_certificates();
    authentication_.emplace(options_.authentication, clock_, log);
    if (!options_.authentication.tolerates_lookup_failure) authentication_->look_up();
    authorization_.emplace(options_.authorization, clock_);
    guard_.emplace(*authentication_, *authorization_, log);
    LiveSources sources{
        *scheduler_, metrics_, requests_, leaders_, options_.loop.config, options_.build, health_, nullptr, [this] {
          return is_ending_.load();
        }};
    sources.metric_filter = options_.metric_filter;
    sources.set_verbosity = [this](int verbosity) { log_.set_verbosity(verbosity); };
    if (lease_) sources.lease = &*lease_;
    server_.emplace(options_.server, live_routes(sources, log), *guard_, clock_, log);
  }

  void write_events() {
    const std::int64_t end_us = clock_.now_us() + kEventsUs;
    while (!events_->is_written() && clock_.now_us() < end_us) io_.run_once(10'000);
    if (!events_->is_written()) log_.warning("Events were not written before the end");
  }

  void log_dump() {
    const StoreContents known = scheduler_->contents();
    scheduler_->read([&](const SchedulingLoop& loop) { dump_cache(loop, known, log_); });
    log_.flush();
  }

  LiveProcessOptions options_;
  const Surroundings around_ = Surroundings::of_this_process();
  const Clock& clock_ = RealClock::shared();
  LiveLog log_;
  IoLoop io_;  ///< of the scheduler's thread, which does the work of three clients, too
  SchedulerMetrics metrics_;
  RequestMetrics requests_;
  LeaderMetrics leaders_;
  HealthResults health_;
  ServerAccess access_;
  ReviewAccess reviews_;
  std::atomic<bool> is_ending_ = false;

  // What the clients' threads call:
  std::optional<LeaseKeeper> lease_;
  std::optional<LimitedClient> limited_watches_;
  std::optional<LimitedClient> limited_calls_;
  std::optional<LimitedClient> limited_events_;
  std::optional<EventWriter> events_;
  std::optional<WrittenEvents> event_sink_;
  std::optional<LiveScheduler> scheduler_;

  std::optional<CurlClient> watches_;
  std::optional<CurlClient> calls_;
  std::optional<CurlClient> lease_client_;
  std::optional<CurlClient> events_client_;
  std::optional<CurlClient> authentication_client_;
  std::optional<CurlClient> authorization_client_;

  std::optional<Authentication> authentication_;
  std::optional<Authorization> authorization_;
  std::optional<DelegatedAccess> guard_;
  std::optional<HttpsServer> server_;
};

}  // namespace

int run_live_process(LiveProcessOptions options) {
  SignalThread::hold_signals();  // before any thread is there
  return LiveProcess(std::move(options)).run();
}

}  // namespace berth

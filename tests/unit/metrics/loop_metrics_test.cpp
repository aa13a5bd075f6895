// SPDX-License-Identifier: Apache-2.0
// What metrics count, in scripted runs of the scheduling loop on a virtual clock.

#include <gtest/gtest.h>

#include "host/metrics/exposition.h"
#include "host/metrics/scheduler_metrics.h"
#include "tests/support/faulty_client.h"
#include "tests/unit/metrics/exposition_text.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

bool is_binding_call(const ApiCall& call) { return std::holds_alternative<PodBinding>(call.request); }
bool is_deletion_call(const ApiCall& call) { return std::holds_alternative<DeleteOptions>(call.request); }

/// Pods with the label `wait` wait at one point, or are rejected there.
class SlowPlugin : public PermitPlugin, public PreBindPlugin, public ReservePlugin {
 public:
  explicit SlowPlugin(const bool& is_ready) : is_ready_(is_ready) {}
  std::string_view name() const override { return "Slow"; }
  PermitAnswer permit(const PodOnNode& pod) override {
    if (!has(pod, "permit")) return {};
    return {{StatusCode::kWait, "", {}}, 60 * kSecond};
  }
  Status pre_bind_pre_flight(const PodOnNode& pod) override {
    return has(pod, "prebind") ? Status{} : Status{StatusCode::kSkip, "", {}};
  }
  Status pre_bind(const PodOnNode&) override { return is_ready_ ? Status{} : Status{StatusCode::kWait, "", {}}; }
  Status reserve(const PodOnNode& pod) override {
    return has(pod, "never") && !is_ready_ ? Status{StatusCode::kUnschedulable, "", {"not today"}} : Status{};
  }
  void unreserve(const PodOnNode&) noexcept override {}

 private:
  static bool has(const PodOnNode& pod, std::string_view where) { return pod.pod->labels.find("wait") == where; }
  const bool& is_ready_;
};

class LoopMetricsTest : public testing::Test, public LoopFixture {
 protected:
  LoopMetricsTest() { options.meter = &metrics; }

  void add_slow_plugin() {
    options.plugins.add("Slow", [this](const Profile&, const FrameworkHandle& handle) {
      waiting = handle.waiting_pods;
      return std::make_unique<SlowPlugin>(is_ready);
    });
    for (Profile& profile : options.config.profiles)
      for (const ExtensionPoint point : {ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kPreBind})
        profile.plugins[static_cast<std::size_t>(point)].push_back({"Slow", 0});
  }

  std::string text() const { return metrics_text(LoopCollectable(metrics, scheduler->loop()).Collect()); }
  /// @param sample  a name, and its labels as the text has them; without "scheduler_"
  double value(const std::string& sample) const {
    const ExpositionText all = parse_exposition(text());
    const auto at = all.values.find("scheduler_" + sample);
    return at == all.values.end() ? -1 : at->second;
  }
  double attempts_of(const std::string& result) const {
    return value("schedule_attempts_total{profile=\"default-scheduler\",result=\"" + result + "\"}");
  }
  double incoming(const std::string& queue, const std::string& event) const {
    return value("queue_incoming_pods_total{event=\"" + event + "\",queue=\"" + queue + "\"}");
  }
  double pending(const std::string& queue) const { return value("pending_pods{queue=\"" + queue + "\"}"); }
  /// @param what  "count" or "sum"
  double point(const std::string& what, const std::string& name, const std::string& status) const {
    return value("framework_extension_point_duration_seconds_" + what + "{extension_point=\"" + name +
                 "\",profile=\"default-scheduler\",status=\"" + status + "\"}");
  }
  double plugin_runs(const std::string& plugin, const std::string& name, const std::string& status) const {
    return value("plugin_execution_duration_seconds_count{extension_point=\"" + name + "\",plugin=\"" + plugin +
                 "\",status=\"" + status + "\"}");
  }
  double attempt_seconds(const std::string& result) const {
    return value("scheduling_attempt_duration_seconds_sum{profile=\"default-scheduler\",result=\"" + result + "\"}");
  }

  SchedulerMetrics metrics{clock};
  bool is_ready = false;
  WaitingPods* waiting = nullptr;
};

TEST_F(LoopMetricsTest, AttemptsAndQueuesOfAPodThatWaitsForAnother) {
  add_nodes("a cpu=1");
  open();
  add_pods("p cpu=1");
  add_pods("q cpu=1");
  settle();
  EXPECT_EQ(attempts_of("scheduled"), 1);
  EXPECT_EQ(attempts_of("unschedulable"), 1);
  EXPECT_EQ(attempts_of("error"), -1);
  EXPECT_EQ(pending("unschedulable"), 1);
  EXPECT_EQ(value("unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"}"), 1);
  advance_s(20);
  remove_pod("p", 0);
  settle();
  EXPECT_EQ(node_of("q"), "a");
  EXPECT_EQ(attempts_of("scheduled"), 2);
  EXPECT_EQ(attempts_of("unschedulable"), 1);
  EXPECT_EQ(value("scheduling_attempt_duration_seconds_count{profile=\"default-scheduler\",result=\"scheduled\"}"), 2);
  EXPECT_EQ(value("scheduling_algorithm_duration_seconds_count"), 3) << "failed attempts, too";
  EXPECT_GT(value("scheduling_algorithm_duration_seconds_sum"), 0) << "real time";
  EXPECT_EQ(incoming("active", "UnschedulablePodAdd"), 2);
  EXPECT_EQ(incoming("unschedulable", "ScheduleAttemptFailure"), 1);
  EXPECT_EQ(incoming("active", "AssignedPodDelete"), 1);
  EXPECT_EQ(value("pod_scheduling_attempts_count"), 2);
  EXPECT_EQ(value("pod_scheduling_attempts_sum"), 3);
  EXPECT_EQ(parse_exposition(text()).values.at("berth_first_binding_delay_seconds_count"), 1) << "not of q";
  EXPECT_EQ(value("pod_scheduling_sli_duration_seconds_sum{attempts=\"1\"}"), 0);
  EXPECT_EQ(value("pod_scheduling_sli_duration_seconds_sum{attempts=\"2\"}"), 20) << "on the virtual clock";
  EXPECT_EQ(value("unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"}"), 0);
  for (const char* queue : {"active", "backoff", "gated", "unschedulable"}) EXPECT_EQ(pending(queue), 0) << queue;
  EXPECT_EQ(value("cache_size{type=\"nodes\"}"), 1);
  EXPECT_EQ(value("cache_size{type=\"pods\"}"), 1);
  EXPECT_EQ(value("cache_size{type=\"assumed_pods\"}"), 0);
}

TEST_F(LoopMetricsTest, EventsAndHintsAreTimed) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open();
  add_pods("q cpu=2");
  settle();
  add_nodes("b cpu=1");
  update_pod("q", [](Pod& pod) { pod.labels = {}; });
  settle();
  add_nodes("c cpu=2");
  remove_node("b");
  settle();
  const auto handled = [this](const std::string& event) {
    return value("event_handling_duration_seconds_count{event=\"" + event + "\"}");
  };
  EXPECT_EQ(handled("NodeAdd"), 2) << "that was there at first is not an event";
  EXPECT_EQ(handled("NodeDelete"), 1);
  EXPECT_EQ(handled("UnschedulablePodAdd"), 1);
  EXPECT_EQ(handled("UnschedulablePodDelete"), 2) << "a pod that is bound leaves the queue, as upstream";
  EXPECT_EQ(handled("AssignedPodAdd"), 2);
  EXPECT_GE(handled("UnschedulablePodUpdate"), 1);
  EXPECT_GT(value("event_handling_duration_seconds_sum{event=\"NodeAdd\"}"), 0);
  const auto hints = [this](const std::string& hint) {
    return value("queueing_hint_execution_duration_seconds_count{event=\"NodeAdd\",hint=\"" + hint +
                 "\",plugin=\"NodeResourcesFit\"}");
  };
  EXPECT_EQ(hints("QueueSkip"), 1) << "b is too small";
  EXPECT_EQ(hints("Queue"), 1);
}

TEST_F(LoopMetricsTest, ChangesAndDeletionsOfPodsAreTimed) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  add_pods("q cpu=2");
  open();
  settle();
  const auto handled = [this](const std::string& event) {
    return value("event_handling_duration_seconds_count{event=\"" + event + "\"}");
  };
  const double updates = handled("UnschedulablePodUpdate");
  const auto relabel = [](Pod& pod) { pod.labels = LabelMap({{"a", "b"}}); };
  update_pod("p", relabel);
  update_pod("q", relabel);
  settle();
  EXPECT_EQ(handled("AssignedPodUpdatePodLabel"), 1);
  EXPECT_EQ(handled("UnschedulablePodUpdatePodLabel"), 1);
  EXPECT_EQ(handled("UnschedulablePodUpdate"), updates + 1) << "the general event, too";
  const double left = handled("UnschedulablePodDelete");
  remove_pod("p", 0);
  remove_pod("q", 0);
  settle();
  EXPECT_EQ(handled("AssignedPodDelete"), 1);
  EXPECT_EQ(handled("UnschedulablePodDelete"), left + 1);
}

TEST_F(LoopMetricsTest, PodsThatTheLeftoverFlushHelpedAreCountedSinceThatRelease) {
  options.config = default_scheduler_config(FeatureGates(parse_release("1.36")));
  add_slow_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=never");
  open();
  settle();
  is_ready = true;
  advance_s(200);
  ASSERT_EQ(node_of("p"), "") << "nothing happens that would wake it";
  EXPECT_EQ(value("pod_scheduled_after_flush_total"), -1);
  advance_s(200);
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(value("pod_scheduled_after_flush_total"), 1);
}

TEST_F(LoopMetricsTest, GatedPodsArePendingAndTheirGateIsTheStatus) {
  add_nodes("a cpu=1");
  open();
  const std::shared_ptr<Pod> gated = copy_of(*make_pods({"pod", "p", "cpu=1"}).front());
  PodRare rare;
  rare.scheduling_gates = {"later"};
  gated->rare_fields = std::make_unique<const PodRare>(rare);
  store.create<Pod>(gated);
  settle();
  EXPECT_EQ(pending("gated"), 1);
  EXPECT_EQ(pending("unschedulable"), 0);
  EXPECT_EQ(incoming("unschedulable", "UnschedulablePodAdd"), 1);
  EXPECT_EQ(point("count", "PreEnqueue", "UnschedulableAndUnresolvable"), 1);
  EXPECT_EQ(plugin_runs("SchedulingGates", "PreEnqueue", "UnschedulableAndUnresolvable"), 1);
}

TEST_F(LoopMetricsTest, ErrorsBackOff) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_binding_call(call) && clock.now_us() < 101 * kSecond) fault.refusal = {StoreReason::kInternalError, "no"};
    return fault;
  });
  add_nodes("a cpu=1");
  open(client);
  add_pods("p cpu=1");
  settle();
  EXPECT_EQ(attempts_of("error"), 1);
  EXPECT_EQ(attempts_of("scheduled"), -1);
  EXPECT_EQ(point("count", "Bind", "Error"), 1);
  EXPECT_EQ(point("count", "Unreserve", "Success"), 1);
  EXPECT_EQ(pending("backoff"), 1);
  EXPECT_EQ(incoming("backoff", "ScheduleAttemptFailure"), 1);
  advance_s(10);
  EXPECT_EQ(attempts_of("scheduled"), 1);
  EXPECT_EQ(incoming("active", "BackoffComplete"), 1);
  EXPECT_EQ(value("pod_scheduling_attempts_sum"), 2);
}

TEST_F(LoopMetricsTest, TheWaitAtPermitIsTimedByTheClock) {
  add_slow_plugin();
  add_nodes("a cpu=4");
  open();
  add_pods("p cpu=1 label:wait=permit");
  add_pods("q cpu=1 label:wait=permit");
  add_pods("r cpu=1");
  settle();
  EXPECT_EQ(value("inflight_events{event=\"PodPopped\"}"), 2) << "r's events are no longer kept";
  EXPECT_EQ(value("cache_size{type=\"assumed_pods\"}"), 2);
  EXPECT_EQ(value("cache_size{type=\"pods\"}"), 3);
  add_nodes("b cpu=1");
  advance_s(7);
  EXPECT_EQ(value("inflight_events{event=\"NodeAdd\"}"), 1);
  waiting->allow(pod("p")->object->uid(), "Slow");
  settle();
  EXPECT_EQ(value("permit_wait_duration_seconds_sum{result=\"Success\"}"), 7);
  EXPECT_EQ(value("permit_wait_duration_seconds_count{result=\"Success\"}"), 1) << "r did not wait";
  EXPECT_NEAR(attempt_seconds("scheduled"), 7, 0.5) << "the wait is part of the attempt";
  advance_s(60);
  EXPECT_EQ(value("permit_wait_duration_seconds_sum{result=\"Unschedulable\"}"), 60) << "the plugin's time is over";
  EXPECT_EQ(point("count", "Permit", "Wait"), 3) << "q was tried again";
  EXPECT_EQ(point("count", "Permit", "Success"), 1);
  EXPECT_NEAR(attempt_seconds("unschedulable"), 60, 0.5);
}

TEST_F(LoopMetricsTest, PreBindAndBindLastUntilTheirAnswer) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_binding_call(call)) fault.delay_us = 5 * kSecond;
    return fault;
  });
  add_slow_plugin();
  add_nodes("a cpu=4");
  open(client);
  add_pods("p cpu=1 label:wait=prebind");
  settle();
  EXPECT_EQ(point("count", "PreBindPreFlight", "Success"), 1);
  EXPECT_EQ(point("count", "PreBind", "Success"), -1);
  advance_s(3);
  is_ready = true;
  waiting->wake(pod("p")->object->uid());
  settle();
  EXPECT_NEAR(point("sum", "PreBind", "Success"), 3, 0.1);
  EXPECT_EQ(value("cache_size{type=\"assumed_pods\"}"), 1) << "the binding is under way";
  EXPECT_EQ(parse_exposition(text()).values.at("berth_first_binding_delay_seconds_sum"), 3) << "when it was sent";
  advance_s(6);
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_NEAR(point("sum", "Bind", "Success"), 5, 0.1);
  EXPECT_EQ(plugin_runs("DefaultBinder", "Bind", "Success"), 1);
  EXPECT_NEAR(attempt_seconds("scheduled"), 8, 0.5);
  EXPECT_EQ(point("count", "PostBind", "Success"), 1);
}

TEST_F(LoopMetricsTest, ARejectionAtReserveDropsWhatTheEngineAnsweredBehindIt) {
  add_slow_plugin();
  add_nodes("a cpu=4");
  add_pods("p cpu=1 label:wait=never");
  add_pods("q cpu=1");
  open();
  settle();
  const double rejected = attempts_of("unschedulable");
  EXPECT_GE(rejected, 1) << "what q does wakes p, which is tried again";
  EXPECT_EQ(point("count", "Reserve", "Unschedulable"), rejected);
  EXPECT_EQ(point("count", "Unreserve", "Success"), rejected);
  EXPECT_EQ(plugin_runs("Slow", "Unreserve", "Success"), 1);
  const ExpositionText all = parse_exposition(text());
  EXPECT_EQ(all.values.at("berth_dropped_answers_total"), 1);
  EXPECT_EQ(all.values.at("berth_batch_pods_sum"), rejected + 1 + 1) << "attempts of p and of q, and the dropped one";
  EXPECT_EQ(all.values.at("berth_batch_pods_count"), rejected + 1);
  EXPECT_GT(all.values.at("berth_engine_seconds_total"), 0);
  EXPECT_EQ(all.values.at("berth_backend_info{backend=\"cpu\",device=\"\"}"), 1);
  EXPECT_EQ(all.values.at("berth_unbound_pods"), 0);
  EXPECT_EQ(all.values.at("berth_paused"), 0);
  EXPECT_GE(all.values.at("berth_classes"), 1);
  EXPECT_FALSE(all.types.contains("berth_device_allocated_bytes")) << "there is no device";
}

TEST_F(LoopMetricsTest, PodsThatNeedAMissingPluginAreCountedWhileTheyAreHeld) {
  add_nodes("a cpu=4");
  add_pods("p cpu=1 resource-claim=gpu");
  open();
  advance_s(600);
  EXPECT_EQ(parse_exposition(text()).values.at("berth_unsupported_pods"), 1);
  EXPECT_EQ(value("pending_pods{queue=\"gated\"}"), 1);
  EXPECT_EQ(attempts_of("error"), 1);
  remove_pod("p", 0);
  settle();
  EXPECT_EQ(parse_exposition(text()).values.at("berth_unsupported_pods"), 0);
}

TEST_F(LoopMetricsTest, EveryTenthRunOfAPointRecordsItsPlugins) {
  add_nodes("a cpu=100 pods=110");
  add_pods("p*25 cpu=1");
  open();
  settle();
  EXPECT_EQ(point("count", "PreEnqueue", "Success"), 25);
  EXPECT_EQ(plugin_runs("SchedulingGates", "PreEnqueue", "Success"), 3);
  EXPECT_EQ(plugin_runs("DefaultBinder", "Bind", "Success"), 3);
}

TEST_F(LoopMetricsTest, PreemptionsAndTheirVictims) {
  add_nodes("a cpu=2");
  add_pods("old*2 cpu=1");
  open();
  settle();
  add_pods("new cpu=2 priority=10");
  add_pods("low cpu=2 priority=-1");
  settle();
  EXPECT_EQ(value("preemption_victims_count"), 1);
  EXPECT_EQ(value("preemption_victims_sum"), 2);
  EXPECT_EQ(preempted.size(), 2U);
  EXPECT_EQ(value("preemption_attempts_total"), 2) << "one of them finds no candidate";
  EXPECT_EQ(point("count", "PostFilter", "Success"), 1);
  EXPECT_EQ(point("count", "PostFilter", "Unschedulable"), 1);
  EXPECT_EQ(plugin_runs("DefaultPreemption", "PostFilter", "Success"), 1);
  EXPECT_EQ(value("preemption_goroutines_execution_total{result=\"success\"}"), 1);
  EXPECT_EQ(value("preemption_goroutines_execution_total{result=\"error\"}"), -1);
}

TEST_F(LoopMetricsTest, CountsTheForksOfPreemption) {
  const auto forks = [this] { return parse_exposition(text()).values.at("berth_forks_total"); };
  options.preemption.replaceable_first = true;
  add_nodes("a cpu=2");
  add_pods("old*2 cpu=1");
  open();
  settle();
  EXPECT_EQ(forks(), 0);
  add_pods("new cpu=2 priority=10");
  settle();
  EXPECT_EQ(forks(), 1) << "one candidate";
}

TEST_F(LoopMetricsTest, AnEvictionThatFailsSaysSoAndHowLongItTook) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (!is_deletion_call(call)) return fault;
    fault.answer_us = 2 * kSecond;
    fault.refusal = {StoreReason::kInternalError, "no"};
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("old cpu=1");
  open(client);
  settle();
  add_pods("new cpu=1 priority=10");
  settle();
  advance_s(2);
  EXPECT_EQ(value("preemption_goroutines_execution_total{result=\"error\"}"), 1) << "upstream says success: quirk 13";
  EXPECT_EQ(value("preemption_goroutines_duration_seconds_sum{result=\"error\"}"), 2) << "upstream: near zero";
  EXPECT_EQ(value("preemption_goroutines_execution_total{result=\"success\"}"), -1);
}

TEST_F(LoopMetricsTest, WithoutTheGateVictimsCountWhenTheyAreEvicted) {
  set_gates("SchedulerAsyncPreemption=false");
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_deletion_call(call)) fault.answer_us = 2 * kSecond;
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("old cpu=1");
  open(client);
  settle();
  add_pods("new cpu=1 priority=10");
  settle();
  EXPECT_EQ(value("preemption_victims_count"), 0);
  EXPECT_EQ(attempts_of("unschedulable"), -1) << "the attempt goes on";
  advance_s(2);
  EXPECT_EQ(value("preemption_victims_sum"), 1);
  EXPECT_EQ(attempts_of("unschedulable"), 1);
  EXPECT_NEAR(attempt_seconds("unschedulable"), 2, 0.5);
  EXPECT_EQ(value("preemption_goroutines_execution_total{result=\"success\"}"), -1);
}

TEST_F(LoopMetricsTest, CallsOfTheDispatcherAreCountedWithItsGateOnly) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open();
  settle();
  EXPECT_EQ(text().find("async_api_call"), std::string::npos);
}

TEST_F(LoopMetricsTest, CallsOfTheDispatcherByTypeAndResult) {
  set_gates("SchedulerAsyncAPICalls=true");
  options.calls_in_flight_max = 1;
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    fault.answer_us = kSecond;
    if (!is_binding_call(call)) fault.refusal = {StoreReason::kInternalError, "no"};
    return fault;
  });
  add_nodes("a cpu=2");
  add_pods("p*2 cpu=1");
  add_pods("q cpu=1");
  open(client);
  settle();
  EXPECT_EQ(value("pending_async_api_calls{call_type=\"pod_binding\"}"), 1) << "one is in flight";
  EXPECT_EQ(value("pending_async_api_calls{call_type=\"pod_status_patch\"}"), 0);
  advance_s(20);  // internal errors of a status patch are tried again, four times
  EXPECT_EQ(value("async_api_call_execution_total{call_type=\"pod_binding\",result=\"success\"}"), 2);
  EXPECT_EQ(value("async_api_call_execution_duration_seconds_sum{call_type=\"pod_binding\",result=\"success\"}"), 2);
  EXPECT_EQ(value("async_api_call_execution_total{call_type=\"pod_status_patch\",result=\"error\"}"), 1);
  EXPECT_EQ(value("pending_async_api_calls{call_type=\"pod_binding\"}"), 0);
}

}  // namespace
}  // namespace berth::test

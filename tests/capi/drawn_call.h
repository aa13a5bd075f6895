// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of berth.h with drawn arguments, wrong ones among them.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/drawn_queue_call.h"

namespace berth::test {

inline constexpr int kNodes = 6;
inline constexpr std::uint64_t kQueueKinds = 34;  ///< from this one on
inline constexpr std::int64_t kCallKinds = 39;
inline constexpr int kPods = 14;

/// A call with its arguments, drawn.
class Call {
 public:
  Call(Dice& dice, std::uint64_t kind)
      : kind_(kind),
        pod_(below(dice, kPods)),
        other_pod_(below(dice, kPods)),
        place_(below(dice, 8)),
        node_(below(dice, kNodes + 2)),
        choice_(below(dice, 4)),
        start_(below(dice, 9)),
        flags_(below(dice, 4)),
        is_of_fork_(below(dice, 2) == 0),
        has_set_(below(dice, 3) == 0),
        node_shape_{"n" + std::to_string(below(dice, kNodes)), 2 + static_cast<int>(below(dice, 5)),
                    static_cast<int>(below(dice, 3)), below(dice, 6) == 0, below(dice, 6) == 0},
        pod_shape_{.name = "p" + std::to_string(below(dice, kPods)),
                   .milli_cpu = 250 * static_cast<int>(below(dice, 10)),
                   .app = static_cast<int>(below(dice, 3)),
                   .priority = below(dice, 3) == 0 ? 100 : 0,
                   .node = {},
                   .spreads = below(dice, 4) == 0,
                   .alone = below(dice, 4) == 0,
                   .has_port = below(dice, 6) == 0,
                   .has_claim = below(dice, 12) == 0,
                   .wants_zone = below(dice, 5) == 0 ? static_cast<int>(below(dice, 3)) : -1} {}

  std::function<void(const berth_result&)> on_result = {};  ///< reads results; empty: nobody does
  std::string make(World& world) const {
    error_ = BERTH_ERROR_INIT;
    if (kind_ >= kQueueKinds)
      return make_queue_call(world, {start_, flags_, pod_, fork_at(world), pod_at(world), node_json(node_shape_)},
                             error_);
    switch (kind_) {
      case 0:
      case 1:
        return upsert(world, node_json(node_shape_));
      case 2:
      case 3:
        return upsert(world, pod_json(bound()));
      case 4:
      case 5:
      case 6:
        return create_pod(world);
      case 7:
        return take_snapshot(world);
      case 8:
        return fork(world);
      case 9:
        return remove(world);
      case 10:
        return free_one(world);
      case 11:
        return bulk(world);
      case 12:
        return node_set(world);
      case 13:
        return assume(world);
      case 14:
        return said(berth_fork_revert(fork_at(world), &error_), error_);
      case 15:
        return commit(world);
      case 16:
        return change_node(world);
      case 17:
        return change_pod(world);
      case 18:
      case 19:
      case 20:
        return schedule(world);
      case 21:
        return check(world);
      case 22:
      case 23:
        return check_bulk(world);
      case 24:
        return explain(world);
      case 25:
      case 26:
        return max_replicas(world);
      case 27:
        return schedule_group(world);
      case 28:
        return reserve(world);
      case 29:
        return unreserve(world);
      case 30:
        return scale_up(world);
      case 31:
        return drain(world);
      case 32:
        return replace(world);
      default:
        return preempt(world);
    }
  }

 private:
  PodShape bound() const {
    PodShape shape = pod_shape_;
    shape.node = "n" + std::to_string(node_ % kNodes);
    return shape;
  }
  template <class T>
  static auto* at(const std::vector<T>& list, std::size_t i) {
    return list.empty() ? nullptr : list[i % list.size()].get();
  }
  berth_fork* fork_at(World& world) const { return at(world.forks, place_); }
  const berth_pod* pod_at(World& world) const { return at(world.pods, pod_); }
  const berth_node_set* set_at(World& world) const { return has_set_ ? at(world.sets, place_) : nullptr; }
  const berth_cancel* token(World& world) const {
    if (start_ == 4) return world.triggered.get();
    return start_ % 2 == 0 ? world.idle.get() : nullptr;
  }
  std::uint32_t flags() const {
    return flag_if((flags_ & 1) != 0, BERTH_SKIP_CORDONED) | flag_if((flags_ & 2) != 0, BERTH_AS_MOVED);
  }
  std::string answer(berth_status status, berth_result* result) const {
    const OwnedResult owned(result);
    if (result != nullptr && on_result) on_result(*result);
    return said(status, error_) + (result != nullptr ? "\n" + text_of(*result) : "");
  }

  std::string upsert(World& world, const std::string& text) const {
    return said(berth_cluster_upsert(world.cluster.get(), text.data(), text.size(), &error_), error_);
  }
  std::string create_pod(World& world) const {
    const std::string text = pod_json(start_ % 3 == 0 ? bound() : pod_shape_);
    berth_pod* pod = nullptr;
    const berth_status status = berth_pod_create(world.cluster.get(), text.data(), text.size(), nullptr, &pod, &error_);
    if (pod != nullptr) world.pods.emplace_back(pod);
    return said(status, error_);
  }
  std::string take_snapshot(World& world) const {
    berth_snapshot* snapshot = nullptr;
    const berth_status status = berth_snapshot_create(world.cluster.get(), &snapshot, &error_);
    if (snapshot != nullptr) world.snapshots.emplace_back(snapshot);
    return said(status, error_);
  }
  std::string fork(World& world) const {
    berth_fork* made = nullptr;
    const berth_status status = is_of_fork_ ? berth_fork_fork(fork_at(world), &made, &error_)
                                            : berth_snapshot_fork(at(world.snapshots, place_), &made, &error_);
    if (made != nullptr) world.forks.emplace_back(made);
    return said(status, error_);
  }
  std::string remove(World& world) const {
    const std::string name = is_of_fork_ ? pod_shape_.name : node_shape_.name;
    const bool by_uid = has_set_ && is_of_fork_;
    const berth_status status =
        berth_cluster_delete(world.cluster.get(), is_of_fork_ ? "Pod" : "Node", is_of_fork_ ? "default" : nullptr,
                             by_uid ? nullptr : name.c_str(), by_uid ? ("uid-" + name).c_str() : nullptr, &error_);
    return said(status, error_);
  }
  std::string free_one(World& world) const {
    const auto drop = [&](auto& list) {
      if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(pod_ % list.size()));
    };
    if (start_ < 3) drop(world.snapshots);
    if (start_ >= 3 && start_ < 6) drop(world.forks);
    if (start_ >= 6) drop(world.pods);
    if (start_ == 8) drop(world.sets);
    return "freed";
  }
  std::string bulk(World& world) const {
    const std::array<std::string, 3> objects = {
        pod_json(bound()), start_ % 2 == 0 ? "{\"kind\":" : node_json(node_shape_), node_json(node_shape_)};
    std::string text;
    std::vector<std::uint64_t> offsets = {0};
    for (const std::string& object : objects) offsets.push_back((text += object).size());
    berth_bulk bulk = BERTH_BULK_INIT;
    bulk.data = text.data();
    bulk.offsets = offsets.data();
    bulk.count = objects.size();
    std::array<berth_status, 3> statuses{};
    const berth_status status =
        berth_cluster_upsert_bulk(world.cluster.get(), &bulk, has_set_ ? nullptr : statuses.data(), &error_);
    std::string all = said(status, error_);
    for (const berth_status one : statuses) all += ' ' + std::to_string(one);
    return all;
  }
  std::string node_set(World& world) const {
    const std::array<std::uint32_t, 3> nodes = {static_cast<std::uint32_t>(node_), static_cast<std::uint32_t>(choice_),
                                                0};
    berth_node_set* set = nullptr;
    const berth_status status = berth_node_set_create(world.cluster.get(), nodes.data(), 1 + start_ % 3, &set, &error_);
    if (set != nullptr) world.sets.emplace_back(set);
    return said(status, error_);
  }
  std::string assume(World& world) const {
    berth_cluster* const cluster = world.cluster.get();
    const auto node = static_cast<std::uint32_t>(node_);
    return said(is_of_fork_ ? berth_cluster_forget(cluster, pod_at(world), &error_)
                            : berth_cluster_assume(cluster, pod_at(world), node, &error_),
                error_);
  }
  std::string commit(World& world) const {
    std::uint64_t version = 0;
    const berth_status status = berth_fork_commit(fork_at(world), &version, &error_);
    return said(status, error_) + " " + std::to_string(version);
  }
  std::string change_node(World& world) const {
    const std::string text = node_json(node_shape_);
    std::uint32_t number = BERTH_NO_NODE;
    berth_status status = BERTH_OK;
    if (choice_ == 0) status = berth_fork_remove_node(fork_at(world), static_cast<std::uint32_t>(node_), &error_);
    if (choice_ == 1) status = berth_fork_update_node(fork_at(world), text.data(), text.size(), &error_);
    if (choice_ >= 2) status = berth_fork_add_node(fork_at(world), text.data(), text.size(), &number, &error_);
    return said(status, error_) + " " + std::to_string(number);
  }
  std::string change_pod(World& world) const {
    berth_fork* const fork = fork_at(world);
    const std::string uid = "uid-" + pod_shape_.name;
    std::uint32_t number = BERTH_NO_NODE;
    berth_status status = BERTH_OK;
    if (choice_ == 0) status = berth_fork_remove_pod(fork, uid.c_str(), &error_);
    if (choice_ == 1) status = berth_fork_unschedule(fork, pod_at(world), &error_);
    if (choice_ == 2) status = berth_fork_add_pod(fork, pod_at(world), static_cast<std::uint32_t>(node_), &error_);
    if (choice_ == 3) status = berth_fork_node_of_pod(fork, uid.c_str(), &number, &error_);
    return said(status, error_) + " " + std::to_string(number);
  }
  /// Keys of a call, some of them wrong.
  std::span<const char* const> keys() const {
    static constexpr std::array<const char*, 4> kKeys = {"topology.kubernetes.io/zone", "kubernetes.io/hostname", "x",
                                                         ""};
    return std::span(kKeys).first(start_ % 8 == 7 ? 4 : start_ % 4);
  }
  std::string max_replicas(World& world) const {
    const std::array<const berth_pod*, 3> shapes = {pod_at(world), at(world.pods, pod_ + 1), pod_at(world)};
    berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
    options.flags = flags() | flag_if(place_ == 0, BERTH_NO_REASONS);
    options.nodes = set_at(world);
    options.keys = keys().data();
    options.key_count = keys().size();
    options.per_node = static_cast<std::uint32_t>(choice_ % 2);
    options.cancel = token(world);
    berth_result* result = nullptr;
    const berth_status status =
        is_of_fork_ ? berth_fork_max_replicas(fork_at(world), shapes.data(), shapes.size(), &options, &result, &error_)
                    : berth_snapshot_max_replicas(at(world.snapshots, place_), shapes.data(), shapes.size(), &options,
                                                  &result, &error_);
    return answer(status, result);
  }
  std::string schedule_group(World& world) const {
    const std::array<const berth_pod*, 3> pods = {pod_at(world), at(world.pods, pod_ + 1), at(world.pods, pod_ + 2)};
    berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
    options.flags = flag_if((flags_ & 1) != 0, BERTH_SKIP_CORDONED);
    options.nodes = set_at(world);
    options.domain = static_cast<std::uint32_t>(choice_);
    options.keys = options.domain == BERTH_DOMAIN_NONE ? nullptr : keys().data();
    options.key_count = options.domain == BERTH_DOMAIN_NONE ? 0 : keys().size();
    options.minimum = other_pod_ % 3;
    options.cancel = token(world);
    berth_result* result = nullptr;
    const berth_status status =
        berth_fork_schedule_group(fork_at(world), pods.data(), 1 + other_pod_ % 3, &options, &result, &error_);
    return answer(status, result);
  }
  std::string reserve(World& world) const {
    berth_reserve_options options = BERTH_RESERVE_OPTIONS_INIT;
    options.nodes = set_at(world);
    options.key = is_of_fork_ ? "topology.kubernetes.io/zone" : nullptr;
    options.value = choice_ == 3 ? "z1" : is_of_fork_ ? "z0" : nullptr;
    options.cancel = token(world);
    berth_result* result = nullptr;
    const berth_status status = berth_cluster_reserve(world.cluster.get(), other_pod_ % 2 == 0 ? "one" : "two",
                                                      pod_at(world), start_ % 4, &options, &result, &error_);
    return answer(status, result);
  }
  std::string unreserve(World& world) const {
    berth_unreserve_options options = BERTH_UNRESERVE_OPTIONS_INIT;
    options.count = choice_;
    options.nodes = set_at(world);
    options.pod = is_of_fork_ ? pod_at(world) : nullptr;
    std::size_t removed = 77;
    const berth_status status =
        berth_cluster_unreserve(world.cluster.get(), other_pod_ % 2 == 0 ? "one" : "two", &options, &removed, &error_);
    berth_result* result = nullptr;
    EXPECT_EQ(berth_cluster_reservations(world.cluster.get(), nullptr, &result, nullptr),
              world.cluster != nullptr ? BERTH_OK : BERTH_E_ARGUMENT);
    return said(status, error_) + " " + std::to_string(removed) + " " + answer(BERTH_OK, result);
  }
  std::string schedule(World& world) const {
    std::vector<const berth_pod*> pods = {pod_at(world), at(world.pods, pod_ + 1), at(world.pods, other_pod_)};
    pods.resize(1 + start_ % 3);
    const std::array<std::uint32_t, 4> order = {3, 1, static_cast<std::uint32_t>(node_), 0};
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.flags = flags() | flag_if(place_ == 0, BERTH_STOP_AT_FAILURE);
    options.choice = static_cast<std::uint32_t>(choice_ % 3);
    options.start = static_cast<std::uint32_t>(start_);
    options.cancel = token(world);
    options.nodes = set_at(world);
    if (options.choice == BERTH_CHOICE_ORDER) {
      options.order = order.data();
      options.order_count = order.size();
    }
    berth_result* result = nullptr;
    const berth_status status =
        berth_fork_schedule(fork_at(world), pods.data(), pods.size(), &options, &result, &error_);
    return answer(status, result);
  }
  std::string check(World& world) const {
    std::int32_t fits = -1;
    berth_result* details = nullptr;
    const auto node = static_cast<std::uint32_t>(node_);
    berth_result** const wanted = has_set_ ? nullptr : &details;
    const berth_status status =
        is_of_fork_
            ? berth_fork_check(fork_at(world), pod_at(world), node, flags(), &fits, wanted, &error_)
            : berth_snapshot_check(at(world.snapshots, place_), pod_at(world), node, flags(), &fits, wanted, &error_);
    std::string text = answer(status, details) + " " + std::to_string(fits);
    std::int32_t is_local = -1;  // what it says depends on the backend
    return text + said(berth_pod_is_node_local(pod_at(world), &is_local, &error_), error_);
  }
  std::string check_bulk(World& world) const {
    std::vector<const berth_pod*> pods;
    for (const OwnedPod& pod : world.pods) pods.push_back(pod.get());
    berth_result* result = nullptr;
    berth_check_options options = BERTH_CHECK_OPTIONS_INIT;
    options.flags = flags() | flag_if(start_ % 3 == 0, BERTH_NO_REASONS) | flag_if(start_ % 4 < 2, BERTH_WITH_SCORES);
    options.nodes = set_at(world);
    options.cancel = token(world);
    const berth_status status =
        is_of_fork_ ? berth_fork_check_bulk_until(fork_at(world), pods.data(), pods.size(), &options, &result, &error_)
                    : berth_snapshot_check_bulk_until(at(world.snapshots, place_), pods.data(), pods.size(), &options,
                                                      &result, &error_);
    return answer(status, result);
  }
  berth_ask_options ask_options(World& world, std::uint32_t more_flags) const {
    berth_ask_options options = BERTH_ASK_OPTIONS_INIT;
    options.flags = (flags() & BERTH_AS_MOVED) | more_flags;
    options.cancel = token(world);
    return options;
  }
  std::string explain(World& world) const {
    berth_result* result = nullptr;
    const berth_ask_options options = ask_options(world, flag_if(start_ % 4 == 0, BERTH_WITH_PREEMPTION));
    const berth_status status =
        is_of_fork_
            ? berth_fork_explain_until(fork_at(world), pod_at(world), &options, &result, &error_)
            : berth_snapshot_explain_until(at(world.snapshots, place_), pod_at(world), &options, &result, &error_);
    return answer(status, result);
  }
  /// Of the drawn node, or of a copy of one.
  berth_shape shape(const std::string& text) const {
    berth_shape shape = BERTH_SHAPE_INIT;
    if (choice_ > 0) {
      shape.node = text.data();
      shape.node_size = text.size();
    }
    shape.copy_of = static_cast<std::uint32_t>(node_);
    shape.flags = flag_if(choice_ == 0 && has_set_, BERTH_SHAPE_WITH_PODS_OF_NODE);
    shape.max_nodes = static_cast<std::uint32_t>(start_ % 4);
    shape.price = 3;
    return shape;
  }
  std::string scale_up(World& world) const {
    const std::vector<const berth_pod*> pods = {pod_at(world), at(world.pods, pod_ + 1), at(world.pods, other_pod_)};
    const std::string text = node_json(node_shape_);
    const berth_shape drawn = shape(text);
    const berth_shape* const shapes = &drawn;
    berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
    options.flags = flag_if((flags_ & 1) != 0, BERTH_EXISTING_FIRST) | flag_if((flags_ & 2) != 0, BERTH_DECREASING);
    options.cancel = token(world);
    berth_result* result = nullptr;
    const std::size_t count = 1 + start_ % 3;
    const berth_status status =
        is_of_fork_ ? berth_fork_scale_up(fork_at(world), pods.data(), count, &shapes, 1, &options, &result, &error_)
                    : berth_snapshot_scale_up(at(world.snapshots, place_), pods.data(), count, &shapes, 1, &options,
                                              &result, &error_);
    return answer(status, result);
  }
  berth_drain_options drain_options(World& world) const {
    berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
    options.flags = flag_if((flags_ & 1) != 0, BERTH_DRAIN_TOGETHER) |
                    flag_if((flags_ & 2) != 0, BERTH_DRAIN_BY_SCORE) | flag_if(start_ == 8, BERTH_DRAIN_KEEP);
    options.preset = static_cast<std::uint32_t>(place_ % 3);
    options.rules_off = flag_if(start_ % 4 != 0, 1U << BERTH_RULE_NO_CONTROLLER);
    options.nodes = set_at(world);
    options.cancel = token(world);
    return options;
  }
  std::string drain(World& world) const {
    const std::array<std::uint32_t, 2> nodes = {static_cast<std::uint32_t>(node_), static_cast<std::uint32_t>(choice_)};
    const berth_drain_options options = drain_options(world);
    berth_result* result = nullptr;
    const std::size_t count = 1 + start_ % nodes.size();
    const berth_status status =
        is_of_fork_
            ? berth_fork_drain(fork_at(world), nodes.data(), count, &options, &result, &error_)
            : berth_snapshot_drain(at(world.snapshots, place_), nodes.data(), count, &options, &result, &error_);
    return answer(status, result);
  }
  std::string replace(World& world) const {
    const auto node = static_cast<std::uint32_t>(node_);
    const berth_drain_options options = drain_options(world);
    const std::string text = node_json(node_shape_);
    const berth_shape drawn = shape(text);
    const berth_shape* const shapes = &drawn;
    berth_result* result = nullptr;
    const berth_status status =
        is_of_fork_
            ? berth_fork_replace(fork_at(world), &node, 1, &options, &shapes, 1, 2, &result, &error_)
            : berth_snapshot_replace(at(world.snapshots, place_), &node, 1, &options, &shapes, 1, 2, &result, &error_);
    return answer(status, result);
  }
  std::string preempt(World& world) const {
    berth_result* result = nullptr;
    const berth_ask_options options = ask_options(world, 0);
    const berth_status status =
        is_of_fork_
            ? berth_fork_preempt_until(fork_at(world), pod_at(world), &options, &result, &error_)
            : berth_snapshot_preempt_until(at(world.snapshots, place_), pod_at(world), &options, &result, &error_);
    return answer(status, result);
  }
  std::uint64_t kind_, pod_, other_pod_, place_, node_, choice_, start_, flags_;
  bool is_of_fork_, has_set_;
  NodeShape node_shape_;
  PodShape pod_shape_;
  mutable berth_error error_ = BERTH_ERROR_INIT;
};

}  // namespace berth::test

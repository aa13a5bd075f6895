// SPDX-License-Identifier: Apache-2.0
// The object store agrees with a plain model of it, in any order of calls. What a watch delivers, replayed, equals what
// the store lists; versions grow by one; a call that fails changes nothing.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/objects/pod_copy.h"
#include "host/store/object_store.h"
#include "tests/property/dice.h"

namespace berth {
namespace {

using test::Dice;

constexpr std::int64_t kSecondUs = 1'000'000;
const std::vector<std::string> kSpaces = {"a", "b"};

struct PlainPod {
  std::string node = {};
  std::string nominated = {};
  std::string label = {};
  bool gated = false;
  PodPhase phase = PodPhase::kPending;
  std::vector<std::string> finalizers = {};
  std::optional<std::int64_t> grace_s = {};
  std::int64_t deletion_us = 0;
  std::int64_t generation = 1;
  std::uint64_t version = 0;
  friend bool operator==(const PlainPod&, const PlainPod&) = default;
};

using PodName = std::pair<std::string, std::string>;

/// What the rules say, without events, tables or shared objects.
struct PlainStore {
  std::map<PodName, PlainPod> pods;
  std::map<std::string, bool> spaces;  ///< by name: is it being deleted?
  std::uint64_t version = 0;

  bool is_ending(const std::string& space) const {
    const auto found = spaces.find(space);
    return found != spaces.end() && found->second;
  }
  void write(PlainPod& pod) { pod.version = ++version; }
  void end_space(const std::string& space) {
    const auto first = pods.lower_bound({space, ""});
    if (!is_ending(space) || (first != pods.end() && first->first.first == space)) return;
    spaces.erase(space);
    ++version;
  }
  void erase(const PodName& name) {
    pods.erase(name);
    ++version;
  }
  void remove(const PodName& name, std::optional<std::int64_t> wanted_s, std::int64_t now_us) {
    PlainPod& pod = pods.at(name);
    if (wanted_s && *wanted_s < 0) wanted_s = 1;
    bool ends = true;
    if (!pod.grace_s) {
      const bool at_once = pod.node.empty() || pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
      pod.grace_s = at_once ? 0 : wanted_s.value_or(30);
      pod.deletion_us = now_us + *pod.grace_s * kSecondUs;
      ++pod.generation;
      write(pod);
      ends = *pod.grace_s == 0;
    } else if (*pod.grace_s > 0) {
      if (!wanted_s || *wanted_s >= *pod.grace_s) return;
      const std::int64_t begin_us = pod.deletion_us - *pod.grace_s * kSecondUs;
      pod.deletion_us = begin_us + *wanted_s * kSecondUs;
      pod.grace_s = wanted_s;
      if (pod.deletion_us < now_us) {
        pod.deletion_us = now_us;
        pod.grace_s = std::min<std::int64_t>(*wanted_s, 1);
      }
      write(pod);
      ends = *wanted_s == 0;
    }
    if (ends && pod.finalizers.empty()) erase(name);
  }
};

/// Both stores with the same calls, and watches.
class Pair {
 public:
  explicit Pair(std::uint64_t seed)
      : dice_(seed), clears_(dice_.one_in(2)), store_(clock_, {.clears_nomination = clears_}) {
    watch_ = store_.watch(0).watch;
    slow_watch_ = store_.watch(0).watch;
  }

  void step() {
    const StoreContents before = store_.list_all();
    const StoreReason expected = call();
    RC_ASSERT(reason_ == expected);
    const StoreContents after = store_.list_all();
    RC_ASSERT(after.resource_version == plain_.version);
    if (expected != StoreReason::kSuccess) {
      RC_ASSERT(after.resource_version == before.resource_version);
      RC_ASSERT(after.items == before.items);
    }
    compare(after);
    replay(watch_, SIZE_MAX, replayed_);
    RC_ASSERT(replayed_.version == after.resource_version);
    compare(after, replayed_);
    if (dice_.one_in(3)) replay(slow_watch_, static_cast<std::size_t>(dice_.upto(4)), slow_replayed_);
  }
  void finish() {
    replay(slow_watch_, SIZE_MAX, slow_replayed_);
    compare(store_.list_all(), slow_replayed_);
  }

 private:
  struct Replayed {
    std::map<PodName, StoredPodPtr> pods;
    std::map<std::string, StoredPtr<Namespace>> spaces;
    std::uint64_t version = 0;
  };

  StoreReason call() {
    name_ = {dice_.pick(kSpaces), "p" + std::to_string(dice_.upto(4))};
    switch (dice_.upto(9)) {
      case 0:
      case 1:
        return create();
      case 2:
        return bind();
      case 3:
        return set_status();
      case 4:
        return set_label();
      case 5:
        return open_gate();
      case 6:
        return set_finalizers();
      case 7:
        return remove();
      case 8:
        return change_space();
      default:
        clock_.advance_by(dice_.pick(std::vector<std::int64_t>{0, 1, kSecondUs, 7 * kSecondUs, 40 * kSecondUs}));
        return reason_ = StoreReason::kSuccess;
    }
  }
  template <class T>
  void note(const StoreResult<T>& result) {
    reason_ = result.status.reason;
    RC_ASSERT(result.status.message.empty() == result.is_success());
  }
  ObjectKey key() const { return {.namespace_ = name_.first, .name = name_.second}; }
  PlainPod* plain_pod() {
    const auto found = plain_.pods.find(name_);
    return found == plain_.pods.end() ? nullptr : &found->second;
  }
  std::vector<std::string> draw_finalizers() {
    return dice_.pick(std::vector<std::vector<std::string>>{{}, {}, {"f"}, {"g"}, {"f", "g"}});
  }

  StoreReason create() {
    auto pod = std::make_shared<Pod>();
    pod->namespace_ = name_.first;
    pod->name = name_.second;
    pod->spec = std::make_shared<const PodSpec>();
    PlainPod plain;
    plain.finalizers = draw_finalizers();
    if (dice_.one_in(4)) plain.node = pod->node_name = "n0";
    if (plain.node.empty() && dice_.one_in(3)) {
      plain.gated = true;
      PodRare rare;
      rare.scheduling_gates = {"gate"};
      pod->rare_fields = std::make_unique<const PodRare>(rare);
    }
    note(store_.create<Pod>(pod, {.finalizers = plain.finalizers}));
    if (plain_.is_ending(name_.first)) return StoreReason::kForbidden;
    if (plain_pod() != nullptr) return StoreReason::kAlreadyExists;
    plain_.write(plain_.pods[name_] = plain);
    return StoreReason::kSuccess;
  }
  StoreReason bind() {
    const std::string node = "n" + std::to_string(dice_.upto(2));
    note(store_.bind({.namespace_ = name_.first, .name = name_.second, .node_name = node}));
    PlainPod* pod = plain_pod();
    if (pod == nullptr) return StoreReason::kNotFound;
    if (pod->grace_s || !pod->node.empty() || pod->gated) return StoreReason::kConflict;
    pod->node = node;
    if (clears_) pod->nominated.clear();
    plain_.write(*pod);
    return StoreReason::kSuccess;
  }
  StoreReason set_status() {
    PodStatusPatch patch;
    if (dice_.one_in(2)) patch.phase = dice_.pick(std::vector{PodPhase::kRunning, PodPhase::kSucceeded});
    if (dice_.one_in(2)) patch.nominated_node_name = dice_.pick(std::vector<std::string>{"", "n1", "n2", "N!"});
    note(store_.update_status(key(), patch));
    PlainPod* pod = plain_pod();
    if (pod == nullptr) return StoreReason::kNotFound;
    const std::string nominated = patch.nominated_node_name.value_or(pod->nominated);
    const bool names_new = !nominated.empty() && nominated != pod->nominated;
    if (names_new && (nominated == "N!" || (clears_ && !pod->node.empty()))) return StoreReason::kInvalid;
    PlainPod changed = *pod;
    changed.phase = patch.phase.value_or(pod->phase);
    changed.nominated = nominated;
    return put(*pod, changed);
  }
  StoreReason put(PlainPod& pod, const PlainPod& changed) {
    if (pod == changed) return StoreReason::kSuccess;
    pod = changed;
    plain_.write(pod);
    return StoreReason::kSuccess;
  }
  /// An update of the stored pod, or of one made up where there is none.
  template <class Change>
  void update(const UpdateOptions& options, Change change) {
    const StoredPodPtr stored = store_.get<Pod>(key());
    auto pod = std::make_shared<Pod>();
    pod->namespace_ = name_.first;
    pod->name = name_.second;
    pod->spec = std::make_shared<const PodSpec>();
    if (stored != nullptr) pod = copy_of(*stored->object);
    change(*pod);
    note(store_.update<Pod>(pod, options));
  }
  StoreReason set_label() {
    const std::string label = std::to_string(dice_.upto(2));
    UpdateOptions options;
    if (dice_.one_in(2)) options.resource_version = static_cast<std::uint64_t>(dice_.upto(20));
    update(options, [&](Pod& pod) { pod.labels = {{"label", label}}; });
    PlainPod* pod = plain_pod();
    if (pod == nullptr) return StoreReason::kNotFound;
    if (options.resource_version && *options.resource_version != pod->version) return StoreReason::kConflict;
    PlainPod changed = *pod;
    changed.label = label;
    return put(*pod, changed);
  }
  StoreReason open_gate() {
    const bool closes = dice_.one_in(3);
    update({}, [&](Pod& pod) {
      PodRare rare = pod.rare();
      rare.scheduling_gates.clear();
      if (closes) rare.scheduling_gates.emplace_back("gate");
      pod.rare_fields = std::make_unique<const PodRare>(rare);
    });
    PlainPod* pod = plain_pod();
    if (pod == nullptr) return StoreReason::kNotFound;
    if (closes && !pod->gated) return StoreReason::kInvalid;
    PlainPod changed = *pod;
    changed.gated = closes;
    if (changed.gated != pod->gated) ++changed.generation;
    return put(*pod, changed);
  }
  StoreReason set_finalizers() {
    const std::vector<std::string> finalizers = draw_finalizers();
    update({.finalizers = finalizers}, [](Pod&) {});
    PlainPod* pod = plain_pod();
    if (pod == nullptr) return StoreReason::kNotFound;
    if (pod->grace_s &&
        !std::includes(pod->finalizers.begin(), pod->finalizers.end(), finalizers.begin(), finalizers.end()))
      return StoreReason::kInvalid;
    if (pod->grace_s == 0 && finalizers.empty()) {
      plain_.erase(name_);
      plain_.end_space(name_.first);
      return StoreReason::kSuccess;
    }
    PlainPod changed = *pod;
    changed.finalizers = finalizers;
    return put(*pod, changed);
  }
  StoreReason remove() {
    DeleteOptions options;
    if (dice_.one_in(2)) options.grace_period_s = dice_.pick(std::vector<std::int64_t>{-1, 0, 2, 10, 60});
    if (dice_.one_in(6)) options.uid = "other";
    note(store_.remove<Pod>(key(), options));
    if (plain_pod() == nullptr) return StoreReason::kNotFound;
    if (!options.uid.empty()) return StoreReason::kConflict;
    plain_.remove(name_, options.grace_period_s, clock_.now_us());
    plain_.end_space(name_.first);
    return StoreReason::kSuccess;
  }
  StoreReason change_space() {
    const std::string& space = name_.first;
    const bool known = plain_.spaces.contains(space);
    if (dice_.one_in(2)) {
      auto object = std::make_shared<Namespace>();
      object->name = space;
      note(store_.create<Namespace>(object));
      if (known) return StoreReason::kAlreadyExists;
      plain_.spaces[space] = false;
      ++plain_.version;
      return StoreReason::kSuccess;
    }
    note(store_.remove<Namespace>({.namespace_ = {}, .name = space}));
    if (!known) return StoreReason::kNotFound;
    if (!std::exchange(plain_.spaces[space], true)) ++plain_.version;
    std::vector<PodName> inside;
    for (const auto& [name, pod] : plain_.pods)
      if (name.first == space) inside.push_back(name);
    for (const PodName& name : inside) plain_.remove(name, std::nullopt, clock_.now_us());
    plain_.end_space(space);
    return StoreReason::kSuccess;
  }

  /// The store's objects with the model's.
  void compare(const StoreContents& contents) const {
    std::map<PodName, PlainPod> pods;
    for (const StoredPodPtr& stored : contents.of<Pod>()) {
      const Pod& pod = *stored->object;
      const RareMeta& meta = stored->meta.rare();
      RC_ASSERT(pod.terminating == stored->meta.is_being_deleted());
      pods[{pod.namespace_, pod.name}] = {.node = pod.node_name,
                                          .nominated = pod.rare().nominated_node_name,
                                          .label = std::string(pod.labels.find("label").value_or("")),
                                          .gated = !pod.rare().scheduling_gates.empty(),
                                          .phase = pod.phase,
                                          .finalizers = meta.finalizers,
                                          .grace_s = meta.deletion_grace_s,
                                          .deletion_us = meta.deletion_time_us,
                                          .generation = stored->meta.generation,
                                          .version = stored->meta.resource_version};
    }
    RC_ASSERT(pods == plain_.pods);
    std::map<std::string, bool> spaces;
    for (const StoredPtr<Namespace>& stored : contents.of<Namespace>())
      spaces[stored->object->name] = stored->meta.is_being_deleted();
    RC_ASSERT(spaces == plain_.spaces);
  }
  static void compare(const StoreContents& contents, const Replayed& replayed) {
    std::vector<StoredPodPtr> pods;
    for (const auto& [name, stored] : replayed.pods) pods.push_back(stored);
    RC_ASSERT(pods == contents.of<Pod>());
    std::vector<StoredPtr<Namespace>> spaces;
    for (const auto& [name, stored] : replayed.spaces) spaces.push_back(stored);
    RC_ASSERT(spaces == contents.of<Namespace>());
  }
  template <class T, class Name>
  static void apply(const ObjectChange<T>& change, std::map<Name, StoredPtr<T>>& state, const Name& name,
                    std::uint64_t version) {
    const auto known = state.find(name);
    RC_ASSERT((known == state.end() ? nullptr : known->second) == change.before);
    if (change.after == nullptr) {
      state.erase(name);
      return;
    }
    RC_ASSERT(change.after->meta.resource_version == version);
    state[name] = change.after;
  }
  static void replay(Watch& watch, std::size_t limit, Replayed& state) {
    const WatchBatch batch = watch.poll(limit);
    RC_ASSERT(batch.status.is_success());
    for (const WatchEvent& event : batch.events) {
      RC_ASSERT(event.resource_version == state.version + 1);
      state.version = event.resource_version;
      if (const auto* pod = event.get<Pod>()) {
        const Pod& object = *(pod->after != nullptr ? pod->after : pod->before)->object;
        apply(*pod, state.pods, PodName{object.namespace_, object.name}, state.version);
      } else {
        const auto& space = *event.get<Namespace>();
        apply(space, state.spaces, (space.after != nullptr ? space.after : space.before)->object->name, state.version);
      }
    }
  }

  Dice dice_;
  bool clears_;
  VirtualClock clock_{1'000 * kSecondUs};
  ObjectStore store_;
  PlainStore plain_;
  Watch watch_;
  Watch slow_watch_;
  Replayed replayed_;
  Replayed slow_replayed_;
  PodName name_;
  StoreReason reason_ = StoreReason::kSuccess;
};

RC_GTEST_PROP(StoreAgreesTest, WithThePlainModelAfterEveryCall, ()) {
  Pair pair(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
  for (int i = 0; i < 100; ++i) pair.step();
  pair.finish();
}

}  // namespace
}  // namespace berth

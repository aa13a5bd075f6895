// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/informers.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "host/kube/watch/api_object_reader.h"
#include "host/store/object_table.h"

namespace berth {

/// Of the client's thread, but for `states`.
struct InformersState {
  InformersState(Informers::Parts given, DeclaredPathsPtr declared, std::function<void(StoreContents)> then)
      : parts(given), on_synced(std::move(then)), reader(std::move(declared)) {}

  Informers::Parts parts;
  std::function<void(StoreContents)> on_synced;
  ApiObjectReader reader;
  std::vector<std::unique_ptr<ReflectedObjects>> copies;
  std::vector<std::function<void(StoreContents&)>> append_contents;  ///< of each copy
  const ObjectTable<Pod>* pods = nullptr;                            ///< null: pods are not watched
  std::vector<std::shared_ptr<Reflector>> reflectors;
  std::size_t unsynced = 0;  ///< resources whose first list is not there

  mutable std::mutex mutex;
  std::vector<ResourceState> states;

  void note_synced(std::size_t resource);
};

namespace {

bool comes_before(const ObjectKey& a, const ObjectKey& b) {
  return std::tie(a.namespace_, a.name, a.workload_kind) < std::tie(b.namespace_, b.name, b.workload_kind);
}

/// The copy of one resource.
template <class T>
class Copy : public ReflectedObjects {
 public:
  Copy(InformersState& state, const WatchedResource& resource, std::size_t index)
      : state_(state), resource_(resource), index_(index) {}

  void begin_list() override { listed_.clear(); }
  void add_listed(std::string_view json, const ObjectVersion* version) override {
    if (StoredPtr<T> object = read(json, version)) listed_.push_back(std::move(object));
  }
  void end_list() override {
    const bool is_first = !std::exchange(is_listed_, true);
    remove_unlisted();
    for (StoredPtr<T>& object : listed_) set(std::move(object));
    listed_ = {};
    flush();
    if (is_first) state_.note_synced(index_);
  }
  void apply(WatchLineType type, std::string_view json, const ObjectVersion& version) override {
    StoredPtr<T> object = read(json, &version);
    if (object != nullptr && type != WatchLineType::kDeleted) return set(std::move(object));
    if (object != nullptr) return remove(key_of(*object->object));
    if (!state_.reader.finished_pod().empty()) remove_finished(state_.reader.finished_pod());
  }
  void flush() override { state_.parts.events.add(std::exchange(events_, {})); }
  void note_problem(const std::string& problem) override {
    {
      const std::lock_guard lock(state_.mutex);
      state_.states[index_].problem = problem;
    }
    state_.parts.log.on_resource_problem(resource_.name, problem);
  }
  void note_json_only() override { state_.parts.log.on_json_only(resource_.name); }
  const ObjectTable<T>& table() const { return table_; }
  void append_to(StoreContents& contents) const {
    auto& list = std::get<StoredList<T>>(contents.items);
    table_.for_each([&](const StoredPtr<T>& object) { list.push_back(object); });
  }

 private:
  StoredPtr<T> read(std::string_view json, const ObjectVersion* version) {
    StoredPtr<T> object = state_.reader.read<T>({resource_, json, version});
    if (object == nullptr && !state_.reader.problem().empty()) {
      {
        const std::lock_guard lock(state_.mutex);
        ++state_.states[index_].unreadable_objects;
      }
      state_.parts.log.on_unreadable_object(resource_.name, state_.reader.problem());
    }
    return object;
  }
  void set(StoredPtr<T> after) {
    const StoredPtr<T>* const known = table_.find(key_of(*after->object));
    if (known == nullptr) {
      table_.reserve_one();
      table_.insert(after);
      return tell(nullptr, std::move(after));
    }
    if ((*known)->meta.resource_version == after->meta.resource_version) return;
    StoredPtr<T> before = *known;
    if (uid_of(*before) != uid_of(*after)) {  // the object of that name is another one
      tell(std::exchange(before, nullptr), nullptr);
    }
    table_.replace(after);
    tell(std::move(before), std::move(after));
  }
  /// What the key refers to may be the object that goes.
  void remove(const ObjectKey& key) {
    const StoredPtr<T>* const known = table_.find(key);
    if (known == nullptr) return;
    StoredPtr<T> before = *known;
    table_.erase(key);
    tell(std::move(before), nullptr);
  }
  void remove_finished(std::string_view full_name) {
    const std::size_t slash = full_name.find('/');
    if (slash != std::string_view::npos) remove({full_name.substr(0, slash), full_name.substr(slash + 1)});
  }
  void remove_unlisted() {
    ObjectTable<T> listed;
    for (const StoredPtr<T>& object : listed_) {
      if (listed.find(key_of(*object->object)) != nullptr) continue;
      listed.reserve_one();
      listed.insert(object);
    }
    std::vector<StoredPtr<T>> gone;
    table_.for_each([&](const StoredPtr<T>& known) {
      if (listed.find(key_of(*known->object)) == nullptr) gone.push_back(known);
    });
    for (const StoredPtr<T>& object : gone) remove(key_of(*object->object));
  }
  /// Before all is synced nobody needs events: the contents are taken then.
  void tell(StoredPtr<T> before, StoredPtr<T> after) {
    if (state_.unsynced > 0) return;
    WatchEvent& event = events_.emplace_back();
    event.time_us = state_.parts.clock.now_us();
    event.change = ObjectChange<T>{std::move(before), std::move(after)};
  }

  InformersState& state_;
  WatchedResource resource_;
  std::size_t index_;
  ObjectTable<T> table_;
  std::vector<StoredPtr<T>> listed_;  ///< by the list that is under way
  std::vector<WatchEvent> events_;    ///< since the last flush()
  bool is_listed_ = false;            ///< once
};

template <class T>
void add_copy(InformersState& state, const WatchedResource& resource) {
  auto copy = std::make_unique<Copy<T>>(state, resource, state.copies.size());
  if constexpr (std::is_same_v<T, Pod>) state.pods = &copy->table();
  state.append_contents.push_back([&kept = *copy](StoreContents& contents) { kept.append_to(contents); });
  state.copies.push_back(std::move(copy));
}

void add_copy_of_kind(InformersState& state, const WatchedResource& resource) {
#define BERTH_ADD_COPY(T) \
  if (resource.kind == kKindOf<T>) return add_copy<T>(state, resource);
  BERTH_EACH_STORED_KIND(BERTH_ADD_COPY)
#undef BERTH_ADD_COPY
}

bool has_declared(const DeclaredPathsPtr& declared, ObjectKind kind) {
  if (declared == nullptr) return false;
  return (kind == ObjectKind::kPod && !declared->of_pods().empty()) ||
         (kind == ObjectKind::kNode && !declared->of_nodes().empty());
}

template <class T>
void sort_list(StoredList<T>& list) {
  std::sort(list.begin(), list.end(), [](const StoredPtr<T>& a, const StoredPtr<T>& b) {
    return comes_before(key_of(*a->object), key_of(*b->object));
  });
}

}  // namespace

void InformersState::note_synced(std::size_t resource) {
  {
    const std::lock_guard lock(mutex);
    states[resource].is_synced = true;
  }
  if (--unsynced > 0) return;
  StoreContents contents;
  for (const auto& append : append_contents) append(contents);
  std::apply([](auto&... lists) { (sort_list(lists), ...); }, contents.items);
  on_synced(std::move(contents));
}

Informers::Informers(Parts parts, const std::vector<WatchedResource>& resources, const InformerOptions& options,
                     std::function<void(StoreContents)> on_synced)
    : state_(std::make_unique<InformersState>(parts, options.declared, std::move(on_synced))) {
  state_->unsynced = resources.size();
  std::uint64_t seed = options.reflectors.seed;
  for (const WatchedResource& resource : resources) {
    state_->states.push_back({std::string(resource.name), false, {}, 0});
    add_copy_of_kind(*state_, resource);
    ReflectorOptions own = options.reflectors;
    own.seed = ++seed;
    if (has_declared(options.declared, resource.kind)) own.accept = kJsonType;
    state_->reflectors.push_back(std::make_shared<Reflector>(
        Reflector::Parts{parts.client, parts.timers, parts.clock, *state_->copies.back(), resource}, own));
  }
  for (const auto& reflector : state_->reflectors) reflector->start();
}

Informers::~Informers() = default;

std::vector<ResourceState> Informers::states() const {
  const std::lock_guard lock(state_->mutex);
  return state_->states;
}

StoreContents Informers::contents() const {
  // Shared, because a client that ends never calls: the promise breaks then, and get() says so.
  const auto answer = std::make_shared<std::promise<StoreContents>>();
  std::future<StoreContents> future = answer->get_future();
  state_->parts.timers.after(0, [state = state_.get(), answer] {
    StoreContents contents;
    for (const auto& append : state->append_contents) append(contents);
    answer->set_value(std::move(contents));
  });
  return future.get();
}

std::uint64_t Informers::version_of(const Pod& pod) const {
  const StoredPodPtr* const known = state_->pods == nullptr ? nullptr : state_->pods->find(key_of(pod));
  return known != nullptr && (*known)->object->uid() == pod.uid() ? (*known)->meta.resource_version : 0;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
// Masks of forks are what bulk checks say, and the use of nodes is the sum of the pods there: in forks of drawn
// clusters, and in forks of those, after random changes of forks and cluster, by both backends. BERTH_CLUSTERS and
// BERTH_SEED change how many there are.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/counting_world.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

constexpr int kNodes = 9;
constexpr int kPods = 12;

NodeShape any_node(Dice& dice, int number) {
  return {.name = "n" + std::to_string(number),
          .cpu = 1 + static_cast<int>(dice.upto(5)),
          .zone = static_cast<int>(dice.upto(2)),
          .cordoned = dice.one_in(6),
          .tainted = dice.one_in(6),
          .gpus = dice.one_in(3) ? static_cast<int>(dice.upto(4)) : 0,
          .pods = 2 + static_cast<int>(dice.upto(5))};
}

PodShape any_pod(Dice& dice, const std::string& name) {
  PodShape shape;
  shape.name = name;
  shape.milli_cpu = dice.one_in(6) ? 0 : 300 * static_cast<int>(1 + dice.upto(6));
  shape.memory_mib = dice.one_in(4) ? 0 : 512 * static_cast<int>(1 + dice.upto(5));
  shape.gpus = dice.one_in(5) ? 1 : 0;
  shape.app = static_cast<int>(dice.upto(3));
  shape.priority = dice.one_in(3) ? 100 : 0;
  shape.has_port = dice.one_in(6);
  shape.has_claim = dice.one_in(12);
  shape.wants_zone = dice.one_in(6) ? static_cast<int>(dice.upto(2)) : -1;
  shape.spreads = dice.one_in(6);
  shape.spreads_hosts = dice.one_in(6);
  shape.alone = dice.one_in(6);
  shape.near_app = dice.one_in(9) ? static_cast<int>(dice.upto(3)) : -1;
  return shape;
}

/// What a fork should have. A pod on a node that is not there counts nowhere.
struct Model {
  std::map<std::string, NodeShape> nodes;
  std::map<std::string, std::pair<PodShape, std::string>> pods;  ///< by name: on which node

  std::int64_t requested(const std::string& node, const std::string& resource) const {
    std::int64_t sum = 0;
    for (const auto& [name, standing] : pods) {
      const PodShape& pod = standing.first;
      if (standing.second != node) continue;
      sum += resource == "cpu"               ? pod.milli_cpu
             : resource == "memory"          ? std::int64_t{pod.memory_mib} << 20
             : resource == "pods"            ? 1
             : resource == "example.com/gpu" ? pod.gpus
                                             : 0;
    }
    return sum;
  }
  std::int64_t allocatable(const std::string& node, const std::string& resource) const {
    const NodeShape& shape = nodes.at(node);
    if (resource == "cpu") return 1000 * std::int64_t{shape.cpu};
    if (resource == "memory") return std::int64_t{16} << 30;
    return resource == "pods" ? shape.pods : resource == "example.com/gpu" ? shape.gpus : 0;
  }
};

struct ModelledFork {
  OwnedFork fork;
  Model now;
  Model opened;
  std::size_t parent = SIZE_MAX;  ///< position among the forks
};

class Session {
 public:
  Session(const char* backend, std::uint64_t seed) : dice_(seed), world_(backend, seed) {
    for (int i = 0; i < kNodes - 2; ++i) put_node(any_node(dice_, i));
    for (int i = 0; i < 8; ++i) put_pod(any_pod(dice_, "runs" + std::to_string(i)));
    for (int i = 0; i < kPods; ++i) shapes_.push_back(any_pod(dice_, "p" + std::to_string(i)));
    if (dice_.one_in(3)) {
      shapes_.back().nominated = "n0";
      PodShape reserving = any_pod(dice_, "waits");
      reserving.nominated = "n1";
      reserving.has_claim = false;
      world_.upsert(pod_json(reserving));
    }
    for (const PodShape& shape : shapes_) pods_.push_back(world_.pod(shape));
    snapshot_ = world_.snapshot();
    at_snapshot_ = cluster_;
    for (int i = 0; i < 3; ++i) open();
  }

  void step() {
    ModelledFork& of = forks_[below(forks_.size())];
    switch (dice_.upto(11)) {
      case 0:
        return change_node(of);
      case 1:
        return open();
      case 2:
        return open_child(static_cast<std::size_t>(&of - forks_.data()));
      case 3:
        return revert_or_commit(of);
      case 4:
        return put_pod(any_pod(dice_, "runs" + std::to_string(dice_.upto(9))));
      case 5:
        if (dice_.one_in(6)) put_node(any_node(dice_, static_cast<int>(dice_.upto(kNodes - 1))));
        return;
      case 6:
      case 7:
        return remove_pod(of);
      case 8:
        return schedule(of);
      default:
        return add_pod(of);
    }
  }

  void check(ModelledFork& of) {
    for (int asked = 0; asked < 3; ++asked) check_mask(of, below(pods_.size()));
    check_use(of);
  }
  void check_some() { check(forks_[below(forks_.size())]); }
  void check_all() {
    for (ModelledFork& of : forks_) {
      for (std::size_t p = 0; p < pods_.size(); ++p) check_mask(of, p);
      check_use(of);
    }
  }

  std::size_t masks = 0, fitting = 0;

 private:
  std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(dice_.upto(static_cast<std::int64_t>(limit) - 1));
  }

  void put_node(const NodeShape& shape) {
    world_.upsert(node_json(shape));
    cluster_.nodes[shape.name] = shape;
  }
  void put_pod(PodShape shape) {
    shape.node = "n" + std::to_string(dice_.upto(kNodes - 1));
    shape.has_claim = false;
    world_.upsert(pod_json(shape));
    cluster_.pods[shape.name] = {shape, shape.node};
  }
  void open() {
    berth_fork* fork = nullptr;
    ASSERT_EQ(berth_snapshot_fork(snapshot_.get(), &fork, nullptr), BERTH_OK);
    forks_.push_back({OwnedFork(fork), at_snapshot_, at_snapshot_});
  }
  void open_child(std::size_t parent) {
    berth_fork* fork = nullptr;
    ASSERT_EQ(berth_fork_fork(forks_[parent].fork.get(), &fork, nullptr), BERTH_OK);
    const Model model = forks_[parent].now;
    forks_.push_back({OwnedFork(fork), model, model, parent});
  }
  void revert_or_commit(ModelledFork& of) {
    if (of.parent == SIZE_MAX || dice_.one_in(2)) {
      if (berth_fork_revert(of.fork.get(), nullptr) == BERTH_OK) of.now = of.opened;
      return;
    }
    if (berth_fork_commit(of.fork.get(), nullptr, nullptr) != BERTH_OK) return;
    ModelledFork& parent = forks_[of.parent];
    parent.now = of.now;
    // The fork takes no calls any more: another one of its parent takes its place.
    berth_fork* fork = nullptr;
    ASSERT_EQ(berth_fork_fork(parent.fork.get(), &fork, nullptr), BERTH_OK);
    of.fork.reset(fork);
    of.opened = of.now;
    for (ModelledFork& other : forks_)
      if (other.parent == static_cast<std::size_t>(&of - forks_.data())) other.parent = SIZE_MAX;
  }
  std::string any_node_of(const ModelledFork& of) {
    auto at = of.now.nodes.begin();
    std::advance(at, below(of.now.nodes.size()));
    return at->first;
  }
  std::uint32_t number_of(const std::string& name) {
    std::uint32_t number = BERTH_NO_NODE;
    EXPECT_EQ(berth_cluster_find_node(world_.cluster.get(), name.c_str(), &number, nullptr), BERTH_OK) << name;
    return number;
  }
  void change_node(ModelledFork& of) {
    const NodeShape shape = any_node(dice_, static_cast<int>(dice_.upto(kNodes - 1)));
    const std::string text = node_json(shape);
    const bool is_there = of.now.nodes.contains(shape.name);
    if (is_there && dice_.one_in(2) && of.now.nodes.size() > 2) {
      ASSERT_EQ(berth_fork_remove_node(of.fork.get(), number_of(shape.name), nullptr), BERTH_OK);
      of.now.nodes.erase(shape.name);
      return;
    }
    ASSERT_EQ(is_there ? berth_fork_update_node(of.fork.get(), text.data(), text.size(), nullptr)
                       : berth_fork_add_node(of.fork.get(), text.data(), text.size(), nullptr, nullptr),
              BERTH_OK);
    of.now.nodes[shape.name] = shape;
  }
  void add_pod(ModelledFork& of) {
    const std::size_t p = below(pods_.size());
    const std::string node = any_node_of(of);
    ASSERT_EQ(berth_fork_add_pod(of.fork.get(), pods_[p].get(), number_of(node), nullptr), BERTH_OK);
    of.now.pods[shapes_[p].name] = {shapes_[p], node};
  }
  void remove_pod(ModelledFork& of) {
    if (of.now.pods.empty()) return;
    auto at = of.now.pods.begin();
    std::advance(at, below(of.now.pods.size()));
    ASSERT_EQ(berth_fork_remove_pod(of.fork.get(), ("uid-" + at->first).c_str(), nullptr), BERTH_OK);
    of.now.pods.erase(at);
  }
  void schedule(ModelledFork& of) {
    const std::size_t p = below(pods_.size());
    if (of.now.pods.contains(shapes_[p].name)) return;
    const berth_pod* const pod = pods_[p].get();
    berth_result* made = nullptr;
    ASSERT_EQ(berth_fork_schedule(of.fork.get(), &pod, 1, nullptr, &made, nullptr), BERTH_OK);
    const OwnedResult result(made);
    const std::uint32_t number = column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).front();
    if (number == BERTH_NO_NODE) return;
    of.now.pods[shapes_[p].name] = {shapes_[p], name_of(number)};
  }
  std::string name_of(std::uint32_t number) {
    berth_str name{};
    EXPECT_EQ(berth_cluster_node_name(world_.cluster.get(), number, &name, nullptr), BERTH_OK);
    return {name.data, name.size};
  }

  void check_mask(ModelledFork& of, std::size_t p) {
    OwnedNodeSet set;
    if (dice_.one_in(3)) {
      std::vector<std::uint32_t> some;
      for (std::uint32_t n = 0; n < kNodes - 2; ++n)
        if (!dice_.one_in(3)) some.push_back(n);
      set = node_set(world_, some);
    }
    std::uint32_t flags = 0;
    if (dice_.one_in(4)) flags |= BERTH_SKIP_CORDONED;
    if (dice_.one_in(4)) flags |= BERTH_AS_MOVED;
    const berth_pod* const pod = pods_[p].get();
    std::size_t length = 0;
    ASSERT_EQ(berth_fork_mask(of.fork.get(), pod, set.get(), flags, nullptr, 0, &length, nullptr), BERTH_OK);
    std::vector<std::uint8_t> fits(length + 1, 9);
    ASSERT_EQ(berth_fork_mask(of.fork.get(), pod, set.get(), flags, fits.data(), fits.size(), &length, nullptr),
              BERTH_OK);
    EXPECT_EQ(fits.back(), 9);
    fits.pop_back();
    berth_result* made = nullptr;
    ASSERT_EQ(berth_fork_check_bulk(of.fork.get(), &pod, 1, set.get(), flags | BERTH_NO_REASONS, &made, nullptr),
              BERTH_OK);
    const OwnedResult result(made);
    ASSERT_EQ(fits, column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS)) << "pod " << p << ", flags " << flags;
    ++masks;
    fitting += static_cast<std::size_t>(std::ranges::count(fits, 1));
  }

  void check_use(ModelledFork& of) {
    std::vector<const char*> names = {"cpu", "memory", "pods", "example.com/gpu", "example.com/none"};
    names.resize(1 + below(names.size()));
    std::size_t count = 0;
    std::vector<std::uint32_t> numbers(kNodes);
    ASSERT_EQ(berth_fork_nodes(of.fork.get(), numbers.data(), numbers.size(), &count, nullptr), BERTH_OK);
    ASSERT_EQ(count, of.now.nodes.size());
    std::size_t length = names.size() * count;
    std::vector<std::int64_t> requested(length), allocatable(length), alone(length);
    ASSERT_EQ(berth_fork_use(of.fork.get(), names.data(), names.size(), requested.data(), allocatable.data(), length,
                             &length, nullptr),
              BERTH_OK);
    ASSERT_EQ(
        berth_fork_use(of.fork.get(), names.data(), names.size(), nullptr, alone.data(), length, &length, nullptr),
        BERTH_OK);
    EXPECT_EQ(alone, allocatable);
    for (std::size_t r = 0; r < names.size(); ++r)
      for (std::size_t n = 0; n < count; ++n) {
        const std::string node = name_of(numbers[n]);
        ASSERT_EQ(requested[r * count + n], of.now.requested(node, names[r])) << node << " " << names[r];
        ASSERT_EQ(allocatable[r * count + n], of.now.allocatable(node, names[r])) << node << " " << names[r];
      }
  }

  Dice dice_;
  CountingWorld world_;
  Model cluster_;
  Model at_snapshot_;
  std::vector<PodShape> shapes_;
  std::vector<OwnedPod> pods_;
  OwnedSnapshot snapshot_;
  std::vector<ModelledFork> forks_;
};

void run(const char* backend, std::uint64_t sessions) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  std::size_t masks = 0, fitting = 0;
  for (std::uint64_t seed = first; seed < first + sessions; ++seed) {
    SCOPED_TRACE(std::string(backend) + ", seed " + std::to_string(seed));
    Session session(backend, seed);
    for (int i = 0; i < 120 && !testing::Test::HasFailure(); ++i) {
      session.step();
      session.check_some();
    }
    session.check_all();
    masks += session.masks;
    fitting += session.fitting;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(fitting, masks);  // most masks have something in them
}

TEST(ForkArrays, AreWhatBulkChecksAndSumsOfPodsSay) { run("cpu", setting("BERTH_CLUSTERS", 200)); }
TEST(ForkArrays, AreSoInTheReferenceToo) { run("reference", setting("BERTH_CLUSTERS", 200) / 4); }

}  // namespace
}  // namespace berth::test

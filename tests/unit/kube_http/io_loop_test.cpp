// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/io_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace berth {
namespace {

using namespace std::chrono_literals;
constexpr std::int64_t kLongUs = 20'000'000;  ///< a wait that nothing ends fails the test

/// Reads one end of a pair of sockets, and does work at a time.
class PairDriver : public IoLoop::Driver {
 public:
  explicit PairDriver(IoLoop& runs) : loop(runs) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    loop.add_driver(*this);
  }
  ~PairDriver() override {
    loop.remove_driver(*this);
    for (const int socket : sockets) close(socket);
  }
  void on_ready(int socket, bool can_read, bool can_write) override {
    EXPECT_EQ(socket, sockets[0]);
    if (can_write) ++writable;
    if (!can_read) return;
    char bytes[16];
    const ssize_t count = read(socket, bytes, sizeof bytes);
    if (count > 0) text.append(bytes, static_cast<std::size_t>(count));
    if (count == 0) ++ends;
  }
  void on_turn() override {
    ++turns;
    if (next <= IoLoop::Monotonic::now()) next = IoLoop::Monotonic::time_point::max();
  }
  IoLoop::Monotonic::time_point next_turn() const override { return next; }
  void send(const std::string& bytes) const {
    EXPECT_EQ(write(sockets[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  IoLoop& loop;
  std::array<int, 2> sockets{};
  std::string text;
  int writable = 0;
  int ends = 0;
  int turns = 0;
  IoLoop::Monotonic::time_point next = IoLoop::Monotonic::time_point::max();
};

TEST(IoLoop, AReadySocketEndsTheWait) {
  IoLoop loop;
  PairDriver driver(loop);
  loop.watch_socket(driver, driver.sockets[0], true, false);
  driver.send("one");
  loop.run_once(kLongUs);
  EXPECT_EQ(driver.text, "one");
  loop.watch_socket(driver, driver.sockets[0], true, true);
  loop.run_once(kLongUs);
  EXPECT_EQ(driver.writable, 1);
  loop.watch_socket(driver, driver.sockets[0], false, false);
  driver.send("two");
  loop.run_once(1'000);
  EXPECT_EQ(driver.text, "one");
  loop.watch_socket(driver, driver.sockets[0], true, false);
  shutdown(driver.sockets[1], SHUT_WR);
  loop.run_once(kLongUs);
  loop.run_once(kLongUs);
  EXPECT_EQ(driver.text, "onetwo");
  EXPECT_EQ(driver.ends, 1);
}

TEST(IoLoop, ASocketOfTheSameNumberIsWatchedAnew) {
  IoLoop loop;
  PairDriver driver(loop);
  loop.watch_socket(driver, driver.sockets[0], true, false);
  const int number = driver.sockets[0];
  for (const int socket : driver.sockets) close(socket);  // without a word to the loop
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, driver.sockets.data()), 0);
  ASSERT_EQ(driver.sockets[0], number);
  loop.watch_socket(driver, number, true, false);
  driver.send("x");
  loop.run_once(kLongUs);
  EXPECT_EQ(driver.text, "x");
}

TEST(IoLoop, ADriverThatIsGoneIsCalledNoMore) {
  IoLoop loop;
  PairDriver other(loop);
  {
    PairDriver driver(loop);
    loop.watch_socket(driver, driver.sockets[0], true, false);
    driver.send("x");
  }
  loop.run_once(1'000);
  EXPECT_EQ(other.turns, 2);
  EXPECT_EQ(other.text, "");
}

TEST(IoLoop, AWakeOfAnotherThreadEndsTheWaitOrTheNextOne) {
  IoLoop loop;
  loop.run_once(0);
  std::thread([&] { loop.wake(); }).join();
  loop.run_once(kLongUs);  // woken before
  std::thread waker([&] {
    std::this_thread::sleep_for(20ms);
    loop.wake();
  });
  loop.run_once(kLongUs);
  waker.join();
}

TEST(IoLoop, ItsOwnThreadWakesItToo) {
  IoLoop loop;
  loop.run_once(0);
  loop.wake();
  std::thread([&] { loop.wake(); }).join();  // after one that wrote nothing
  loop.run_once(kLongUs);
  int calls = 0;
  loop.after(0, [&] {
    ++calls;
    loop.after(0, [&] { ++calls; });
  });
  while (calls < 2) loop.run_once(kLongUs);
}

TEST(IoLoop, NoWakeOfManyThreadsIsLost) {
  IoLoop loop;
  constexpr int kThreads = 4, kEach = 5'000;
  std::atomic<int> asked = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) {
        ++asked;
        loop.wake();
      }
    });
  for (int seen = 0; seen < kThreads * kEach; seen = asked) loop.run_once(kLongUs);
  for (std::thread& thread : threads) thread.join();
}

TEST(IoLoop, WaitsForTimersAndForItsDrivers) {
  IoLoop loop;
  PairDriver driver(loop);
  std::vector<int> order;
  loop.after(20'000, [&] { order.push_back(2); });
  loop.after(5'000, [&] { order.push_back(1); });
  while (order.size() < 2) loop.run_once(kLongUs);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  driver.next = IoLoop::Monotonic::now() + 5ms;
  loop.run_once(kLongUs);
  EXPECT_EQ(driver.next, IoLoop::Monotonic::time_point::max());
}

}  // namespace
}  // namespace berth

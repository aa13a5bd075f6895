// SPDX-License-Identifier: Apache-2.0
#include "host/live/cache_dump.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/live/captured_log.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth {
namespace {

class CacheDumpTest : public testing::Test, public test::LoopFixture {
 protected:
  CacheDumpTest() {
    add_nodes("a cpu=2");
    add_pods("bound cpu=1");
    add_pods("waits cpu=4");
    open();
    settle();
  }
  std::string dump(const StoreContents& known) {
    CapturedLog captured;
    dump_cache(scheduler->loop(), known, captured.log);
    return captured.text();
  }
};

TEST_F(CacheDumpTest, ShowsNodesAndTheQueue) {
  const std::string text = dump(store.list_all());
  EXPECT_EQ(text.find("Cache mismatch"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("Dump of cached NodeInfo" node="a" requestedMilliCPU="1000")"), std::string::npos) << text;
  EXPECT_NE(text.find("name: bound, namespace: default"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(queue="unschedulablePods" size="1" pods="name: waits)"), std::string::npos) << text;
}

TEST_F(CacheDumpTest, NamesWhatDiffers) {
  add_nodes("b cpu=2");
  remove_pod("bound", 0);
  const std::string text = dump(store.list_all());
  EXPECT_NE(text.find(R"(of="nodes" missed="b" redundant="")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(of="pods" missed="" redundant=")"), std::string::npos) << text;
}

}  // namespace
}  // namespace berth

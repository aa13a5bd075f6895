// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/volume_controller.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "host/framework/clock.h"

namespace berth {
namespace {

class VolumeControllerTest : public testing::Test {
 protected:
  template <class T>
  void put(const T& object) {
    ASSERT_TRUE(store_.create(std::make_shared<const T>(object)).is_success());
  }
  static StorageClass at_once(const std::string& name, const std::string& provisioner) {
    return {name, provisioner, StorageClass::BindingMode::kImmediate, {}};
  }
  static PersistentVolume volume(const std::string& name, std::int64_t bytes, const std::string& class_name) {
    PersistentVolume volume;
    volume.name = name;
    volume.class_name = class_name;
    volume.capacity = Quantity{static_cast<__int128>(bytes) * kNanoPerUnit};
    return volume;
  }
  static VolumeClaim claim(const std::string& name, std::int64_t bytes, const std::string& class_name) {
    VolumeClaim claim;
    claim.name = name;
    claim.namespace_ = "default";
    claim.class_name = class_name;
    claim.request = Quantity{static_cast<__int128>(bytes) * kNanoPerUnit};
    return claim;
  }
  VolumeClaim now(const std::string& name) const { return *store_.get<VolumeClaim>({"default", name})->object; }

  VirtualClock clock_{1'000'000};
  ObjectStore store_{clock_};
};

TEST_F(VolumeControllerTest, BindsClaimsThatDoNotWaitToTheSmallestVolume) {
  put(at_once("s", "kubernetes.io/no-provisioner"));
  put(volume("large", 30, "s"));
  put(volume("small", 10, "s"));
  put(claim("a", 5, "s"));
  put(claim("b", 5, "s"));
  put(claim("c", 5, "s"));
  VolumeController controller(store_);
  controller.run();
  EXPECT_EQ(now("a").volume_name, "small");
  EXPECT_TRUE(now("a").is_bound());
  EXPECT_EQ(now("b").volume_name, "large");
  EXPECT_FALSE(now("c").is_bound());
  put(volume("late", 5, "s"));
  controller.run();
  EXPECT_EQ(now("c").volume_name, "late");
}

TEST_F(VolumeControllerTest, LeavesClaimsThatWaitToTheirPods) {
  put(StorageClass{"w", "csi.example.com", StorageClass::BindingMode::kWaitForFirstConsumer, {}});
  put(claim("waits", 1, "w"));
  put(claim("unknown", 1, "none-of-that-name"));
  VolumeController controller(store_);
  controller.run();
  EXPECT_FALSE(now("waits").is_bound());
  EXPECT_FALSE(now("unknown").is_bound());
  put(at_once("none-of-that-name", "csi.example.com"));
  controller.run();
  EXPECT_TRUE(now("unknown").is_bound());
  EXPECT_EQ(now("unknown").selected_node, std::nullopt);
}

TEST_F(VolumeControllerTest, AClaimMayNameItsVolumeAndAVolumeItsClaim) {
  put(volume("named", 1, ""));
  VolumeClaim names = claim("names", 5, "");
  names.volume_name = "named";
  put(names);
  PersistentVolume kept = volume("kept", 50, "");
  kept.claim_ref = ObjectName{"default", "own", ""};
  put(kept);
  put(volume("tight", 5, ""));
  put(claim("own", 5, ""));
  VolumeController controller(store_);
  controller.run();
  EXPECT_EQ(now("names").volume_name, "named");
  EXPECT_TRUE(now("names").is_bound());
  EXPECT_EQ(now("own").volume_name, "kept");
}

TEST_F(VolumeControllerTest, AFailingProvisionerIsTriedAgain) {
  put(at_once("s", "csi.example.com"));
  put(claim("c", 1, "s"));
  store_.set_provisioner_fails("csi.example.com", true);
  VolumeController controller(store_);
  controller.run();
  EXPECT_FALSE(now("c").is_bound());
  store_.set_provisioner_fails("csi.example.com", false);
  controller.run();
  EXPECT_FALSE(now("c").is_bound()) << "nobody has said so";
  controller.try_again();
  controller.run();
  EXPECT_TRUE(now("c").is_bound());
}

}  // namespace
}  // namespace berth

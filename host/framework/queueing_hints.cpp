// SPDX-License-Identifier: Apache-2.0
#include "host/framework/queueing_hints.h"

#include <array>
#include <utility>

namespace berth {
namespace {

constexpr EventRegistration all_of(EventResource resource) { return {{resource, EventAction::kAll}, false}; }

class DefaultQueueingHints : public QueueingHints {
 public:
  explicit DefaultQueueingHints(std::string plugin) : plugin_(std::move(plugin)) {}
  std::string_view plugin() const override { return plugin_; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {all_of(EventResource::kPod),
                                                  all_of(EventResource::kNode),
                                                  all_of(EventResource::kPersistentVolume),
                                                  all_of(EventResource::kPersistentVolumeClaim),
                                                  all_of(EventResource::kCsiNode),
                                                  all_of(EventResource::kCsiDriver),
                                                  all_of(EventResource::kCsiStorageCapacity),
                                                  all_of(EventResource::kStorageClass),
                                                  all_of(EventResource::kResourceClaim),
                                                  all_of(EventResource::kDeviceClass)};
    return kRegistrations;
  }

 private:
  std::string plugin_;
};

}  // namespace

std::unique_ptr<QueueingHints> default_queueing_hints(std::string plugin) {
  return std::make_unique<DefaultQueueingHints>(std::move(plugin));
}

}  // namespace berth

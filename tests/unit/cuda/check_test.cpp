// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/check.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "batching/device/device_errors.h"

namespace berth::cuda {
namespace {

const ErrorContext kContext{"device 0", "launch of commit_batch", 13000, 13000};

// The error for a code, or nothing when it has another type.
template <class Error>
std::optional<Error> error_of(cudaError_t code, const ErrorContext& context = kContext) {
  try {
    throw_device_error(code, context);
  } catch (const DeviceError& error) {
    const auto* wanted = dynamic_cast<const Error*>(&error);
    return wanted != nullptr ? std::optional<Error>(*wanted) : std::nullopt;
  }
}

std::string unavailable_text(cudaError_t code, const ErrorContext& context = kContext) {
  const auto error = error_of<DeviceUnavailable>(code, context);
  return error ? error->problem() : "not a DeviceUnavailable";
}

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Check, SuccessIsNoError) { EXPECT_NO_THROW(check(cudaSuccess, "anything")); }

TEST(Check, NoDeviceNamesWhereToLook) {
  const std::string text = unavailable_text(cudaErrorNoDevice);
  EXPECT_TRUE(text.starts_with("no CUDA device: ")) << text;
  expect_holds(text, "CUDA_VISIBLE_DEVICES");
  expect_holds(text, "(cudaErrorNoDevice)");
}

TEST(Check, AnOldDriverIsReportedWithBothVersions) {
  EXPECT_EQ(unavailable_text(cudaErrorInsufficientDriver, {"", "count of the devices", 12020, 13000}),
            "the NVIDIA driver is too old: has CUDA 12.2, this build needs 13.0 (cudaErrorInsufficientDriver)");
}

TEST(Check, AMissingDriverIsNotReportedAsOld) {
  EXPECT_EQ(unavailable_text(cudaErrorInsufficientDriver, {"", "count of the devices", 0, 13000}),
            "no CUDA device: no NVIDIA driver is installed (libcuda.so.1 was not found) (cudaErrorInsufficientDriver)");
}

TEST(Check, ABusyDeviceIsReportedAsBusy) {
  expect_holds(unavailable_text(cudaErrorDevicesUnavailable), "in use by another process (exclusive mode)");
}

TEST(Check, ADeviceWithoutOurCodeAndAStubDriverAreUnavailable) {
  expect_holds(unavailable_text(cudaErrorNoKernelImageForDevice), "no code for the device");
  expect_holds(unavailable_text(cudaErrorStubLibrary), "stub");
  expect_holds(unavailable_text(cudaErrorSystemNotReady), "nvidia-fabricmanager");
}

TEST(Check, OutOfMemoryNamesTheOperation) {
  const auto error = error_of<DeviceOutOfMemory>(cudaErrorMemoryAllocation);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(std::string(error->what()), "device 0: out of memory: launch of commit_batch (cudaErrorMemoryAllocation)");
  EXPECT_FALSE(error->free_bytes().has_value());
}

TEST(Check, AFailedKernelLosesTheDevice) {
  for (const cudaError_t code :
       {cudaErrorIllegalAddress, cudaErrorMisalignedAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
        cudaErrorAssert, cudaErrorECCUncorrectable, cudaErrorUnknown}) {
    const auto error = error_of<DeviceLost>(code);
    ASSERT_TRUE(error.has_value()) << cudaGetErrorName(code);
    EXPECT_EQ(error->device(), "device 0");
    EXPECT_TRUE(error->problem().starts_with("launch of commit_batch: ")) << error->problem();
  }
}

TEST(Check, AProgrammingErrorIsAPlainDeviceError) {
  for (const cudaError_t code : {cudaErrorInvalidValue, cudaErrorLaunchOutOfResources}) {
    EXPECT_FALSE(error_of<DeviceLost>(code).has_value());
    EXPECT_FALSE(error_of<DeviceUnavailable>(code).has_value());
    EXPECT_FALSE(error_of<DeviceOutOfMemory>(code).has_value());
    const auto error = error_of<DeviceError>(code);
    ASSERT_TRUE(error.has_value());
    expect_holds(error->what(), cudaGetErrorName(code));
  }
}

TEST(Check, AnUnknownCodeIsStillAnError) {
  EXPECT_TRUE(error_of<DeviceError>(static_cast<cudaError_t>(12345)).has_value());
}

TEST(DeviceErrors, OutOfMemoryHasItsSizes) {
  const DeviceOutOfMemory error("device 0", "rows", 164'000'000'000, 131'049'000'000, "batch.max_classes");
  EXPECT_EQ(std::string(error.what()),
            "device 0: out of memory: rows needs 164.0 GB, 131.0 GB free; lower batch.max_classes");
  EXPECT_EQ(error.needed_bytes(), 164'000'000'000U);
  EXPECT_EQ(error.free_bytes(), 131'049'000'000U);
  EXPECT_EQ(error.lower_this(), "batch.max_classes");
}

TEST(DeviceErrors, BytesAreReadable) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(9'999), "9.9 kB");
  EXPECT_EQ(bytes_text(999'999), "999.9 kB");
  EXPECT_EQ(bytes_text(1'000'000), "1.0 MB");
  EXPECT_EQ(bytes_text(1'500'000'000'000), "1.5 TB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "18446744.0 TB");
}

}  // namespace
}  // namespace berth::cuda

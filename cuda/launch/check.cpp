// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/check.h"

#include "batching/device/device_errors.h"

namespace berth::cuda {
namespace {

enum class ErrorKind { kUnavailable, kOutOfMemory, kLost, kOther };

// The state of the device after a code. Codes for programming errors (a bad argument, too many threads) are kOther: the
// device is still usable.
ErrorKind kind_of(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return ErrorKind::kOutOfMemory;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
      return ErrorKind::kUnavailable;
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:  // nothing is known of the device's state either
      return ErrorKind::kLost;
    default:
      return ErrorKind::kOther;
  }
}

// 13000 -> "13.0"
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_text(const ErrorContext& context) {
  // Without libcuda.so.1 the runtime gives the same code as with an old one, and 0 for its version.
  if (context.driver_version == 0) return "no CUDA device: no NVIDIA driver is installed (libcuda.so.1 was not found)";
  return "the NVIDIA driver is too old: has CUDA " + version_text(context.driver_version) + ", this build needs " +
         version_text(context.runtime_version);
}

// Texts for errors that an operator can fix; CUDA's own text for the others.
std::string unavailable_text(cudaError_t code, const ErrorContext& context) {
  switch (code) {
    case cudaErrorNoDevice:
      return "no CUDA device: the driver sees none (nvidia-smi lists them; CUDA_VISIBLE_DEVICES hides them)";
    case cudaErrorInvalidDevice:
      return "no CUDA device has this number";
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorUnsupportedPtxVersion:
      return driver_text(context);
    case cudaErrorNoKernelImageForDevice:
      return "this build has no code for the device: it needs compute capability 8.0, 9.0, 10.0 or later";
    case cudaErrorDevicesUnavailable:
      return "the device is in use by another process (exclusive mode), or its compute mode forbids use";
    case cudaErrorSystemNotReady:
      return "the device is not ready: on machines with NVSwitch, nvidia-fabricmanager must run";
    case cudaErrorSystemDriverMismatch:
      return "the NVIDIA driver and its libraries differ in version: a restart is due after an update";
    case cudaErrorStubLibrary:
      return "no CUDA device: the libcuda.so.1 that was found is a stub for linking, not a driver";
    default:
      return std::string("the device cannot be used: ") + cudaGetErrorString(code);
  }
}

ErrorContext context_here(const std::string& doing) {
  ErrorContext context;
  context.doing = doing;
  int ordinal = 0;
  if (cudaDriverGetVersion(&context.driver_version) != cudaSuccess) context.driver_version = 0;
  if (cudaRuntimeGetVersion(&context.runtime_version) != cudaSuccess) context.runtime_version = CUDART_VERSION;
  if (context.driver_version > 0 && cudaGetDevice(&ordinal) == cudaSuccess)
    context.device = "device " + std::to_string(ordinal);
  return context;
}

}  // namespace

void throw_device_error(cudaError_t code, const ErrorContext& context) {
  const std::string name = std::string(" (") + cudaGetErrorName(code) + ")";
  const std::string prefix = context.doing.empty() ? "" : context.doing + ": ";
  switch (kind_of(code)) {
    case ErrorKind::kUnavailable:
      throw DeviceUnavailable(context.device, unavailable_text(code, context) + name);
    case ErrorKind::kOutOfMemory:
      throw DeviceOutOfMemory(context.device, context.doing + name, 0, std::nullopt, "");
    case ErrorKind::kLost:
      throw DeviceLost(context.device, prefix + cudaGetErrorString(code) + name +
                                           "; what was on the device is gone, and this process cannot use it any more");
    case ErrorKind::kOther:
      break;
  }
  throw DeviceError(context.device, prefix + cudaGetErrorString(code) + name);
}

void throw_device_error(cudaError_t code, const std::string& doing) {
  const ErrorContext context = context_here(doing);
  static_cast<void>(cudaGetLastError());
  throw_device_error(code, context);
}

}  // namespace berth::cuda

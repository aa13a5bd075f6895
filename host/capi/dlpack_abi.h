/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The structs of DLPack 1.0 that an exporter fills, also for tests in C. Source:
 * https://dmlc.github.io/dlpack/latest/c_api.html; Debian 12 packages the header of version 0.6 only, which has no
 * DLManagedTensorVersioned. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;
typedef struct DLDevice {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;   /**< [ndim] */
  int64_t* strides; /**< [ndim] in elements */
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#ifdef __cplusplus
}  // extern "C"

namespace berth::capi {

inline constexpr DLPackVersion kDlpackVersion = {1, 0};
inline constexpr int32_t kDlpackCpu = 1;
inline constexpr uint8_t kDlpackInt = 0;
inline constexpr uint8_t kDlpackUint = 1;
inline constexpr uint64_t kDlpackReadOnly = 1;

}  // namespace berth::capi
#endif

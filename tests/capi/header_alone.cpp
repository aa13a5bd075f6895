// SPDX-License-Identifier: Apache-2.0
// berth.h compiles alone as C++98, with every warning an error.
#include "include/berth/berth.h"
// Twice: it has a guard.
#include "include/berth/berth.h"

static const berth_error kError = BERTH_ERROR_INIT;
static const berth_engine_options kEngineOptions = BERTH_ENGINE_OPTIONS_INIT;
static const berth_schedule_options kScheduleOptions = BERTH_SCHEDULE_OPTIONS_INIT;

size_t berth_header_sizes_as_cpp();
size_t berth_header_sizes_as_cpp() {
  return kError.struct_size + kEngineOptions.struct_size + kScheduleOptions.struct_size;
}

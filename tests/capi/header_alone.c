/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h, and berth.h within it, compile alone, twice in one source, as C99 with every warning an error. */
#include "include/berth/plugin.h"

/* What a program sets field by field would miss: the macros name every field. */
static const berth_error error = BERTH_ERROR_INIT;
static const berth_engine_options engine_options = BERTH_ENGINE_OPTIONS_INIT;
static const berth_pod_options pod_options = BERTH_POD_OPTIONS_INIT;
static const berth_schedule_options schedule_options = BERTH_SCHEDULE_OPTIONS_INIT;
static const berth_bulk bulk = BERTH_BULK_INIT;

size_t berth_header_sizes(void);
size_t berth_header_sizes(void) {
  return error.struct_size + engine_options.struct_size + pod_options.struct_size + schedule_options.struct_size +
         bulk.struct_size;
}

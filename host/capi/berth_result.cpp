// SPDX-License-Identifier: Apache-2.0
// Results of berth.h: convert, call, convert.

#include "host/capi/arrow_export.h"
#include "host/capi/dlpack_export.h"
#include "host/capi/handles.h"
#include "host/capi/result_columns.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

extern "C" {

void berth_result_free(berth_result** result) { free_handle(result); }

berth_status berth_result_column(const berth_result* result, uint32_t column, berth_column* view, berth_error* error) {
  return guarded(error, [&] { needed(view, "view") = callable(result, "result").result->view(column); });
}

const char* berth_column_name(uint32_t column) {
  const ResultColumn* const known = find_result_column(column);
  return known == nullptr ? "unknown column" : known->name;
}

berth_status berth_result_arrow(const berth_result* result, const uint32_t* columns, size_t count,
                                struct ArrowSchema* schema, struct ArrowArray* array, berth_error* error) {
  return guarded(error, [&] {
    const std::shared_ptr<const Result>& of = callable(result, "result").result;
    if (count > 0) needed(columns, "columns");
    export_to_arrow(of, {columns, count}, needed(schema, "schema"), needed(array, "array"));
  });
}

berth_status berth_result_dlpack(const berth_result* result, uint32_t column, struct DLManagedTensorVersioned** tensor,
                                 berth_error* error) {
  return guarded(error, [&] {
    const std::shared_ptr<const Result>& of = callable(result, "result").result;
    needed(tensor, "tensor");
    *tensor = export_to_dlpack(of, column);
  });
}

berth_status berth_result_text(const berth_result* result, uint32_t number, berth_str* text, berth_error* error) {
  return guarded(error, [&] { needed(text, "text") = str_of(callable(result, "result").result->text(number)); });
}

berth_status berth_result_json(const berth_result* result, berth_str* json, berth_error* error) {
  return guarded(error, [&] {
    const Result& of = *callable(result, "result").result;
    needed(json, "json");
    const std::string& record = of.record();
    if (record.empty()) throw ApiError(BERTH_E_NOT_FOUND, "result", "this kind of result has no record");
    *json = str_of(record);
  });
}

berth_status berth_result_bytes(const berth_result* result, berth_str* bytes, berth_error* error) {
  return guarded(error, [&] {
    const Result& of = *callable(result, "result").result;
    needed(bytes, "bytes");
    if (of.bytes.empty()) throw ApiError(BERTH_E_NOT_FOUND, "result", "this kind of result has no bytes");
    *bytes = str_of(of.bytes);
  });
}

berth_status berth_result_message(const berth_result* result, berth_str* message, berth_error* error) {
  return guarded(error, [&] { needed(message, "message") = str_of(callable(result, "result").result->message); });
}

berth_status berth_result_next_start(const berth_result* result, uint32_t* start, berth_error* error) {
  return guarded(error, [&] { needed(start, "start") = callable(result, "result").result->next_start; });
}

berth_status berth_result_origin(const berth_result* result, uint64_t* version, uint64_t* seed, const char** release,
                                 const char** backend, berth_error* error) {
  return guarded(error, [&] {
    const Result& of = *callable(result, "result").result;
    if (version != nullptr) *version = of.version();
    if (seed != nullptr) *seed = of.cluster().engine().engine.seed;
    if (release != nullptr) *release = of.cluster().release();
    if (backend != nullptr) *backend = of.cluster().backend_name();
  });
}

}  // extern "C"

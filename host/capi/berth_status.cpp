// SPDX-License-Identifier: Apache-2.0
// Statuses and versions of berth.h.

#include <array>

#include "include/berth/berth.h"

namespace {

struct StatusTexts {
  berth_status status;
  const char* name;
  const char* text;
};

constexpr std::array<StatusTexts, 19> kStatuses = {{
    {BERTH_OK, "BERTH_OK", "the call succeeded"},
    {BERTH_PARTIAL, "BERTH_PARTIAL", "some objects were refused, the others were taken"},
    {BERTH_DEADLINE, "BERTH_DEADLINE", "the deadline passed; what was done before it stands"},
    {BERTH_IGNORED, "BERTH_IGNORED", "no rule reads objects of this kind"},
    {BERTH_CANCELLED, "BERTH_CANCELLED", "the caller cancelled the call; what was done before it stands"},
    {BERTH_E_ARGUMENT, "BERTH_E_ARGUMENT", "an argument is missing or has no meaning"},
    {BERTH_E_STRUCT_SIZE, "BERTH_E_STRUCT_SIZE", "a struct has no size, or fields that the library does not know"},
    {BERTH_E_INPUT, "BERTH_E_INPUT", "an object or a configuration is invalid"},
    {BERTH_E_UNSUPPORTED, "BERTH_E_UNSUPPORTED", "this release has not built what is asked for"},
    {BERTH_E_NOT_FOUND, "BERTH_E_NOT_FOUND", "what is asked for is not there"},
    {BERTH_E_EXISTS, "BERTH_E_EXISTS", "it is there already"},
    {BERTH_E_STALE, "BERTH_E_STALE", "what the handle was opened on has changed since"},
    {BERTH_E_STATE, "BERTH_E_STATE", "the fork was committed"},
    {BERTH_E_BUSY, "BERTH_E_BUSY", "another thread is in a call on the fork"},
    {BERTH_E_REENTRY, "BERTH_E_REENTRY", "a callback called a handle of its engine"},
    {BERTH_E_FORKED, "BERTH_E_FORKED", "the handle was made in the parent process, before fork(2)"},
    {BERTH_E_MEMORY, "BERTH_E_MEMORY", "memory ran out"},
    {BERTH_E_DEVICE, "BERTH_E_DEVICE", "no device can be used, or it failed"},
    {BERTH_E_INTERNAL, "BERTH_E_INTERNAL", "a defect of the library"},
}};

const StatusTexts* texts_of(berth_status status) {
  for (const StatusTexts& texts : kStatuses)
    if (texts.status == status) return &texts;
  return nullptr;
}

}  // namespace

extern "C" {

uint32_t berth_abi_version(void) { return BERTH_ABI_VERSION; }

const char* berth_version_string(void) { return BERTH_VERSION; }

const char* berth_status_name(berth_status status) {
  const StatusTexts* const texts = texts_of(status);
  return texts != nullptr ? texts->name : "unknown status";
}

const char* berth_status_text(berth_status status) {
  const StatusTexts* const texts = texts_of(status);
  return texts != nullptr ? texts->text : "unknown status";
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
#include "host/capi/guard.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "batching/device/device_errors.h"
#include "host/objects/errors.h"

namespace berth::capi {
namespace {

/// Cuts at a border between characters.
template <std::size_t kBytes>
void copy_cut(std::string_view text, char (&out)[kBytes]) noexcept {
  std::size_t size = std::min(text.size(), kBytes - 1);
  if (size < text.size())
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  std::copy_n(text.data(), size, out);
  out[size] = '\0';
}

void report_input(const InputError& failure, berth_error* error) {
  const InputProblem& first = failure.problems().front();
  InputProblem rest = first;
  rest.object.clear();
  const std::size_t more = failure.problems().size() - 1;
  std::string text = rest.to_string();
  if (more > 0) text += "; and " + std::to_string(more) + " more problems";
  report(BERTH_E_INPUT, first.object.c_str(), text.c_str(), error);
}

}  // namespace

berth_status check_error_struct(const berth_error* error) noexcept {
  if (error == nullptr) return BERTH_OK;
  return error->struct_size >= sizeof(berth_error) && error->struct_size <= 65536 ? BERTH_OK : BERTH_E_STRUCT_SIZE;
}

void report(berth_status code, const char* object, const char* text, berth_error* error) noexcept {
  if (error == nullptr) return;
  error->code = code;
  copy_cut(object, error->object);
  copy_cut(text, error->text);
}

berth_status report_exception(berth_error* error) noexcept {
  try {
    throw;
  } catch (const ApiError& failure) {
    report(failure.code(), failure.object().c_str(), failure.what(), error);
    return failure.code();
  } catch (const InputError& failure) {
    try {
      report_input(failure, error);
    } catch (...) {
      report(BERTH_E_INPUT, "", failure.what(), error);
    }
    return BERTH_E_INPUT;
  } catch (const DeviceError& failure) {
    report(BERTH_E_DEVICE, "", failure.what(), error);
    return BERTH_E_DEVICE;
  } catch (const std::bad_alloc&) {
    report(BERTH_E_MEMORY, "", "memory ran out", error);
    return BERTH_E_MEMORY;
  } catch (const std::exception& failure) {
    report(BERTH_E_INTERNAL, "", failure.what(), error);
    return BERTH_E_INTERNAL;
  } catch (...) {
    report(BERTH_E_INTERNAL, "", "not a std::exception", error);
    return BERTH_E_INTERNAL;
  }
}

void check_callable(const Engine& engine) {
  if (!engine.process.is_here())
    throw ApiError(BERTH_E_FORKED, "", "the handle was made before fork(2), in the parent process");
  if (engine.log.is_calling()) throw ApiError(BERTH_E_REENTRY, "", "a callback of an engine must not call its handles");
  if (engine.plugins.empty()) return;
  if (engine.plugins.is_calling())
    throw ApiError(BERTH_E_REENTRY, "", "a plugin must not call the handles of the engine that calls it");
  CallScope::enter(engine.plugins);
}

}  // namespace berth::capi

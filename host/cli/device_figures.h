// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a device did, for machines and for people.

#include <string>

#include "batching/backend.h"
#include "host/report/document_formats.h"
#include "host/report/terminal.h"

namespace berth {

/// The field "device" of an object that is open: name, kernels, bytes. shareOfPeak stands where time, bytes and the
/// peak of the device's memory are known.
void write_device(const DeviceStats& device, DocumentWriter& writer);

/// A line about the device and a table of its kernels. Starts in the column where the caller stands.
std::string device_report(const DeviceStats& device, const Terminal& terminal);

}  // namespace berth

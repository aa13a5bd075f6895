// SPDX-License-Identifier: Apache-2.0
#include "host/record/unpacked_inputs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace berth {
namespace {

constexpr std::string_view kFilePrefix = "input-";

void write_input(RecordingReader& reader, const RecordedInput& input, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (std::int64_t batch = 0; batch < input.batch_count; ++batch) {
    const std::string bytes = reader.input_batch(input, batch);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  file.close();
  if (!file) throw RecordingError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace

PrivateFolder::PrivateFolder() {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "berth-XXXXXX").string();
  if (error) path_ = "/tmp/berth-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr)
    throw RecordingError(fmt::format("{}: no folder can be made there: {}", path_, std::strerror(errno)));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

UnpackedInputs::UnpackedInputs(RecordingReader& reader) {
  for (const RecordedInput& input : reader.inputs()) {
    std::string& place = place_of(reader, input);
    place = fmt::format("{}/{}{}:", folder_.path(), kFilePrefix, names_.size());
    names_.push_back(input.name);
    write_input(reader, input, place);
  }
}

std::string& UnpackedInputs::place_of(const RecordingReader& reader, const RecordedInput& input) {
  if (input.kind == kClusterInput) return clusters_.emplace_back();
  std::string* place = input.kind == kScenarioInput              ? &scenario_
                       : input.kind == kConfigurationInput       ? &configuration_
                       : input.kind == kEngineConfigurationInput ? &engine_configuration_
                                                                 : nullptr;
  if (place == nullptr) {
    throw InputError(InputProblem{
        reader.path(), fmt::format("inputs, row {}", input.first_batch),
        fmt::format("kind: got \"{}\", expected {}, {}, {} or {}: this berth cannot run it again", input.kind,
                    kScenarioInput, kClusterInput, kConfigurationInput, kEngineConfigurationInput)});
  }
  if (!place->empty()) {
    throw InputError(InputProblem{reader.path(), fmt::format("inputs, row {}", input.first_batch),
                                  fmt::format("is a second {}, expected one", input.kind)});
  }
  return *place;
}

std::string UnpackedInputs::with_recorded_names(std::string text) const {
  const std::string prefix = folder_.path() + "/" + std::string(kFilePrefix);
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    const std::size_t digits = at + prefix.size();
    const std::size_t end = text.find(':', digits);  // each of our names ends with one
    if (end == std::string::npos) break;
    const std::string& name = names_.at(std::stoul(text.substr(digits, end - digits)));
    text.replace(at, end + 1 - at, name);
    at += name.size();
  }
  return text;
}

InputError UnpackedInputs::with_recorded_names(const InputError& error) const {
  std::vector<InputProblem> problems = error.problems();
  for (InputProblem& problem : problems) {
    problem.source = with_recorded_names(std::move(problem.source));
    problem.location = with_recorded_names(std::move(problem.location));
    problem.message = with_recorded_names(std::move(problem.message));
  }
  return InputError(std::move(problems));
}

}  // namespace berth

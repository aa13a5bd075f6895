// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/record/recording_reader.h"

namespace berth {

// Kinds of inputs of a simulation.
inline constexpr std::string_view kScenarioInput = "scenario";
inline constexpr std::string_view kClusterInput = "cluster";
inline constexpr std::string_view kConfigurationInput = "configuration";
inline constexpr std::string_view kEngineConfigurationInput = "engine-configuration";

/// A folder of this process alone, which is removed with the object.
class PrivateFolder {
 public:
  PrivateFolder();  ///< below TMPDIR, or /tmp. @throws RecordingError
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The inputs of a recorded simulation as files again.
class UnpackedInputs {
 public:
  /// @throws InputError for a damaged recording, an input of a kind that is not known, and two inputs of one kind where
  ///         there can be one; RecordingError when there is no room for the files
  explicit UnpackedInputs(RecordingReader& reader);

  const std::string& scenario() const { return scenario_; }  ///< empty: none
  const std::vector<std::string>& clusters() const { return clusters_; }
  const std::string& configuration() const { return configuration_; }
  const std::string& engine_configuration() const { return engine_configuration_; }

  /// `text` with the names that the files had in place of those they have here.
  std::string with_recorded_names(std::string text) const;
  /// The same error with the recorded names.
  InputError with_recorded_names(const InputError& error) const;

 private:
  std::string& place_of(const RecordingReader& reader, const RecordedInput& input);

  PrivateFolder folder_;
  std::string scenario_;
  std::vector<std::string> clusters_;
  std::string configuration_;
  std::string engine_configuration_;
  std::vector<std::string> names_;  ///< by number, as in the names of the files
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// The Kubernetes release to follow when releases differ (--emulate-version).
enum class Release : std::uint8_t { k1_35, k1_36 };  // NOLINT(readability-identifier-naming): 135 would be another

/// @throws InputError naming the accepted values
Release parse_release(std::string_view text);
std::string_view to_string(Release release);

/// State of every scheduler feature gate: the release's defaults, changed by --feature-gates.
class FeatureGates {
 public:
  explicit FeatureGates(Release release = Release::k1_35);

  /// "Name=true,Other=false" like kube-scheduler's flag; AllAlpha and AllBeta are supported and never change a gate
  /// that is named itself, in this call or an earlier one. It has no effect when it throws.
  /// @param left_out  where given, gates that the scheduler does not have in any release (of other components) are
  ///                  appended by name and change nothing, instead of being problems
  /// @throws InputError with every problem: a gate that the release does not have, a value that is no boolean, a locked
  /// gate, a gate that is on while one it needs is off
  void apply(std::string_view flag_text, std::vector<std::string>* left_out = nullptr);

  /// @param name a gate of the table in feature_gates.cpp; std::out_of_range otherwise (a mistake of ours). A gate that
  /// the release does not have yet is off.
  bool enabled(std::string_view name) const;
  Release release() const { return release_; }

  struct Row {
    std::string name;
    bool enabled;
    bool default_enabled;
    std::string stage;    ///< "Alpha", "Beta", "GA"
    bool locked = false;  ///< cannot be changed
  };
  std::vector<Row> table() const;  ///< the gates that the release has, by name

 private:
  void set_unnamed(std::string_view stage, bool on);

  Release release_;
  std::map<std::string, bool, std::less<>> enabled_;
  std::set<std::string, std::less<>> named_;  ///< set by name, so out of reach of AllAlpha and AllBeta
};

}  // namespace berth

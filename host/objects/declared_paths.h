// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of Node and Pod objects that the model has no field for, and that a plugin from outside declared when it was
// loaded. Nothing else of an object is kept beyond the model.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// The value of a declared path in one object.
struct DeclaredValue {
  std::uint32_t path = 0;  ///< its number: DeclaredPaths
  bool is_status = false;  ///< it stands below `status`
  std::string value;       ///< of a string its text; of a number or a boolean its JSON
  friend bool operator==(const DeclaredValue&, const DeclaredValue&) = default;
};

/// Those that an object has, by ascending number.
using DeclaredValues = std::vector<DeclaredValue>;

/// null: the object does not have it
const std::string* find_declared(const DeclaredValues& values, std::uint32_t path) noexcept;

/// A path below an object, to a string, a number or a boolean: `spec.providerID`,
/// `metadata.annotations['example.com/pool']`. Every key is taken to be one of an object; lists have no path.
struct DeclaredPath {
  std::string text;               ///< as declared
  std::vector<std::string> keys;  ///< {"metadata", "annotations", "example.com/pool"}
};

/// @throws std::invalid_argument saying what is wrong with the text
DeclaredPath parse_declared_path(std::string_view text);

/// The paths that the plugins of one engine declare, each with a number that counts up from 0.
class DeclaredPaths {
 public:
  /// A path that is there already keeps its number.
  /// @throws std::invalid_argument for a malformed path, and for one that does not lead below metadata, spec or status
  std::uint32_t add_of_node(std::string_view text);
  /// The same. Also refused are spec.nodeName and what is below status, which change as pods are placed.
  std::uint32_t add_of_pod(std::string_view text);

  const std::vector<DeclaredPath>& of_nodes() const { return of_nodes_; }
  const std::vector<DeclaredPath>& of_pods() const { return of_pods_; }

 private:
  std::vector<DeclaredPath> of_nodes_;
  std::vector<DeclaredPath> of_pods_;
};

/// null: none are declared
using DeclaredPathsPtr = std::shared_ptr<const DeclaredPaths>;

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
// A program of another project that uses one of Berth's libraries.
#include <cstdio>

#include "host/objects/text/yaml_scalars.h"

int main() {
  const bool found = berth::resolve_yaml_scalar("", "yes", true).kind == berth::YamlScalar::Kind::kBool;
  std::puts(found ? "true" : "false");
  return found ? 0 : 1;
}

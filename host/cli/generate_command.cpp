// SPDX-License-Identifier: Apache-2.0
#include "host/cli/generate_command.h"

#include "host/cli/messages.h"
#include "host/generate/cluster_spec.h"
#include "host/generate/generate.h"
#include "host/generate/random_configuration.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

void write_configuration(const GenerateCommand& command, const ClusterSpec& spec) {
  if (command.config_path.empty() && command.feature_gates_path.empty()) return;
  if (!spec.random || !spec.random->configuration) {
    throw InputError(InputProblem{command.spec_path, "random.configuration",
                                  "expected true, since a configuration is to be written"});
  }
  const RandomConfiguration made = random_configuration(command.seed);
  if (!command.config_path.empty()) write_text(made.json, command.config_path);
  if (!command.feature_gates_path.empty()) write_text(made.feature_gates + '\n', command.feature_gates_path);
}

}  // namespace

ExitCode run(const GenerateCommand& command) {
  const ClusterSpec spec = load_cluster_spec(command.spec_path);
  const ClusterObjects objects = generate_cluster(spec, command.seed);
  if (!command.quiet) {
    for (const std::string& warning : objects.warnings) print_warning(warning);
  }
  write_configuration(command, spec);
  write_cluster(objects, command.output_path);
  return ExitCode::kDone;
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/cli/import_command.h"

#include "host/cli/messages.h"
#include "host/generate/generate.h"
#include "host/generate/import_openb.h"

namespace berth {

ExitCode run(const ImportOpenbCommand& command) {
  const OpenbOptions options{parse_gpu_mode(command.gpu_mode), command.qos_priority, command.pods_per_node};
  const ClusterObjects objects = import_openb(command.nodes_path, command.pods_path, options);
  if (!command.quiet) {
    for (const std::string& warning : objects.warnings) print_warning(warning);
  }
  write_cluster(objects, command.output_path);
  return ExitCode::kDone;
}

}  // namespace berth

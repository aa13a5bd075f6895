// SPDX-License-Identifier: Apache-2.0
#include "host/cli/option_groups.h"

#include <string>

#include "host/cli/add_options.h"

namespace berth {
namespace {

constexpr std::int32_t kThreadsMax = 1024;

}  // namespace

void add_input_flags(CLI::App& app, InputOptions& options) {
  app.add_flag("--skip-invalid", options.skip_invalid, "Leave invalid objects out, and list each, instead of stopping");
  app.add_flag("--no-expand", options.no_expand,
               "Place only the pods that are in the input; none are made for Deployments, Jobs and other workloads");
  app.add_flag("--strict", options.strict,
               "Refuse objects that an API server would refuse, instead of reading them as stored with a warning");
  app.add_flag("-q,--quiet", options.quiet, "No warnings on standard error");
}

CLI::Option* add_input(CLI::App& app, InputOptions& options, BehindFile behind) {
  const bool takes_more = behind == BehindFile::kFiles;
  const std::string description =
      "Objects to read: a file, a directory (all .json, .yaml and .yml in it, in byte order of their paths) or - for "
      "standard input; JSON or YAML, plain, gzip or zstd. JSON is read far faster than YAML. May be given several "
      "times" +
      std::string(takes_more ? ", and more files may follow one -f." : ", with one FILE each.");
  CLI::Option* files = add_values(app, "-f,--filename", takes_more ? "FILE..." : "FILE", description,
                                  [&options](const std::string& path) {
                                    options.paths.push_back(path);
                                    return check_text(path);
                                  });
  files->allow_extra_args(takes_more);
  add_input_flags(app, options);
  return files;
}

void add_release(CLI::App& app, ConfigOptions& options) {
  add_choice(app, "--emulate-version", options.release, kReleaseChoices,
             "Kubernetes release to follow where releases differ (default 1.35)");
  add_value(app, "--feature-gates", "NAME=BOOL,...",
            "Feature gates that differ from the release's defaults, as in kube-scheduler's flag; AllAlpha and AllBeta "
            "work; an empty text changes none",
            [&options](const std::string& text) {
              options.feature_gates = text;
              return std::string();
            });
  app.add_flag("--allow-unsupported", options.allow_unsupported,
               "Warn about settings that Berth does not support, and continue without them: plugins that are not built "
               "or not in-tree, extenders, feature gates of other components");
}

void add_config(CLI::App& app, ConfigOptions& options) {
  add_text(app, "--config", options.config_path, "FILE",
           "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1), - for standard input; kube-scheduler's "
           "defaults when not given");
  add_text(app, "--engine-config", options.engine_config_path, "FILE",
           "BerthEngineConfiguration: settings of the engine itself; options of the command line win over it");
  add_release(app, options);
}

void add_plugins(CLI::App& app, std::vector<std::string>& files) {
  add_values(app, "--plugin", "FILE",
             "A shared object with a plugin (docs/embedding.md, \"Plugins\") that a profile of --config enables by its "
             "name; may be given several times",
             [&files](const std::string& path) {
               files.push_back(path);
               return check_text(path);
             })
      ->allow_extra_args(false);
}

void add_threads(CLI::App& app, ConfigOptions& options) {
  add_number(app, "--threads", options.threads, "Threads to use, at most one per core; 0 is one per core (default 0)",
             0, kThreadsMax);
}

void add_engine(CLI::App& app, ConfigOptions& options) {
  add_number(app, "--seed", options.seed,
             "Seed of the draw among nodes of the highest total; the same seed gives the same placements "
             "(default 0)");
  add_choice(app, "--node-sampling", options.node_sampling, kNodeSamplingChoices,
             "Score every node, or stop and rotate as kube-scheduler does at parallelism 1 (default all)");
  add_choice(app, "--tie-break", options.tie_break, kTieBreakChoices,
             "Among nodes of the highest total: take the emptiest (the fullest where the profile packs) and draw among "
             "equally full ones by the seed, draw among all by the seed, take the first, or repeat the heap of "
             "kube-scheduler 1.35 (default load)");
  add_threads(app, options);
  add_number(app, "--device", options.device, "Number of the device for cuda, as berth version lists them (default 0)");
  add_choice(app, "--on-device-failure", options.on_device_failure, "stop|rerun-on-cpu",
             "When the device of cuda fails, or there is none: end the run, or repeat all of it on cpu, which gives "
             "the same answer (default stop)");
}

void add_batching(CLI::App& app, ConfigOptions& options) {
  add_choice(
      app, "--batching", options.batching, kBatchingChoices,
      "Place as many pods at once as the engine gains from; or one by one, with the node hints of kube-scheduler "
      "1.35's opportunistic batching, where its feature gate is on (default engine)");
}

void add_backend(CLI::App& app, ConfigOptions& options) {
  add_choice(app, "--backend", options.backend, "auto|reference|cpu|cuda",
             "Engine to use; auto chooses cpu or cuda and the report says why (default auto)");
}

void add_preemption_limits(CLI::App& app, PreemptionLimitOptions& options) {
  add_choice(app, "--preemption-nodes", options.nodes, kPreemptionNodesChoices,
             "Try every node for a preemptor, or as kube-scheduler from a node drawn by the seed on, until "
             "minCandidateNodesPercentage and minCandidateNodesAbsolute are reached (default all)");
  app.add_flag("--keep-budgets", options.keeps_budgets,
               "Never violate a PodDisruptionBudget; kube-scheduler violates one where nothing else helps");
  app.add_flag(
      "--replaceable-first", options.replaceable_first,
      "Of the 100 nodes that kube-scheduler would prefer for a preemptor, take the first whose victims all fit "
      "on other nodes; kube-scheduler does not ask where they go");
  add_number(app, "--evictions-per-minute", options.evictions_per_minute_max,
             "Evict no more pods than this in a minute of the run's own clock; 0 is no limit, as in kube-scheduler "
             "(default 0)",
             0, kEvictionsPerMinuteMax);
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "host/cli/parser_model.h"

#include <string>

namespace berth {
namespace {

OptionModel option_model(const CLI::Option& option) {
  OptionModel model;
  model.positional = option.get_positional();
  model.description = option.get_description();
  model.value = option.get_option_text();
  if (model.positional) {
    model.long_name = model.value.ends_with("...") ? model.value : option.get_name(true);
    return model;
  }
  if (!option.get_snames().empty()) model.short_name = "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) model.long_name = "--" + option.get_lnames().front();
  return model;
}

CommandModel command_model(const CLI::App& app, const std::string& above) {
  CommandModel model;
  model.name = app.get_name();
  model.path = above.empty() ? model.name : above + " " + model.name;
  model.description = app.get_description();
  model.details = app.get_footer();
  for (const CLI::Option* option : app.get_options()) model.options.push_back(option_model(*option));
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty()) model.commands.push_back(command_model(*child, model.path));
  }
  return model;
}

/// What is typed in front of the name of `app`: "berth config" for check.
std::string parent_path(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (parent == nullptr) return "";
  const std::string above = parent_path(*parent);
  return above.empty() ? parent->get_name() : above + " " + parent->get_name();
}

}  // namespace

CommandModel parser_model(const CLI::App& app) { return command_model(app, parent_path(app)); }

}  // namespace berth

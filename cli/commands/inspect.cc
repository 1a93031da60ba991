#include "tessera/jobs/inspect.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"

namespace tessera::cli {
namespace {

struct Arguments {
  std::string file;
  bool json = false;
  bool types = false;
  Limits limits;
};

ExitCode Run(const Arguments& arguments) {
  LoadOptions load;
  load.limits = arguments.limits;
  Result<Model> model = Model::Load(arguments.file, load);
  if (!model) return Report(model.error());
  if (arguments.types) {
    Result<std::string> text = TypesText(*model);
    if (!text) return Report(text.error());
    fmt::print("{}", *text);
    return kDone;
  }
  Inspection inspection = Inspect(*model, arguments.limits);
  if (arguments.json)
    fmt::print("{}\n", InspectionJson(inspection));
  else
    fmt::print("{}", InspectionText(inspection));
  return kDone;
}

}  // namespace

Command SetupInspect(CLI::App* app) {
  auto arguments = std::make_shared<Arguments>();
  app->add_option("FILE", arguments->file, "An ONNX file")->required();
  app->add_flag("--json", arguments->json, "Print JSON");
  app->add_flag("--types", arguments->types, "Print the struct types in the text notation instead");
  AddLimitOption(app, &arguments->limits);
  return [arguments] { return Run(*arguments); };
}

}  // namespace tessera::cli

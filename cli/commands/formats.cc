#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"
#include "tessera/jobs/format_report.h"

namespace tessera::cli {
namespace {

struct Arguments {
  std::string name;
  bool json = false;
  SourceOptions source;
  LayoutOptions layout;
};

ExitCode Run(const Arguments& arguments) {
  const SourceOptions& source = arguments.source;
  const Result<std::string> text = arguments.name.empty()
                                       ? arguments.json ? FormatTableJson(source) : FormatTable(source)
                                   : arguments.json ? FormatJson(arguments.name, source)
                                                    : FormatText(arguments.name, source, arguments.layout);
  if (!text) return Report(text.error());
  fmt::print("{}", *text);
  return kDone;
}

}  // namespace

Command SetupFormats(CLI::App* app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::Option* name =
      app->add_option("NAME", arguments->name, "Everything about this format, by any of its names (default: a table)");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->add_option("--shape", arguments->source.shape, "Logical shape of the tensor (default: the format's example)")
      ->type_name("4096x4096")
      ->needs(name);
  app->add_option("--set", arguments->source.assignments, "Data of a model that the format needs, such as codebooks")
      ->type_name("NAME=VALUE|NAME=@FILE.npy")
      ->allow_extra_args(false)
      ->needs(name);
  app->add_option("--bytes", arguments->layout.max_bytes, "How many bytes to draw (default 64)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->needs(name);
  AddFormatFileOption(app, &arguments->source.format_files);
  AddLimitOption(app, &arguments->source.limits);
  return [arguments] { return Run(*arguments); };
}

}  // namespace tessera::cli

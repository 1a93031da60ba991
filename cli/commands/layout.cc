#include "tessera/jobs/layout.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"
#include "tessera/jobs/type_source.h"

namespace tessera::cli {
namespace {

struct Arguments {
  std::string file;
  std::string type;
  TypeSourceOptions source;
  LayoutOptions layout;
  bool json = false;
};

ExitCode Run(const Arguments& arguments) {
  Result<TypeSource> source = LoadTypes(arguments.file, arguments.source);
  if (!source) return Report(source.error());
  std::vector<size_t> shown = source->roots;
  if (!arguments.type.empty()) {
    int32_t index = source->table.Find(arguments.type);
    if (index < 0) {
      std::string names;
      for (size_t i = 0; i < source->table.size(); ++i) {
        names += (names.empty() ? "" : ", ") + source->table.declaration(i).Name();
      }
      return Report({ErrorCode::kArgument, arguments.file, "declares no type " + Quoted(arguments.type), names});
    }
    shown = {static_cast<size_t>(index)};
  }
  for (size_t i = 0; i < shown.size(); ++i) {
    std::shared_ptr<const CheckedType> type = source->table.Get(static_cast<int64_t>(shown[i]));
    if (i > 0) fmt::print("\n");
    fmt::print("{}", arguments.json ? LayoutJson(*type) + "\n" : LayoutText(*type, arguments.layout));
  }
  return kDone;
}

}  // namespace

Command SetupLayout(CLI::App* app) {
  auto arguments = std::make_shared<Arguments>();
  app->add_option("FILE", arguments->file, "A text in the notation, or an ONNX file with struct types")->required();
  app->add_option("--type", arguments->type, "Only this declaration (default: those that no other refers to)")
      ->type_name("NAME");
  app->add_option("--shape", arguments->source.shape, "Logical shape; gives elements, rows and cols")
      ->type_name("4096x4096");
  app->add_option("--set", arguments->source.assignments, "Bind a template parameter")
      ->type_name("NAME=VALUE|NAME=@FILE.npy");
  app->add_option("--bytes", arguments->layout.max_bytes, "How many bytes to draw (default 64)");
  app->add_flag("--json", arguments->json, "Print JSON");
  AddLimitOption(app, &arguments->source.limits);
  return [arguments] { return Run(*arguments); };
}

}  // namespace tessera::cli

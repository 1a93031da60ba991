#include "tessera/jobs/raw.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"

// The verbs `decode` and `encode`, which mirror each other.
namespace tessera::cli {
namespace {

struct Arguments {
  std::string format;
  std::string input;
  std::string output;
  std::string weights;
  SourceOptions source;
};

ExitCode RunDecode(const Arguments& arguments) {
  const Result<void> done = DecodeFile(arguments.format, arguments.source, arguments.input, arguments.output);
  return done ? kDone : Report(done.error());
}

ExitCode RunEncode(const Arguments& arguments) {
  const Result<std::string> note =
      EncodeFile(arguments.format, arguments.source, arguments.weights, arguments.input, arguments.output);
  if (!note) return Report(note.error());
  if (!note->empty()) std::fputs(fmt::format("note: {}\n", *note).c_str(), stderr);
  return kDone;
}

std::shared_ptr<Arguments> AddArguments(CLI::App* app, const char* input, const char* output) {
  auto arguments = std::make_shared<Arguments>();
  app->add_option("FORMAT", arguments->format, "The name of a format (`tessera formats` lists them)")->required();
  app->add_option("IN", arguments->input, input)->required();
  app->add_option("OUT", arguments->output, output)->required();
  app->add_option("--shape", arguments->source.shape, "Logical shape of the tensor")
      ->type_name("4096x4096")
      ->required();
  app->add_option("--set", arguments->source.assignments, "Data of a model that the format needs, such as codebooks")
      ->type_name("NAME=VALUE|NAME=@FILE.npy")
      ->allow_extra_args(false);
  app->add_option("--outliers", arguments->source.outliers,
                  "How many outliers a sparse format keeps (default: its outlier_ratio of the values)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  AddFormatFileOption(app, &arguments->source.format_files);
  AddLimitOption(app, &arguments->source.limits);
  return arguments;
}

constexpr const char* kPayload = "The payload, bytes of the format";
constexpr const char* kValues = "The values: float32, little-endian, row by row";

}  // namespace

Command SetupDecode(CLI::App* app) {
  auto arguments = AddArguments(app, kPayload, kValues);
  return [arguments] { return RunDecode(*arguments); };
}

Command SetupEncode(CLI::App* app) {
  auto arguments = AddArguments(app, kValues, kPayload);
  app->add_option("--weights", arguments->weights,
                  "How much each column matters, the same for every row: as many float32 as a row has values")
      ->type_name("FILE");
  return [arguments] { return RunEncode(*arguments); };
}

}  // namespace tessera::cli

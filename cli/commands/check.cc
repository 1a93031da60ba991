#include "tessera/jobs/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"

namespace tessera::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> values;
  bool no_data_files = false;
  bool quiet = false;
  CheckOptions options;
};

std::string Count(uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

void Print(const std::string& file, const CheckReport& report, bool quiet) {
  const std::string name = Printable(file);
  for (const Error& problem : report.problems.list()) fmt::print("{}: {}\n", name, problem.Format());
  if (report.problems.omitted() > 0) fmt::print("{}: and {} more\n", name, report.problems.omitted());
  if (quiet) return;
  std::string verdict = report.problems.empty() ? Styled(1, Style::kGood, "ok")
                                                : Styled(1, Style::kError, Count(report.problems.count(), "problem"));
  fmt::print("{}: {} ({}, {}, {})\n", name, verdict, Count(report.tensors, "tensor"),
             Count(report.struct_values, "struct value"), Count(report.struct_types, "struct type"));
}

ExitCode Run(const Arguments& arguments) {
  CheckOptions options = arguments.options;
  options.data_files = !arguments.no_data_files;
  std::vector<ValueFile> values;
  for (const std::string& value : arguments.values) {
    size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Report({ErrorCode::kArgument, "--value " + value, "is not an assignment", "NAME=FILE"});
    }
    values.push_back({value.substr(0, equals), value.substr(equals + 1)});
  }
  ExitCode worst = kDone;
  for (const std::string& file : arguments.files) {
    Result<CheckReport> report = CheckFile(file, options, values);
    if (!report) {
      worst = std::max(worst, Report(report.error()));
      continue;
    }
    Print(file, *report, arguments.quiet);
    if (!report->problems.empty()) worst = std::max(worst, kNotInOrder);
  }
  return worst;
}

}  // namespace

Command SetupCheck(CLI::App* app) {
  auto arguments = std::make_shared<Arguments>();
  app->add_option("FILE", arguments->files, "ONNX files")->required();
  app->add_option("--value", arguments->values, "Also check a serialized value of a graph input or output")
      ->type_name("NAME=FILE");
  app->add_flag("--no-data-files", arguments->no_data_files, "Do not look at external data files");
  app->add_flag("-q,--quiet", arguments->quiet, "Print problems only");
  AddLimitOption(app, &arguments->options.limits);
  return [arguments] { return Run(*arguments); };
}

}  // namespace tessera::cli

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"
#include "tessera/jobs/type_report.h"
#include "tessera/types/operators.h"

// The verbs `type` and `layout`, which read the same files and differ in what they print.
namespace tessera::cli {
namespace {

struct Arguments {
  std::string file;
  TypeReportOptions report;
  TypeForm form = TypeForm::kStruct;
};

ExitCode Run(const Arguments& arguments) {
  Problems problems(arguments.report.source.limits.problems);
  std::string note;
  std::optional<std::string> text = TypeReport(arguments.file, arguments.form, arguments.report, &problems, &note);
  if (!note.empty()) std::fputs(fmt::format("note: {}\n", note).c_str(), stderr);
  if (!text) return Report(problems);
  fmt::print("{}", *text);
  return kDone;
}

struct FormRow {
  const char* flag;
  TypeForm form;
  const char* help;
};

constexpr FormRow kTypeForms[] = {
    {"--struct", TypeForm::kStruct, "Print the struct types in the text notation (what is printed by default)"},
    {"--profile", TypeForm::kProfile, "Print the profiles; with --shape resolved, so that nothing is left to infer"},
    {"--layout", TypeForm::kLayout, "Draw the byte map of one value, as the verb layout does"},
    {"--json", TypeForm::kJson, "Print profile, shape, struct types, sizes and leaves as JSON"},
};
constexpr FormRow kLayoutForms[] = {{"--json", TypeForm::kLayoutJson, "Print JSON"}};

template <size_t kCount>
Command Setup(CLI::App* app, TypeForm by_default, const FormRow (&forms)[kCount]) {
  auto arguments = std::make_shared<Arguments>();
  arguments->form = by_default;
  TypeReportOptions& report = arguments->report;
  app->add_option("FILE", arguments->file,
                  "The name of a format (./NAME is a file), profiles, struct types or a format as text, or an ONNX "
                  "file with struct types")
      ->required();
  app->add_option("--shape", report.source.shape,
                  "Logical shape of the tensor, which profiles need to become struct types; also gives elements, rows "
                  "and cols. A struct type that says its own keeps it")
      ->type_name("4096x4096");
  std::vector<CLI::Option*> flags;
  for (const FormRow& row : forms) {
    flags.push_back(
        app->add_flag_callback(row.flag, [arguments, form = row.form] { arguments->form = form; }, row.help));
    for (size_t i = 0; i + 1 < flags.size(); ++i) flags[i]->excludes(flags.back());
  }
  app->add_option("--set", report.source.assignments, "Bind a template parameter")
      ->type_name("NAME=VALUE|NAME=@FILE.npy")
      ->allow_extra_args(false);
  app->add_option("--type", report.type, "Only this declaration (default: those that no other refers to)")
      ->type_name("NAME");
  app->add_option("--name", report.translation.name,
                  "Name of the declaration that a profile becomes (default: made from the file's name)")
      ->type_name("NAME");
  app->add_option("--outliers", report.translation.outliers,
                  "How many outliers a sparse profile keeps (default: its outlier_ratio of the values)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--decoder", report.translation.decoder_opset,
                  "Give the types a decoder: a function of standard operators of this opset that computes the tensor")
      ->type_name("OPSET")
      ->check(CLI::Range(kMinOpset, kMaxOpset));
  app->add_option("--encoder", report.translation.encoder_opset,
                  "Give the types an encoder: the function that makes the bytes, where values have one right encoding")
      ->type_name("OPSET")
      ->check(CLI::Range(kMinOpset, kMaxOpset));
  CLI::Option* bytes = app->add_option("--bytes", report.layout.max_bytes, "How many bytes to draw (default 64)")
                           ->type_name("N")
                           ->check(CLI::NonNegativeNumber);
  if (by_default != TypeForm::kLayout) bytes->needs("--layout");
  AddFormatFileOption(app, &report.source.format_files);
  AddLimitOption(app, &report.source.limits);
  return [arguments] { return Run(*arguments); };
}

}  // namespace

Command SetupLayout(CLI::App* app) { return Setup(app, TypeForm::kLayout, kLayoutForms); }
Command SetupType(CLI::App* app) { return Setup(app, TypeForm::kStruct, kTypeForms); }

}  // namespace tessera::cli

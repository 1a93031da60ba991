// The command line `tessera`. A verb is a row of kCommands; what it does stands in commands/<verb>.cc.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <map>

#include "cli/command.h"
#include "cli/commands/commands.h"

namespace tessera::cli {
namespace {

constexpr CommandRow kCommands[] = {
    {"check", "Say everything that is wrong with ONNX files: types, struct values, tensors, data files",
     "tessera check model.onnx", SetupCheck},
    {"inspect", "List every tensor and struct value: type, shape, bytes, bits per weight, place; reads no weights",
     "tessera inspect model.onnx --json", SetupInspect},
    {"layout", "Draw the byte map of one value of a struct type", "tessera layout q4_0.txt --shape 32x4096",
     SetupLayout},
    {"formats", "List all formats, or show everything about one: profile, struct types, byte map, decoder",
     "tessera formats int4_b32\n"
     "  tessera formats my_format --format-file my_format.txt --json",
     SetupFormats},
    {"decode", "Turn the payload of a format into float32 values",
     "tessera decode int4_b32 --shape 4096x4096 w.bin w.f32", SetupDecode},
    {"encode", "Turn float32 values into the payload of a format",
     "tessera encode int4_b32 --shape 4096x4096 w.f32 w.bin\n"
     "  tessera encode iq2_xxs --shape 4096x4096 --weights importance.f32 w.f32 w.bin",
     SetupEncode},
    {"type", "Turn formats and quantization profiles into struct types, and back",
     "tessera type int4_b32 --shape 4096x4096\n"
     "  tessera type q4_0.profile.txt --shape 4096x4096\n"
     "  tessera type q4_0.profile.txt --shape 4096x4096 --layout --bytes 18\n"
     "  tessera type nf4.profile.txt --shape 4096x4096 --set codebook_data=@nf4.npy --json\n"
     "  tessera type model.onnx --type Q4_0 --profile",
     SetupType},
};

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 read, but not in order; 2 input that cannot be parsed, a refusal, or wrong arguments;\n"
    "3 output not written; 4 nothing to do.";

int Main(int argc, char** argv) {
  CLI::App app("Quantized tensors as structured views over their bytes, inside ONNX models.", "tessera");
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  app.require_subcommand(1);
  app.footer(kExitCodes);
  app.set_help_all_flag("--help-all", "Print the help of every verb");
  std::map<const CLI::App*, Command> commands;
  for (const CommandRow& row : AllCommands()) {
    CLI::App* verb = app.add_subcommand(row.name, row.summary);
    verb->footer(fmt::format("Example:\n  {}\n\n{}", row.example, kExitCodes));
    commands.emplace(verb, row.setup(verb));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Report({ErrorCode::kArgument, "", error.what(),
                   fmt::format("tessera {}--help",
                               app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ")});
  }
  return commands.at(app.get_subcommands()[0])();
}

}  // namespace

std::span<const CommandRow> AllCommands() { return kCommands; }

}  // namespace tessera::cli

int main(int argc, char** argv) {
  try {
    return tessera::cli::Main(argc, argv);
  } catch (const std::exception& error) {  // memory, or a fault of ours
    return tessera::cli::Report(
        {tessera::ErrorCode::kUnsupported, "", error.what(), "this is a fault; please report it"});
  }
}

// One line a verb: its setup function stands in <verb>.cc, or beside that of a verb like it.
#pragma once

#include "cli/command.h"

namespace tessera::cli {

Command SetupCheck(CLI::App* app);
Command SetupDecode(CLI::App* app);
Command SetupEncode(CLI::App* app);
Command SetupFormats(CLI::App* app);
Command SetupInspect(CLI::App* app);
Command SetupLayout(CLI::App* app);
Command SetupType(CLI::App* app);

}  // namespace tessera::cli

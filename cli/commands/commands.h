// One line a verb: its setup function stands in <verb>.cc.
#pragma once

#include "cli/command.h"

namespace tessera::cli {

Command SetupCheck(CLI::App* app);
Command SetupInspect(CLI::App* app);
Command SetupLayout(CLI::App* app);
Command SetupType(CLI::App* app);

}  // namespace tessera::cli

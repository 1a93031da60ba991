// What a verb of the command line is: a row that adds itself to the parser and runs. A command translates arguments to
// a job and its result to text; it decides nothing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/limits.h"

namespace tessera::cli {

// The exit codes of every verb.
enum ExitCode : int {
  kDone = 0,
  kNotInOrder = 1,  // the file was read, but something in it is not in order
  kRefused = 2,     // input that cannot be parsed, a refusal, or wrong arguments
  kNotWritten = 3,  // output was not written
  kNothingToDo = 4,
};

// The one place where an error becomes an exit code.
ExitCode ExitCodeOf(const Error& error);

// Prints an error on one line to stderr and returns its exit code.
ExitCode Report(const Error& error);
// The same for all of them, a line each; the worst code.
ExitCode Report(const Problems& problems);

// Sets up the arguments of a verb; returns what runs it.
using Command = std::function<ExitCode()>;
struct CommandRow {
  const char* name;
  const char* summary;
  const char* example;
  Command (*setup)(CLI::App* app);
};

// All verbs, in the order of the help text.
std::span<const CommandRow> AllCommands();

// Adds --format-file FILE, which may be given several times.
void AddFormatFileOption(CLI::App* app, std::vector<std::string>* files);

// Adds --limit NAME=VALUE.
void AddLimitOption(CLI::App* app, Limits* limits);

// Text in colour if the stream (1 or 2) is a terminal and NO_COLOR is not set.
enum class Style { kError, kGood, kStrong };
std::string Styled(int stream, Style style, const std::string& text);

}  // namespace tessera::cli

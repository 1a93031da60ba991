#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tessera::cli {
namespace {

struct LimitRow {
  const char* name;
  void (*set)(Limits* limits, uint64_t value);
};

constexpr LimitRow kLimits[] = {
    {"depth", [](Limits* l, uint64_t v) { l->depth = static_cast<uint32_t>(v); }},
    {"fields", [](Limits* l, uint64_t v) { l->fields = v; }},
    {"leaves", [](Limits* l, uint64_t v) { l->leaves = v; }},
    {"total-leaves", [](Limits* l, uint64_t v) { l->total_leaves = v; }},
    {"constant-bytes", [](Limits* l, uint64_t v) { l->constant_bytes = v; }},
    {"payload-bytes", [](Limits* l, uint64_t v) { l->payload_bytes = v; }},
    {"profile-bytes", [](Limits* l, uint64_t v) { l->profile_bytes = v; }},
    {"name-bytes", [](Limits* l, uint64_t v) { l->name_bytes = static_cast<uint32_t>(v); }},
    {"message-depth", [](Limits* l, uint64_t v) { l->message_depth = static_cast<uint32_t>(v); }},
    {"problems", [](Limits* l, uint64_t v) { l->problems = v; }},
};

}  // namespace

ExitCode ExitCodeOf(const Error& error) { return Info(error.code).kind == ErrorKind::kOutput ? kNotWritten : kRefused; }

ExitCode Report(const Error& error) {
  std::fputs(fmt::format("{} {}\n", Styled(2, Style::kError, "error:"), error.Format()).c_str(), stderr);
  return ExitCodeOf(error);
}

ExitCode Report(const Problems& problems) {
  ExitCode worst = problems.empty() ? kDone : kRefused;
  for (const Error& error : problems.list()) worst = std::max(worst, Report(error));
  if (problems.omitted() > 0) std::fputs(fmt::format("and {} more\n", problems.omitted()).c_str(), stderr);
  return worst;
}

void AddFormatFileOption(CLI::App* app, std::vector<std::string>* files) {
  app->add_option("--format-file", *files, "A format of your own; its names come before those of the catalogue")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void AddLimitOption(CLI::App* app, Limits* limits) {
  std::string names;
  for (const LimitRow& row : kLimits) names += (names.empty() ? "" : ", ") + std::string(row.name);
  app->add_option_function<std::vector<std::string>>(
         "--limit",
         [limits](const std::vector<std::string>& assignments) {
           for (const std::string& assignment : assignments) {
             size_t equals = assignment.find('=');
             std::string name = assignment.substr(0, equals);
             uint64_t value = 0;
             bool ok = equals != std::string::npos && CLI::detail::lexical_cast(assignment.substr(equals + 1), value);
             const LimitRow* found = nullptr;
             for (const LimitRow& row : kLimits) {
               if (name == row.name) found = &row;
             }
             if (!ok || found == nullptr || value > (uint64_t{1} << 62) ||
                 ((name == "depth" || name == "message-depth" || name == "name-bytes") && value > 100'000)) {
               throw CLI::ValidationError(
                   "--limit", "'" + assignment + "' is not NAME=VALUE with a known name and a sensible value");
             }
             found->set(limits, value);
           }
         },
         "Raise or lower a limit of the checker: " + names)
      ->type_name("NAME=VALUE");
}

std::string Styled(int stream, Style style, const std::string& text) {
  static const bool no_color = std::getenv("NO_COLOR") != nullptr;
  if (no_color || ::isatty(stream) == 0) return text;
  const char* code = style == Style::kError ? "31" : style == Style::kGood ? "32" : "1";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

}  // namespace tessera::cli

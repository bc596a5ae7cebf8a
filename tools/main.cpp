// softneuro: import, run, measure and look at nets from the command line.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "command.h"
#include "output.h"

// What escapes is memory that runs out while a message is printed.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  using namespace softneuro::tool;
  CLI::App app("SoftNeuro: neural networks, tuned to the machine they run on");
  app.set_version_flag("--version", std::string("softneuro ") + softneuro::version());
  app.require_subcommand(1);
  const Command commands[] = {add_import(app),  add_tune(app),    add_run(app),
                              add_bench(app),   add_profile(app), add_compare(app),
                              add_inspect(app), add_explain(app), add_doctor(app),
                              add_cache(app),   add_merge(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    if (!app.get_subcommands().empty()) {
      app.exit(error);
      return kWrongUsage;
    }
    std::string names;
    for (const Command& command : commands)
      names += (names.empty() ? "" : ", ") + command.app->get_name();
    const std::vector<std::string> words = app.remaining();
    return wrong_usage(
        words.empty() ? fmt::format("give a command: {}", names)
                      : fmt::format("'{}' is not a command; the commands are {}", words[0], names));
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? kDone : kWrongUsage;
  }
  try {
    for (const Command& command : commands)
      if (command.app->parsed()) return command.run();
  } catch (const std::exception& error) {
    complain("softneuro: {}\n", error.what());
    return kFailed;
  }
  return kWrongUsage;
}

// softneuro: import, run, measure and look at nets from the command line.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "command.h"
#include "output.h"

namespace softneuro::tool {
namespace {

// The words of the command line, the last one first. An option whose value may be left out would
// take whatever comes next for it.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == "--packed" &&
        (i + 1 == words.size() || (words[i + 1] != "also" && words[i + 1] != "only")))
      words[i] = "--packed=also";
  std::ranges::reverse(words);
  return words;
}

int run(int argc, char** argv) {
  CLI::App app("SoftNeuro: neural networks, tuned to the machine they run on");
  app.name(argc > 0 ? argv[0] : "softneuro");
  app.set_version_flag("--version", std::string("softneuro ") + softneuro::version());
  app.require_subcommand(1);
  const Command commands[] = {add_import(app),  add_tune(app),    add_run(app),
                              add_bench(app),   add_profile(app), add_compare(app),
                              add_inspect(app), add_explain(app), add_doctor(app),
                              add_cache(app),   add_merge(app)};
  try {
    app.parse(words_of(argc, argv));
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
    print_error("softneuro: {}\n", error.what());
    return kFailed;
  }
  return kWrongUsage;
}

}  // namespace
}  // namespace softneuro::tool

// What escapes is memory that runs out while a message is printed.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  softneuro::tool::prepare_output();
  return softneuro::tool::end_of_output(softneuro::tool::run(argc, argv));
}

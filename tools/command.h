// What the subcommands of `softneuro` share: options, exit status, opening nets.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

// Exit status of the tool (part of its contract).
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;      // the work failed; one line on standard error says why
inline constexpr int kWrongUsage = 2;  // the command line is wrong

// Options that every command takes, and those that most do.
struct NetArguments {
  std::string path;                    // .dnn or a model file, imported on the fly
  std::vector<std::string> shapes;     // NAME=1x3x224x224
  std::vector<std::string> inputs;     // NAME=FILE.npy
  std::vector<std::string> constants;  // NAME=NUMBER or NAME=FILE.npy
  std::vector<std::string> disabled_passes;
  bool verify = false;     // an import is verified, unless:
  bool no_verify = false;  // --no-verify
  std::vector<std::string> schemas;
  std::vector<std::string> plugins;
  std::string device;  // NetOptions::device
  int threads = 0;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
};

// Each adds its subcommand to `app`; the returned function does the work when it was chosen.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};
Command add_import(CLI::App& app);
Command add_run(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_profile(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_tune(CLI::App& app);
Command add_doctor(CLI::App& app);
Command add_cache(CLI::App& app);
Command add_merge(CLI::App& app);

void add_net_option(CLI::App& command, NetArguments& arguments);
void add_message_options(CLI::App& command, NetArguments& arguments);  // --json, -v, -q
void add_shape_option(CLI::App& command, NetArguments& arguments);
void add_import_options(CLI::App& command, NetArguments& arguments);  // --constant, --disable-pass
void add_verify_option(CLI::App& command, NetArguments& arguments);   // verifies; --no-verify
void add_input_option(CLI::App& command, NetArguments& arguments);
// threads, schemas, device, plugins
void add_routine_options(CLI::App& command, NetArguments& arguments);
void add_device_option(CLI::App& command, NetArguments& arguments, const std::string& help);
void add_plugin_option(CLI::App& command, NetArguments& arguments);
void add_cache_option(CLI::App& command, std::string& folder);

// By content; false where the file cannot be read.
bool is_dnn_file(const std::string& path);
// A .dnn or model file, by content.
// A model is imported with these shapes, and verified on these samples (ImportOptions::samples),
// too.
Result<Net> open_net(const NetArguments& arguments, NamedShapes shapes = {},
                     std::function<Result<std::vector<NamedTensors>>(const Net&)> samples = {});

// NAME=VALUE.
Result<std::pair<std::string, std::string>> split_assignment(const std::string& text);
// "1x3x224x224"; "scalar" for rank 0.
Result<Shape> parse_shape(const std::string& text);
// --shape of the command line.
Result<NamedShapes> given_shapes(const NetArguments& arguments);
// --shape where it may give several sets: a name that comes again begins another one, which keeps
// what it does not name. At least one set, which may be empty.
Result<std::vector<NamedShapes>> given_shape_sets(const NetArguments& arguments);
Result<NamedTensors> read_inputs(const NetArguments& arguments);
// --constant of the command line.
Result<NamedTensors> given_constants(const NetArguments& arguments);
// What is wrong with them as the inputs of `net`, as a message; empty if nothing is.
std::string wrong_inputs(const Net& net, const NamedTensors& inputs);
// Adds the sizes that need not be given (open_sizes.h): says on standard error what is taken for an
// open batch. Returns what is missing, as a message; empty if nothing is.
std::string settle_shapes(const Net& net, const NetArguments& arguments, NamedShapes& shapes);

// "1 layer", "2 layers".
template <class Count>
std::string counted(Count count, const char* thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

// `given`, or where it is empty the usual folder; an error where there is none.
Result<std::string> cache_folder(const std::string& given);

// One line on standard error; returns the exit status.
int fail(const Status& status);
int wrong_usage(const std::string& message);

}  // namespace softneuro::tool

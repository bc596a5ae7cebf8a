// softneuro run: one run, outputs as files or as a summary.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "json_text.h"
#include "npy.h"
#include "output.h"
#include "table.h"
#include "tensor_summary.h"

namespace softneuro::tool {
namespace {

struct RunArguments : NetArguments {
  std::string output_dir;
  std::vector<std::string> outputs;
};

// Every character outside A-Za-z0-9._- becomes '_'.
std::string file_name(const std::string& tensor) {
  std::string name = tensor;
  for (char& c : name) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return name + ".npy";
}

void print_summary(const NamedTensors& outputs) {
  Table table({"output", "type", "shape", ">min", ">max", ">mean", "largest (index: value)"});
  for (const auto& [name, tensor] : outputs) {
    const TensorSummary s = summarize(tensor);
    std::string top;
    for (const auto& [index, value] : s.top)
      top += fmt::format("{}{}: {:.5g}", top.empty() ? "" : ", ", index, value);
    if (s.not_finite > 0) top += fmt::format(" ({} not finite)", s.not_finite);
    table.add({name, to_string(tensor.data_type()), tensor.shape().str(),
               fmt::format("{:.5g}", s.minimum), fmt::format("{:.5g}", s.maximum),
               fmt::format("{:.5g}", s.mean), top});
  }
  say_lines(table.str());
}

nlohmann::json to_json(const std::string& name, const Tensor& tensor, const std::string& file) {
  const TensorSummary s = summarize(tensor);
  nlohmann::json top = nlohmann::json::array();
  for (const auto& [index, value] : s.top) top.push_back({{"index", index}, {"value", value}});
  nlohmann::json row = {{"name", name},
                        {"type", to_string(tensor.data_type())},
                        {"shape", tensor.shape().dims()},
                        {"min", s.minimum},
                        {"max", s.maximum},
                        {"mean", s.mean},
                        {"not_finite", s.not_finite},
                        {"top", top}};
  if (!file.empty()) row["file"] = file;
  return row;
}

int run_net(const RunArguments& arguments) {
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  auto inputs = read_inputs(arguments);
  if (!inputs.ok()) return fail(inputs.status());
  for (const TensorInfo& info : net->inputs())
    if (inputs->count(info.name) == 0)
      return wrong_usage(fmt::format("input '{}' ({} {}) is missing: --input '{}=FILE.npy'",
                                     info.name, to_string(info.type), info.shape.str(), info.name));
  auto outputs = net->run(*inputs, arguments.outputs);
  if (!outputs.ok()) return fail(outputs.status());

  std::map<std::string, std::string> files;
  if (!arguments.output_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(arguments.output_dir, error);
    for (const auto& [name, tensor] : *outputs) {
      const std::string path =
          (std::filesystem::path(arguments.output_dir) / file_name(name)).string();
      for (const auto& [other, taken] : files)
        if (taken == path)
          return fail(Status(
              StatusCode::io_error,
              fmt::format("outputs '{}' and '{}' would both be written to {}", other, name, path)));
      if (Status status = write_npy(path, tensor); !status.ok()) return fail(status);
      files[name] = path;
    }
  }
  if (arguments.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& [name, tensor] : *outputs) rows.push_back(to_json(name, tensor, files[name]));
    say_lines(json_text(nlohmann::json{{"outputs", rows}}));
  } else if (!arguments.output_dir.empty()) {
    for (const auto& [name, path] : files) say("{}: {}\n", name, path);
  } else {
    print_summary(*outputs);
  }
  return kDone;
}

}  // namespace

Command add_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "run a net once");
  add_net_option(*command, *arguments);
  add_input_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  command->add_option("--output-dir", arguments->output_dir,
                      "write each output there as NAME.npy; without it a summary is printed");
  command->add_option("--output", arguments->outputs,
                      "a tensor to give, inner ones too (repeatable; default: the net's outputs)");
  return {command, [arguments] { return run_net(*arguments); }};
}

}  // namespace softneuro::tool

// softneuro run: one run, or several of one session; outputs as files or as a summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "json_text.h"
#include "output.h"
#include "output_files.h"
#include "samples.h"
#include "table.h"
#include "tensor_summary.h"

namespace softneuro::tool {
namespace {

struct RunArguments : NetArguments {
  std::string output_dir;
  std::vector<std::string> outputs;
  std::vector<std::string> steps;  // folders
};

void print_summary(const NamedTensors& outputs) {
  Table table({"output", "type", "shape", ">min", ">max", ">mean", "largest (index: value)"});
  const auto number = [](double value) {
    return std::isnan(value) ? "" : fmt::format("{:.5g}", value);
  };
  for (const auto& [name, tensor] : outputs) {
    const TensorSummary s = summarize(tensor);
    std::string top;
    for (const auto& [index, value] : s.top)
      top += fmt::format("{}{}: {:.5g}", top.empty() ? "" : ", ", index, value);
    if (s.not_finite > 0) top += fmt::format(" ({} not finite)", s.not_finite);
    table.add({name, to_string(tensor.data_type()), tensor.shape().str(), number(s.minimum),
               number(s.maximum), number(s.mean), top});
  }
  print_lines(table.str());
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

// Writes and prints what one run gave. `folder` empty: nothing is written. A row of JSON for each
// output goes to `rows`, if the results are wanted as JSON.
Status report(const NamedTensors& outputs, const std::filesystem::path& folder,
              nlohmann::json* rows) {
  std::map<std::string, std::string> files;
  if (!folder.empty()) {
    auto written = write_outputs(outputs, folder);
    if (!written.ok()) return written.status();
    files = *std::move(written);
  }
  if (rows != nullptr) {
    for (const auto& [name, tensor] : outputs) rows->push_back(to_json(name, tensor, files[name]));
  } else if (!folder.empty()) {
    for (const auto& [name, path] : files) print_out("{}: {}\n", name, path);
  } else {
    print_summary(outputs);
  }
  return Status();
}

int run_once(const RunArguments& arguments, const Net& net) {
  auto inputs = read_inputs(arguments);
  if (!inputs.ok()) return fail(inputs.status());
  if (const std::string wrong = wrong_inputs(net, *inputs); !wrong.empty())
    return wrong_usage(wrong);
  auto outputs = net.run(*inputs, arguments.outputs);
  if (!outputs.ok()) return fail(outputs.status());
  nlohmann::json rows = nlohmann::json::array();
  if (Status status = report(*outputs, arguments.output_dir, arguments.json ? &rows : nullptr);
      !status.ok())
    return fail(status);
  if (arguments.json) print_lines(json_text(nlohmann::json{{"outputs", rows}}));
  return kDone;
}

// One run of `session`, which is made for the first one's shapes and planned anew for others.
Result<NamedTensors> run_step(const Net& net, const NamedTensors& inputs,
                              const std::vector<std::string>& wanted,
                              std::optional<Session>& session) {
  NamedShapes shapes;
  for (const auto& [name, tensor] : inputs) shapes[name] = tensor.shape();
  auto plan = net.plan(shapes, wanted);
  if (!plan.ok()) return plan.status();
  if (!session) {
    auto made = Session::create(*plan);
    if (!made.ok()) return made.status();
    session = *std::move(made);
  } else if (Status status = session->set_plan(*plan); !status.ok()) {
    return status;
  }
  for (const auto& [name, tensor] : inputs)
    if (Status status = session->set_input(name, tensor); !status.ok()) return status;
  if (Status status = session->run(); !status.ok()) return status;
  NamedTensors outputs;
  for (const TensorInfo& info : (*plan)->outputs()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), info.name) == wanted.end())
      continue;
    auto output = session->output(info.name);
    if (!output.ok()) return output.status();
    outputs[info.name] = *std::move(output);
  }
  return outputs;
}

// Successive runs of one session; a folder of inputs each.
int run_steps(const RunArguments& arguments, const Net& net) {
  if (!arguments.inputs.empty())
    return wrong_usage("--steps brings all inputs: --input cannot be given with it");
  std::optional<Session> session;
  nlohmann::json steps = nlohmann::json::array();
  for (std::size_t k = 0; k < arguments.steps.size(); ++k) {
    auto inputs = read_sample(arguments.steps[k], net);
    if (!inputs.ok()) return fail(inputs.status());
    auto outputs = run_step(net, *inputs, arguments.outputs, session);
    if (!outputs.ok()) return fail(outputs.status());
    if (!arguments.json) print_out("step {}: {}\n", k, arguments.steps[k]);
    nlohmann::json rows = nlohmann::json::array();
    const std::filesystem::path folder =
        arguments.output_dir.empty()
            ? std::filesystem::path()
            : std::filesystem::path(arguments.output_dir) / std::to_string(k);
    if (Status status = report(*outputs, folder, arguments.json ? &rows : nullptr); !status.ok())
      return fail(status);
    steps.push_back({{"folder", arguments.steps[k]}, {"outputs", std::move(rows)}});
  }
  if (arguments.json) print_lines(json_text(nlohmann::json{{"steps", steps}}));
  return kDone;
}

int run_net(const RunArguments& arguments) {
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  return arguments.steps.empty() ? run_once(arguments, *net) : run_steps(arguments, *net);
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
  command->add_option(
      "--output", arguments->outputs,
      "a tensor to output, also an intermediate one (repeatable; default: the net's outputs)");
  command->add_option(
      "--steps", arguments->steps,
      "folders of inputs (input_J.npy or NAME.npy), one for each run: successive runs of one "
      "session, outputs in OUTPUT_DIR/K");
  return {command, [arguments] { return run_net(*arguments); }};
}

}  // namespace softneuro::tool

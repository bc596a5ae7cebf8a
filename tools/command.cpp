#include "command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <set>

#include "core/dnn/file.h"
#include "net_log.h"
#include "npy.h"
#include "open_sizes.h"
#include "output.h"
#include "profiler/cache/profile_cache.h"

namespace softneuro::tool {
namespace {

std::function<std::string(const std::string&)> is_assignment_to(const char* value) {
  return [value](const std::string& text) {
    return split_assignment(text).ok() ? std::string()
                                       : fmt::format("'{}' is not NAME={}", text, value);
  };
}

}  // namespace

void add_net_option(CLI::App& command, NetArguments& arguments) {
  command.add_option("NET", arguments.path, "a .dnn file, or a model file (imported on the fly)")
      ->required();
  add_import_options(command, arguments);
  add_message_options(command, arguments);
}

void add_import_options(CLI::App& command, NetArguments& arguments) {
  command
      .add_option("--constant", arguments.constants,
                  "NAME=NUMBER or NAME=FILE.npy: an input of a model that always has this value "
                  "(repeatable)")
      ->check(is_assignment_to("NUMBER or FILE.npy"));
  command.add_option("--disable-pass", arguments.disabled_passes,
                     "leave out a graph pass when a model is imported (repeatable; 'all')");
}

void add_verify_option(CLI::App& command, NetArguments& arguments) {
  arguments.verify = true;
  command.add_flag("--no-verify", arguments.no_verify,
                   "import without comparing the graph after the passes with the model");
}

void add_message_options(CLI::App& command, NetArguments& arguments) {
  command.add_flag("--json", arguments.json, "results as JSON on standard output");
  CLI::Option* verbose = command.add_flag("-v,--verbose", arguments.verbose,
                                          "log on standard error what is being done");
  command
      .add_flag("-q,--quiet", arguments.quiet, "neither warnings nor progress on standard error")
      ->excludes(verbose);
}

void add_shape_option(CLI::App& command, NetArguments& arguments) {
  command.add_option("--shape", arguments.shapes,
                     "NAME=1x3x224x224: size of an input with dynamic dimensions (repeatable)");
}

void add_input_option(CLI::App& command, NetArguments& arguments) {
  command.add_option("--input", arguments.inputs, "NAME=FILE.npy: an input tensor (repeatable)")
      ->check(is_assignment_to("FILE.npy"));
}

void add_routine_options(CLI::App& command, NetArguments& arguments) {
  command
      .add_option("--threads", arguments.threads,
                  "maximum number of threads (0: one per physical core that the process may use)")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--schemas", arguments.schemas,
                  "schemas of layers without a tuned choice: cpu:float32,…")
      ->delimiter(',');
  add_device_option(command, arguments,
                    "where layers without a tuned choice run as far as it has routines: cpu, cuda, "
                    "cuda=1 (the second)");
  add_plugin_option(command, arguments);
}

void add_device_option(CLI::App& command, NetArguments& arguments, const std::string& help) {
  const auto complaint = [](const std::string& text) {
    const std::size_t equals = text.find('=');
    const bool is_numbered = equals != std::string::npos;
    const std::string number = is_numbered ? text.substr(equals + 1) : "0";
    const bool is_device = DeviceId::parse(text.substr(0, equals)).has_value() && !number.empty() &&
                           number.find_first_not_of("0123456789") == std::string::npos &&
                           number.size() < 4;
    return is_device ? "" : text + ": it is cpu, or a device's name, as cuda or cuda=1";
  };
  command.add_option("--device", arguments.device, help)->check(complaint, "");
}

void add_plugin_option(CLI::App& command, NetArguments& arguments) {
  command.add_option(
      "--plugin", arguments.plugins,
      "a shared library with routines (repeatable); none: do not load the library plugins");
}

bool is_dnn_file(const std::string& path) {
  char head[64] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  const auto bytes = static_cast<std::size_t>(file.gcount());
  return bytes > 0 && looks_like_dnn(head, bytes);
}

Result<Net> open_net(const NetArguments& arguments, NamedShapes shapes,
                     std::function<Result<std::vector<NamedTensors>>(const Net&)> samples) {
  const NetOptions options = {.threads = arguments.threads,
                              .log = net_log(arguments.verbose, arguments.quiet),
                              .plugins = arguments.plugins,
                              .schemas = arguments.schemas,
                              .device = arguments.device};
  if (is_dnn_file(arguments.path)) {
    if (!arguments.quiet)
      for (const auto& [name, values] : {std::pair("--constant", &arguments.constants),
                                         std::pair("--disable-pass", &arguments.disabled_passes)})
        if (!values->empty())
          print_error("softneuro: {} has no effect on a .dnn file: it is for imports\n", name);
    return Net::load(arguments.path, options);
  }
  auto constants = given_constants(arguments);
  if (!constants.ok()) return constants.status();
  // What cannot be read is left to the importer, whose message says why.
  return Net::import(arguments.path, options,
                     {.shapes = std::move(shapes),
                      .constants = *std::move(constants),
                      .disabled_passes = arguments.disabled_passes,
                      .verify = arguments.verify && !arguments.no_verify,
                      .samples = std::move(samples)});
}

Result<std::pair<std::string, std::string>> split_assignment(const std::string& text) {
  // Tensor names may contain '=', files and shapes hardly do: the last one divides.
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Status(StatusCode::invalid_argument,
                  fmt::format("'{}' is not of the form NAME=VALUE", text));
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<Shape> parse_shape(const std::string& text) {
  if (text == "scalar") return Shape();
  Shape shape;
  const char* place = text.data();
  const char* const end = place + text.size();
  for (;;) {
    std::int64_t dim = -1;
    const auto [next, error] = std::from_chars(place, end, dim);
    if (error != std::errc() || dim < 0 || shape.rank() == kMaxRank ||
        (next != end && *next != 'x'))
      return Status(StatusCode::invalid_argument,
                    fmt::format("'{}' is not a shape: expected sizes like 1x3x224x224, at most {}, "
                                "or scalar",
                                text, kMaxRank));
    shape.push_back(dim);
    if (next == end) return shape;
    place = next + 1;
  }
}

Result<std::vector<NamedShapes>> given_shape_sets(const NetArguments& arguments) {
  std::vector<NamedShapes> sets(1);
  std::set<std::string> named;  // in the last set
  for (const std::string& text : arguments.shapes) {
    auto assignment = split_assignment(text);
    if (!assignment.ok()) return assignment.status();
    auto shape = parse_shape(assignment->second);
    if (!shape.ok()) return shape.status();
    if (!named.insert(assignment->first).second) {
      sets.push_back(sets.back());
      named = {assignment->first};
    }
    sets.back()[assignment->first] = *shape;
  }
  return sets;
}

Result<NamedShapes> given_shapes(const NetArguments& arguments) {
  auto sets = given_shape_sets(arguments);
  if (!sets.ok()) return sets.status();
  if (sets->size() > 1)
    return Status(StatusCode::invalid_argument,
                  "--shape gives several shapes of one input: only tune takes them");
  return std::move(sets->front());
}

Result<NamedTensors> read_inputs(const NetArguments& arguments) {
  NamedTensors tensors;
  for (const std::string& text : arguments.inputs) {
    auto assignment = split_assignment(text);
    if (!assignment.ok()) return assignment.status();
    auto tensor = read_npy(assignment->second);
    if (!tensor.ok()) return tensor.status();
    tensors[assignment->first] = *std::move(tensor);
  }
  return tensors;
}

Result<NamedTensors> given_constants(const NetArguments& arguments) {
  NamedTensors tensors;
  for (const std::string& text : arguments.constants) {
    auto assignment = split_assignment(text);
    if (!assignment.ok()) return assignment.status();
    const auto& [name, value] = *assignment;
    const char* const end = value.data() + value.size();
    std::int64_t integer = 0;
    double real = 0;
    Result<Tensor> tensor = Tensor();
    if (const auto read = std::from_chars(value.data(), end, integer);
        read.ec == std::errc() && read.ptr == end)
      tensor = Tensor::from({integer}, Shape());
    else if (const auto number = std::from_chars(value.data(), end, real);
             number.ec == std::errc() && number.ptr == end)
      tensor = Tensor::from({real}, Shape());
    else
      tensor = read_npy(value);
    if (!tensor.ok()) return tensor.status();
    tensors[name] = *std::move(tensor);
  }
  return tensors;
}

std::string wrong_inputs(const Net& net, const NamedTensors& inputs) {
  std::vector<std::string> names;
  for (const TensorInfo& info : net.inputs()) names.push_back('\'' + info.name + '\'');
  for (const auto& input : inputs)
    if (std::ranges::find(net.inputs(), input.first, &TensorInfo::name) == net.inputs().end())
      return fmt::format("the net has no input '{}'; its inputs are {}", input.first,
                         fmt::join(names, ", "));
  for (const TensorInfo& info : net.inputs())
    if (inputs.count(info.name) == 0)
      return fmt::format("input '{}' ({} {}) is missing: --input '{}=FILE.npy'", info.name,
                         to_string(info.type), info.shape.str(), info.name);
  return "";
}

std::string settle_shapes(const Net& net, const NetArguments& arguments, NamedShapes& shapes) {
  if (const std::vector<TunedPathInfo> paths = net.tuned_paths(); !paths.empty()) {
    complete_shapes_from(paths.front().shapes, net.inputs(), shapes);
    return "";
  }
  const OpenSizes open = complete_shapes(net.inputs(), shapes);
  if (!open.batch.empty() && !arguments.quiet) print_error("softneuro: {}\n", open.batch);
  return open.missing;
}

void add_cache_option(CLI::App& command, std::string& folder) {
  command
      .add_option("--cache", folder,
                  "folder of the profile cache (default: $XDG_CACHE_HOME/softneuro, else "
                  "~/.cache/softneuro)")
      ->check([](const std::string& value) -> std::string {
        if (value != "none") return {};
        return "none is not taken for a folder: tune has --no-cache, and a folder of that name is "
               "./none";
      });
}

Result<std::string> cache_folder(const std::string& given) {
  std::string folder = given.empty() ? ProfileCache::default_folder() : given;
  if (folder.empty())
    return Status(StatusCode::not_found,
                  "there is no profile cache: neither XDG_CACHE_HOME nor HOME is an absolute path; "
                  "name a folder with --cache");
  return folder;
}

int fail(const Status& status) {
  print_error("softneuro: {}\n", status.message());
  return kFailed;
}

int wrong_usage(const std::string& message) {
  print_error("softneuro: {}\n", message);
  return kWrongUsage;
}

}  // namespace softneuro::tool

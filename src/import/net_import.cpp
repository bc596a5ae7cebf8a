// Net::import: model file → Graph → Net.
#include <optional>

#include "core/base/error.h"
#include "core/dnn/file.h"
#include "import/build/contained_file.h"
#include "import/model_import.h"
#include "import/onnx/onnx_import.h"
#include "net/net_access.h"
#include "passes/pass.h"
#include "routines/builtin.h"
#include "verify/pass_verification.h"

namespace softneuro {
namespace {

// The format is told by what is in the file, never by its name.
Result<const build::Format*> format_of(std::span<const std::byte> bytes,
                                       std::span<const build::Format> formats) {
  if (looks_like_dnn(bytes.data(), bytes.size()))
    return invalid_argument(
        "this is a .dnn file, which needs no import: load it (Net::load, sn_net_load)");
  std::string names;
  for (const build::Format& format : formats) {
    if (format.looks_like(bytes)) return &format;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  }
  return invalid_model(
      "this is neither a .dnn file nor a model in a format that can be imported ({}): export it to "
      "one of these first",
      names);
}

build::ModelSource source_of(std::span<const std::byte> bytes, const std::string& folder,
                             const ImportOptions& options, Allocator* allocator) {
  return {bytes, folder, options, allocator != nullptr ? *allocator : default_allocator()};
}

// In the order of the net's inputs.
Result<std::vector<Tensor>> sorted_sample(const Net& net, const NamedTensors& sample) {
  std::vector<Tensor> tensors;
  NamedShapes shapes;
  for (const TensorInfo& input : net.inputs()) {
    const auto found = sample.find(input.name);
    if (found == sample.end()) return invalid_argument("there is no input '{}'", input.name);
    const Tensor& tensor = found->second;
    if (tensor.data_type() != input.type)
      return invalid_argument("input '{}' is {}, the net takes {}", input.name,
                              to_string(tensor.data_type()), to_string(input.type));
    shapes.emplace(input.name, tensor.shape());
    tensors.push_back(tensor);
  }
  SN_RETURN_IF_ERROR(NetAccess::resolve_shapes(net, shapes).status());
  return tensors;
}

Result<std::vector<std::vector<Tensor>>> samples_for(const Net& net, const ImportOptions& options) {
  std::vector<std::vector<Tensor>> sorted;
  if (!options.samples) return sorted;
  SN_ASSIGN_OR_RETURN(const std::vector<NamedTensors> samples, options.samples(net));
  for (const NamedTensors& sample : samples) {
    Result<std::vector<Tensor>> tensors = sorted_sample(net, sample);
    if (!tensors.ok())
      return Status(tensors.status())
          .with_context(
              fmt::format("sample {} (counted from 0) to verify the import on", sorted.size()));
    sorted.push_back(*std::move(tensors));
  }
  return sorted;
}

// The net against the model as it was before the passes.
Status verify(const Net& net, const Graph& model, const PassOptions& passes,
              const ImportOptions& options) {
  const std::shared_ptr<Runtime>& runtime = NetAccess::runtime(net);
  PassVerificationJob job{runtime, &model, &NetAccess::graph(net), passes};
  SN_ASSIGN_OR_RETURN(job.samples, samples_for(net, options));
  SN_ASSIGN_OR_RETURN(const PassVerification verified, verify_passes(job));
  runtime->log(LogLevel::info,
               verified.left_out.empty()
                   ? fmt::format("the passes were verified on {} sets of inputs", verified.sets)
                   : fmt::format("the passes were not verified: {}", verified.left_out));
  return {};
}

Result<Net> import_as(const build::Format& format, const build::ModelSource& source,
                      const NetOptions& options) {
  build::ModelBuilder builder(source);
  SN_RETURN_IF_ERROR(format.import(builder));
  SN_ASSIGN_OR_RETURN(Graph graph, builder.take_graph());
  const ImportOptions& import_options = source.options;
  PassOptions pass_options;
  pass_options.disabled = import_options.disabled_passes;
  pass_options.allocator = options.allocator;
  pass_options.cancel = import_options.cancel;
  std::optional<Graph> model;  // before the passes
  if (import_options.verify) model = graph;
  std::vector<PassReport> reports;
  SN_ASSIGN_OR_RETURN(const Registry registry, make_builtin_registry());
  SN_RETURN_IF_ERROR(run_passes(graph, registry, pass_options, &reports));
  for (const PassReport& report : reports)
    if (options.log)
      options.log(LogLevel::debug, fmt::format("pass {}: {} changes, {} to {} layers, {} µs",
                                               report.name, report.changes, report.layers_before,
                                               report.layers_after, report.microseconds));
  SN_ASSIGN_OR_RETURN(Net net, NetAccess::from_graph(std::move(graph), options));
  if (model) SN_RETURN_IF_ERROR(verify(net, *model, pass_options, import_options));
  return net;
}

}  // namespace

std::span<const build::Format> known_formats() {
  static const build::Format formats[] = {onnx::format()};
  return formats;
}

Result<Net> import_net(std::span<const std::byte> bytes, const std::string& folder,
                       const NetOptions& options, const ImportOptions& import_options,
                       std::span<const build::Format> formats) noexcept {
  return guarded([&]() -> Result<Net> {
    SN_ASSIGN_OR_RETURN(const build::Format* const format, format_of(bytes, formats));
    return import_as(*format, source_of(bytes, folder, import_options, options.allocator), options);
  });
}

Result<build::ImportReport> check_model(const std::string& path, const ImportOptions& options,
                                        std::span<const build::Format> formats) noexcept {
  return with_file(
      path, nullptr, [&](auto bytes, const std::string& folder) -> Result<build::ImportReport> {
        SN_ASSIGN_OR_RETURN(const build::Format* const format, format_of(bytes, formats));
        const build::ModelSource source = source_of(bytes, folder, options, nullptr);
        build::ModelBuilder builder(source);
        SN_RETURN_IF_ERROR(format->import(builder));
        return std::move(builder.report());
      });
}

Result<Net> Net::import(const std::string& path, const NetOptions& options,
                        const ImportOptions& import_options) noexcept {
  return with_file(path, options.allocator, [&](auto bytes, const std::string& folder) {
    return import_net(bytes, folder, options, import_options);
  });
}

Result<Net> Net::import_memory(const void* data, std::size_t bytes, const NetOptions& options,
                               const ImportOptions& import_options) noexcept {
  if (data == nullptr && bytes > 0) return invalid_argument("the model to import: data is null");
  return import_net({static_cast<const std::byte*>(data), bytes}, import_options.folder, options,
                    import_options);
}

}  // namespace softneuro

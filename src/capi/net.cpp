// sn_net, sn_tuned_paths and sn_result.
#include <new>

#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"

namespace softneuro::capi {
namespace {

// Name → tensor; inputs without a name have that of their place.
Result<NamedTensors> named_inputs(const Net& net, const sn_tensor* inputs, std::size_t count) {
  if (inputs == nullptr && count > 0) return invalid_argument("inputs are null");
  const auto infos = net.inputs();
  NamedTensors named;
  for (std::size_t i = 0; i < count; ++i) {
    SN_ASSIGN_OR_RETURN(sn_tensor view, read(element(inputs, i), "sn_tensor"));
    if (view.name == nullptr && i >= infos.size())
      return invalid_argument("{} inputs are given, the net takes {}", count, infos.size());
    if (view.name == nullptr) view.name = infos[i].name.c_str();
    SN_ASSIGN_OR_RETURN(Tensor tensor, tensor_from(view, false));
    if (!named.emplace(view.name, std::move(tensor)).second)
      return invalid_argument("input '{}' is given twice", view.name);
  }
  return named;
}

// What only an import can do.
Result<NetOptions> load_options(const sn_net_options* given, std::shared_ptr<Host>& host) {
  SN_ASSIGN_OR_RETURN(const sn_net_options known, read(given, "sn_net_options"));
  if (known.shape_count > 0 || known.disabled_pass_count > 0 || known.constant_count > 0)
    return invalid_argument(
        "sn_net_options: shapes, disabled_passes and constants are for imports");
  return net_options(given, host);
}

}  // namespace

Status make_net(std::shared_ptr<Host> host, Result<Net> net, sn_net** handle) {
  if (!net.ok()) return net.status();
  *handle = new sn_net{std::move(host), *std::move(net)};
  return {};
}

Result<NamedShapes> named_shapes(const sn_shape* shapes, std::size_t count) {
  if (shapes == nullptr && count > 0) return invalid_argument("shapes are null");
  NamedShapes named;
  for (std::size_t i = 0; i < count; ++i) {
    SN_ASSIGN_OR_RETURN(const sn_shape given, read(element(shapes, i), "sn_shape"));
    if (given.name == nullptr) return invalid_argument("shape {} names no input", i);
    SN_ASSIGN_OR_RETURN(const Shape shape, shape_from(given.rank, given.dims, given.name));
    if (!named.emplace(given.name, shape).second)
      return invalid_argument("two shapes are given for input '{}'", given.name);
  }
  return named;
}

}  // namespace softneuro::capi

using namespace softneuro;
using namespace softneuro::capi;

sn_status sn_net_load(const char* path, const sn_net_options* options, sn_net** net) {
  return call_for(net, "net", [&]() -> Status {
    if (path == nullptr) return invalid_argument("the path is null");
    std::shared_ptr<Host> host;
    SN_ASSIGN_OR_RETURN(const NetOptions cpp, load_options(options, host));
    return make_net(std::move(host), Net::load(path, cpp), net);
  });
}

sn_status sn_net_load_memory(const void* data, size_t bytes, const sn_net_options* options,
                             sn_net** net) {
  return call_for(net, "net", [&]() -> Status {
    std::shared_ptr<Host> host;
    SN_ASSIGN_OR_RETURN(const NetOptions cpp, load_options(options, host));
    return make_net(std::move(host), Net::load_memory(data, bytes, cpp), net);
  });
}

sn_status sn_net_save(const sn_net* net, const char* path) {
  return sn_net_save_with(net, path, nullptr);
}

sn_status sn_net_save_with(const sn_net* net, const char* path, const sn_save_options* options) {
  return call_on(net, "the net", [&]() -> Status {
    if (path == nullptr) return invalid_argument("the path is null");
    SN_ASSIGN_OR_RETURN(const sn_save_options known, read(options, "sn_save_options"));
    return net->net.save(
        path, {.packed_weights = known.packed_weights != 0, .packed_only = known.packed_only != 0});
  });
}

sn_status sn_net_tuned_paths(const sn_net* net, sn_tuned_paths** paths) {
  return call_for(paths, "paths", [&]() -> Status {
    if (net == nullptr) return invalid_argument("the net is null");
    auto list = std::make_unique<sn_tuned_paths>();
    for (TunedPathInfo& info : net->net.tuned_paths())
      list->paths.push_back({std::move(info), {}, {}});
    for (sn_tuned_paths::Path& path : list->paths) {
      for (const auto& [name, shape] : path.info.shapes)
        path.shapes.push_back(shape_view(shape, name.c_str()));
      path.schemas = views_of(path.info.schemas);
    }
    *paths = list.release();
    return {};
  });
}

size_t sn_tuned_paths_count(const sn_tuned_paths* paths) {
  return paths == nullptr ? 0 : paths->paths.size();
}

sn_status sn_tuned_paths_get(const sn_tuned_paths* paths, size_t index, sn_tuned_path* path) {
  return call_on(paths, "the list of paths", [&]() -> Status {
    if (index >= paths->paths.size())
      return invalid_argument("there is no path {}; the net carries {}", index,
                              paths->paths.size());
    const sn_tuned_paths::Path& from = paths->paths[index];
    sn_tuned_path row = SN_TUNED_PATH_INIT;
    row.machine = from.info.machine.c_str();
    row.threads = from.info.threads;
    row.shapes = from.shapes.data();
    row.shape_count = from.shapes.size();
    row.schemas = from.schemas.data();
    row.schema_count = from.schemas.size();
    row.time_us = from.info.time_us;
    row.untuned_us = from.info.untuned_us;
    row.error = from.info.error;
    return write(row, path, "sn_tuned_path");
  });
}

void sn_tuned_paths_free(sn_tuned_paths* paths) {
  delete paths;
}

void sn_net_free(sn_net* net) {
  delete net;
}

size_t sn_net_input_count(const sn_net* net) {
  return net == nullptr ? 0 : net->net.inputs().size();
}

size_t sn_net_output_count(const sn_net* net) {
  return net == nullptr ? 0 : net->net.outputs().size();
}

sn_status sn_net_input_info(const sn_net* net, size_t index, sn_tensor_info* info) {
  return call_on(net, "the net",
                 [&] { return write_info(net->net.inputs(), index, "input", "net", info); });
}

sn_status sn_net_output_info(const sn_net* net, size_t index, sn_tensor_info* info) {
  return call_on(net, "the net",
                 [&] { return write_info(net->net.outputs(), index, "output", "net", info); });
}

sn_status sn_net_prepare(const sn_net* net, const sn_shape* shapes, size_t shape_count) {
  return call_on(net, "the net", [&]() -> Status {
    SN_ASSIGN_OR_RETURN(const NamedShapes named, named_shapes(shapes, shape_count));
    return net->net.prepare(named);
  });
}

sn_status sn_net_trim(const sn_net* net) {
  return call_on(net, "the net", [&]() -> Status {
    net->net.trim();
    return {};
  });
}

sn_status sn_net_memory_report(const sn_net* net, sn_memory_report* report) {
  return call_on(net, "the net", [&] { return write_report(net->net.memory_report(), report); });
}

sn_status sn_net_run(const sn_net* net, const sn_tensor* inputs, size_t input_count,
                     sn_result** result) {
  return sn_net_run_for(net, inputs, input_count, nullptr, 0, nullptr, result);
}

sn_status sn_net_run_for(const sn_net* net, const sn_tensor* inputs, size_t input_count,
                         const char* const* outputs, size_t output_count,
                         const sn_run_options* options, sn_result** result) {
  return call_for(result, "result", [&]() -> Status {
    if (net == nullptr) return invalid_argument("the net is null");
    SN_ASSIGN_OR_RETURN(const auto wanted, texts_from(outputs, output_count, "outputs"));
    SN_ASSIGN_OR_RETURN(const RunOptions cpp, run_options(options));
    SN_ASSIGN_OR_RETURN(const NamedTensors named, named_inputs(net->net, inputs, input_count));
    SN_ASSIGN_OR_RETURN(const NamedTensors values, net->net.run(named, wanted, cpp));
    auto made = std::make_unique<sn_result>();
    made->host = net->host;
    const auto take = [&](const std::string& name) {
      made->outputs.emplace_back(name, values.find(name)->second);
    };
    for (const std::string& name : wanted) take(name);
    if (wanted.empty())
      for (const TensorInfo& info : net->net.outputs()) take(info.name);
    *result = made.release();
    return {};
  });
}

size_t sn_result_count(const sn_result* result) {
  return result == nullptr ? 0 : result->outputs.size();
}

sn_status sn_result_get(const sn_result* result, size_t index, sn_tensor* tensor) {
  return call_on(result, "the result", [&]() -> Status {
    if (index >= result->outputs.size())
      return invalid_argument("there is no output {}; the result has {}", index,
                              result->outputs.size());
    const auto& [name, value] = result->outputs[index];
    return write(view_of(value, name.c_str()), tensor, "sn_tensor");
  });
}

sn_status sn_result_find(const sn_result* result, const char* name, sn_tensor* tensor) {
  return call_on(result, "the result", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    for (const auto& output : result->outputs)
      if (output.first == name)
        return write(view_of(output.second, output.first.c_str()), tensor, "sn_tensor");
    return make_error(StatusCode::not_found, "the result has no output '{}'", name);
  });
}

void sn_result_free(sn_result* result) {
  delete result;
}

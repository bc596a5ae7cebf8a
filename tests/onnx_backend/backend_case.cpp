#include "onnx_backend/backend_case.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file_mapping.h"
#include "import/onnx/tensor_reader.h"
#include "softneuro/net.h"
#include "support/tensor_difference.h"

namespace softneuro::test {
namespace {

namespace fs = std::filesystem;

Result<Tensor> read_tensor(const std::string& path) {
  SN_ASSIGN_OR_RETURN(const FileBytes file, map_file(path, default_allocator()));
  onnx::TensorProto proto;
  if (!proto.ParsePartialFromArray(file.bytes.data(), static_cast<int>(file.bytes.size())))
    return invalid_argument("{} is no tensor", path);
  return onnx::TensorReader("", default_allocator()).read(proto);
}

// input_0.pb, input_1.pb… of a data set, as far as there are any.
Result<std::vector<Tensor>> read_tensors(const std::string& folder, const std::string& stem) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = fmt::format("{}/{}_{}.pb", folder, stem, i);
    if (!fs::exists(path)) return tensors;
    SN_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(path));
    tensors.push_back(std::move(tensor));
  }
}

// rtol and atol of the suite; less for types of few bits, in which the references were rounded at
// every step.
Tolerance tolerance_for(DataType type) {
  if (type == DataType::float16) return {1e-3, 2.5e-3};
  if (type == DataType::bfloat16) return {1e-2, 1e-2};
  return {1e-7, 1e-3};
}

TestResult from_status(const Status& status) {
  const bool unsupported = status.code() == StatusCode::unsupported;
  return {unsupported ? Outcome::unsupported : Outcome::failed, status.message()};
}

// The oldest data stores bfloat16 as the uint16 of the same bits.
Tensor as_declared(const Tensor& tensor, DataType declared) {
  if (tensor.data_type() != DataType::uint16 || declared != DataType::bfloat16) return tensor;
  Result<Tensor> other = Tensor::create(declared, tensor.shape());
  if (!other.ok()) return tensor;
  std::memcpy(other->mutable_data(), tensor.data(), tensor.bytes());
  return *std::move(other);
}

TestResult run_data(const Net& net, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& references) {
  if (inputs.size() != net.inputs().size())
    return {Outcome::failed,
            fmt::format("{} inputs for a net of {}", inputs.size(), net.inputs().size())};
  if (references.size() > net.outputs().size())
    return {Outcome::failed,
            fmt::format("{} outputs instead of {}", net.outputs().size(), references.size())};
  NamedTensors named;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    named[net.inputs()[i].name] = as_declared(inputs[i], net.inputs()[i].type);
  const Result<NamedTensors> results = net.run(named);
  if (!results.ok()) return from_status(results.status());
  for (std::size_t i = 0; i < references.size(); ++i) {
    const std::string& name = net.outputs()[i].name;
    const auto found = results->find(name);
    if (found == results->end()) return {Outcome::failed, "there is no output '" + name + "'"};
    const Tensor reference = as_declared(references[i], found->second.data_type());
    const std::string wrong =
        difference(found->second, reference, tolerance_for(reference.data_type()));
    if (!wrong.empty()) return {Outcome::failed, fmt::format("output '{}': {}", name, wrong)};
  }
  return {Outcome::passed, ""};
}

// The input of the `light` models: 0/n, 1/n… as an image.
Result<Tensor> light_input() {
  SN_ASSIGN_OR_RETURN(Tensor image, Tensor::create(DataType::float32, Shape{1, 3, 224, 224}));
  const std::span<float> values = image.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i) / static_cast<float>(values.size());
  return image;
}

TestResult run_light(const Net& net, const std::string& model) {
  const Result<Tensor> input = light_input();
  const Result<Tensor> output =
      read_tensor(model.substr(0, model.size() - std::string(".onnx").size()) + "_output_0.pb");
  if (!input.ok()) return from_status(input.status());
  if (!output.ok()) return from_status(output.status());
  return run_data(net, {*input}, {*output});
}

}  // namespace

const char* to_string(Outcome outcome) {
  constexpr const char* names[] = {"passed", "failed", "unsupported", "crashed", "timed out"};
  return names[static_cast<int>(outcome)];
}

TestResult run_backend_test(const BackendTest& test) {
  const Result<Net> net = Net::import(test.model, {.threads = 1});
  if (!net.ok()) return from_status(net.status());
  if (test.suite == "light") return run_light(*net, test.model);
  if (test.data_sets.empty()) return {Outcome::failed, "there is no test data"};
  for (const std::string& folder : test.data_sets) {
    const Result<std::vector<Tensor>> inputs = read_tensors(folder, "input");
    const Result<std::vector<Tensor>> outputs = read_tensors(folder, "output");
    if (!inputs.ok()) return from_status(inputs.status());
    if (!outputs.ok()) return from_status(outputs.status());
    TestResult result = run_data(*net, *inputs, *outputs);
    if (result.outcome != Outcome::passed) return result;
  }
  return {Outcome::passed, ""};
}

}  // namespace softneuro::test

// One model through the C++ API, the C API and the tool gives the same bits, from run to run
// and with one thread and two.
//
//   api_parity TOOL MODEL INPUT.npy [CLASS]   CLASS: index that must have the highest probability
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "npy.h"
#include "softneuro/c_api.h"
#include "softneuro/softneuro.h"

namespace sn = softneuro;

namespace {

using Bytes = std::vector<unsigned char>;

Bytes bytes_of(const sn::Tensor& tensor) {
  const auto* data = static_cast<const unsigned char*>(tensor.data());
  return Bytes(data, data + tensor.bytes());
}

Bytes run_cpp(const std::string& model, const sn::Tensor& input, int threads) {
  const sn::Net net = sn::Net::import(model, {.threads = threads}).value();
  const auto outputs = net.run({{net.inputs()[0].name, input}}).value();
  const auto again = net.run({{net.inputs()[0].name, input}}).value();
  const std::string& name = net.outputs()[0].name;
  if (bytes_of(outputs.at(name)) != bytes_of(again.at(name)))
    throw std::runtime_error("two runs of one net differ");
  return bytes_of(outputs.at(name));
}

Bytes run_tool(const std::string& tool, const std::string& model, const std::string& input,
               const std::string& name, int threads) {
  char folder[] = "/tmp/softneuro-three-faces-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("no temporary folder");
  const std::string command = "'" + tool + "' run '" + model + "' --input '" + name + "=" + input +
                              "' --threads " + std::to_string(threads) + " --output-dir '" +
                              folder + "' >/dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("the tool failed: " + command);
  Bytes bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    bytes = bytes_of(sn::read_npy(entry.path().string()).value());
  std::filesystem::remove_all(folder);
  return bytes;
}

void check(sn_status status) {
  if (status != SN_OK) throw std::runtime_error(sn_last_error());
}

Bytes run_c(const std::string& model, const sn::Tensor& input, int threads) {
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.threads = threads;
  sn_net* net = nullptr;
  check(sn_net_import(model.c_str(), &options, &net));
  sn_tensor in = SN_TENSOR_INIT;
  in.data_type = SN_FLOAT32;
  in.rank = input.shape().rank();
  for (int i = 0; i < in.rank; ++i) in.dims[i] = input.shape()[i];
  in.data = const_cast<void*>(input.data());
  in.bytes = input.bytes();
  sn_result* result = nullptr;
  check(sn_net_run(net, &in, 1, &result));
  sn_tensor out = SN_TENSOR_INIT;
  check(sn_result_get(result, 0, &out));
  const auto* data = static_cast<const unsigned char*>(out.data);
  Bytes bytes(data, data + out.bytes);
  sn_result_free(result);
  sn_net_free(net);
  return bytes;
}

int compare(const std::string& tool, const std::string& model, const std::string& input_path,
            long expected_class) {
  const sn::Tensor input = sn::read_npy(input_path).value();
  const std::string name = sn::Net::import(model).value().inputs()[0].name;
  const Bytes reference = run_cpp(model, input, 1);
  int failed = 0;
  const auto same = [&](const char* what, int threads, const Bytes& bytes) {
    const bool ok = bytes == reference && !bytes.empty();
    std::printf("%-8s %d thread(s): %s\n", what, threads, ok ? "the same bits" : "DIFFERS");
    if (!ok) failed = 1;
  };
  for (const int threads : {1, 2}) {
    same("C++ API", threads, run_cpp(model, input, threads));
    same("C API", threads, run_c(model, input, threads));
    same("tool", threads, run_tool(tool, model, input_path, name, threads));
  }
  std::vector<float> values(reference.size() / sizeof(float));
  std::memcpy(values.data(), reference.data(), values.size() * sizeof(float));
  const long best = std::max_element(values.begin(), values.end()) - values.begin();
  std::printf("class %ld (%.4f)\n", best,
              static_cast<double>(values[static_cast<std::size_t>(best)]));
  if (expected_class >= 0 && best != expected_class) failed = 1;
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  if (access(argv[2], R_OK) != 0 || access(argv[3], R_OK) != 0) {
    std::printf("skipped: %s is not there\n", argv[2]);
    return 77;  // ctest: skipped
  }
  try {
    return compare(argv[1], argv[2], argv[3], argc > 4 ? std::atol(argv[4]) : -1);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

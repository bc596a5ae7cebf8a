// A net on a small device: one .dnn file, one block of memory, one thread, no exceptions.
//
//   edge_example NET.dnn [INPUT.raw]     INPUT.raw: the bytes of the net's only input, else zeros
//
// All tensors, weights and the arena come from one static block through FixedArenaAllocator; when
// it is too small, an error says so and nothing else happens. The preset `edge` builds this program
// and the library without exceptions, RTTI, importers, plugins and tuner, and prints its size.
#include <softneuro/softneuro.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace sn = softneuro;

namespace {

alignas(sn::kTensorAlignment) unsigned char memory[32u << 20];

int fail(const char* what, const sn::Status& status) {
  std::fprintf(stderr, "edge_example: %s: %s\n", what, status.message().c_str());
  return 1;
}

// Fills the tensor from the file; false if the file is not of exactly that size.
bool read_into(const char* path, sn::Tensor& tensor) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  const bool filled = std::fread(tensor.mutable_data(), 1, tensor.bytes(), file) == tensor.bytes();
  const bool ended = filled && std::fgetc(file) == EOF;
  std::fclose(file);
  return ended;
}

void print(const sn::TensorInfo& info, const sn::Tensor& output) {
  const auto values = output.values<float>();
  std::printf("%s: %lld elements", info.name.c_str(), static_cast<long long>(output.elements()));
  if (!values.empty()) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < values.size(); ++i)
      if (values[i] > values[largest]) largest = i;
    std::printf(", the largest is number %zu: %g", largest, static_cast<double>(values[largest]));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: edge_example NET.dnn [INPUT.raw]\n");
    return 2;
  }
  sn::FixedArenaAllocator allocator(memory, sizeof memory);
  sn::NetOptions options;
  options.allocator = &allocator;
  options.threads = 1;
  auto net = sn::Net::load(argv[1], options);
  if (!net.ok()) return fail(argv[1], net.status());

  auto plan = net->plan();
  if (!plan.ok()) return fail("plan", plan.status());
  auto session = sn::Session::create(*plan);
  if (!session.ok()) return fail("session", session.status());

  // One tensor for each input; a session that is planned knows every shape.
  const auto infos = (*plan)->inputs();
  std::vector<sn::Tensor> inputs;
  for (const sn::TensorInfo& info : infos) {
    auto input = sn::Tensor::create(info.type, info.shape.to_shape(), allocator);
    if (!input.ok()) return fail(info.name.c_str(), input.status());
    std::memset(input->mutable_data(), 0, input->bytes());
    inputs.push_back(*input);
  }
  if (argc == 3) {
    if (inputs.size() != 1 || !read_into(argv[2], inputs[0])) {
      std::fprintf(stderr, "edge_example: %s does not hold the bytes of the net's one input\n",
                   argv[2]);
      return 1;
    }
  }

  std::vector<sn::Tensor> outputs((*plan)->outputs().size());
  if (const sn::Status status = session->run(inputs, outputs); !status.ok())
    return fail("run", status);
  for (std::size_t i = 0; i < outputs.size(); ++i) print((*plan)->outputs()[i], outputs[i]);
  std::printf("memory: %zu KiB at most\n", allocator.peak() >> 10);
  return 0;
}

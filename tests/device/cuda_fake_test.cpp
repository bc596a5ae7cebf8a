// The fake GPU runs the threads of a block as CUDA does: barriers, shuffles and atomics.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "device/fake_cuda.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// `kernel` on `blocks` blocks of `threads`, which reads and writes the numbers of `data`;
// `launches` times.
std::vector<unsigned> run_kernel(const std::string& kernel, unsigned blocks, unsigned threads,
                                 std::vector<unsigned> data, int launches = 1) {
  const cuda::Driver& driver = fake_driver();
  const cuda::Nvrtc& compiler = **fake_nvrtc();
  CUcontext context;
  REQUIRE(driver.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(driver.cuCtxPushCurrent(context) == CUDA_SUCCESS);
  nvrtcProgram program;
  const std::string source = "struct Arguments { unsigned* data; };\n" + kernel;
  REQUIRE(compiler.nvrtcCreateProgram(&program, source.c_str(), "test", 0, nullptr, nullptr) ==
          NVRTC_SUCCESS);
  const nvrtcResult compiled = compiler.nvrtcCompileProgram(program, 0, nullptr);
  std::size_t size = 0;
  compiler.nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  compiler.nvrtcGetProgramLog(program, log.data());
  INFO(log);
  REQUIRE(compiled == NVRTC_SUCCESS);
  compiler.nvrtcGetCUBINSize(program, &size);
  std::string image(size, '\0');
  compiler.nvrtcGetCUBIN(program, image.data());
  compiler.nvrtcDestroyProgram(&program);
  CUmodule module;
  CUfunction function;
  CUstream stream;
  REQUIRE(driver.cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS);
  REQUIRE(driver.cuModuleGetFunction(&function, module, "softneuro_kernel") == CUDA_SUCCESS);
  REQUIRE(driver.cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  unsigned* pointer = data.data();
  void* arguments[] = {&pointer};
  for (int launch = 0; launch < launches; ++launch)
    REQUIRE(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments,
                                  nullptr) == CUDA_SUCCESS);
  REQUIRE(driver.cuStreamSynchronize(stream) == CUDA_SUCCESS);
  driver.cuStreamDestroy(stream);
  driver.cuModuleUnload(module);
  CUcontext popped;
  driver.cuCtxPopCurrent(&popped);
  return data;
}

constexpr const char* kHead =
    "extern \"C\" __global__ void softneuro_kernel(const Arguments a) {\n";

std::vector<unsigned> counting(std::size_t count) {
  std::vector<unsigned> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

}  // namespace

TEST_CASE("cuda fake: threads behind a barrier see what all wrote before it") {
  const std::string kernel = std::string(kHead) +
                             "__shared__ unsigned all[96];\n"
                             "all[threadIdx.x] = a.data[threadIdx.x];\n"
                             "__syncthreads();\n"
                             "a.data[threadIdx.x] = all[95 - threadIdx.x];\n}\n";
  const auto data = run_kernel(kernel, 1, 96, counting(96), 3);
  for (unsigned i = 0; i < 96; ++i) CHECK(data[i] == 95 - i);
}

TEST_CASE("cuda fake: a shuffle gives what another lane of the warp has") {
  const std::string kernel =
      std::string(kHead) +
      "unsigned x = a.data[threadIdx.x];\n"
      "for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);\n"
      "const unsigned first = __shfl_sync(0xffffffffu, threadIdx.x, 0);\n"
      "const unsigned next = __shfl_down_sync(0xffffffffu, threadIdx.x, 1);\n"
      "a.data[threadIdx.x] = x * 10000 + first * 100 + next;\n}\n";
  const auto data = run_kernel(kernel, 1, 64, counting(64));
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned warp = i / 32 * 32;
    const unsigned sum = 32 * warp + 31 * 16, next = i % 32 == 31 ? i : i + 1;
    CHECK(data[i] == sum * 10000 + warp * 100 + next);
  }
}

TEST_CASE("cuda fake: atomics of all blocks add up") {
  const std::string kernel = std::string(kHead) + "atomicAdd(&a.data[0], 1u);\n}\n";
  CHECK(run_kernel(kernel, 5, 32, {7})[0] == 7 + 5 * 32);
}

TEST_CASE("cuda fake: blocks and threads run in three orders, each once") {
  const std::string kernel = std::string(kHead) +
                             "const unsigned place = a.data[0]++;\n"
                             "a.data[1 + place] = blockIdx.x * blockDim.x + threadIdx.x;\n}\n";
  const auto data = run_kernel(kernel, 3, 7, std::vector<unsigned>(1 + 3 * 21), 3);
  std::set<std::vector<unsigned>> orders;
  for (int launch = 0; launch < 3; ++launch) {
    const auto first = data.begin() + 1 + launch * 21;
    std::vector<unsigned> order(first, first + 21);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    CHECK(order == counting(21));
  }
  CHECK(orders.size() == 3);
}

// What nets share of a GPU, and what becomes of them when it is lost.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "device/fake_cuda.h"
#include "net/make_runtime.h"
#include "plugins/cuda/products/matmul.h"

using namespace softneuro;
using namespace softneuro::cuda;
using namespace softneuro::test;

namespace {

// A table of its own: a GPU of its own. Whoever lost it would take the one of all tests.
const Driver& add_driver(void (*change)(Driver&)) {
  auto* const driver = new Driver(fake_driver());  // GPUs are never destroyed
  change(*driver);
  static std::vector<std::unique_ptr<const Driver>> all;
  all.emplace_back(driver);
  return *driver;
}

// Modules that are nothing but the address of an object.
void make_modules_empty(Driver& driver) {
  driver.cuModuleLoadData = [](CUmodule* module, const void*) {
    static char some[100];
    static std::atomic<int> count = 0;
    *module = reinterpret_cast<CUmodule>(&some[count++]);
    return CUDA_SUCCESS;
  };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char*) {
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
}

std::atomic<int> compiled;
std::atomic<int> compiling_at_once, compiling;

// Takes its time, compiles to nothing.
const Nvrtc& slow_compiler() {
  static const Nvrtc compiler = [] {
    Nvrtc table;
    table.nvrtcGetErrorString = [](nvrtcResult) { return "an error of the test"; };
    table.nvrtcGetNumSupportedArchs = [](int* count) { return *count = 1, NVRTC_SUCCESS; };
    table.nvrtcGetSupportedArchs = [](int* known) { return *known = 90, NVRTC_SUCCESS; };
    table.nvrtcCreateProgram = [](nvrtcProgram* program, const char*, const char*, int,
                                  const char* const*, const char* const*) {
      static int some;
      return *program = reinterpret_cast<nvrtcProgram>(&some), NVRTC_SUCCESS;
    };
    table.nvrtcDestroyProgram = [](nvrtcProgram*) { return NVRTC_SUCCESS; };
    table.nvrtcCompileProgram = [](nvrtcProgram, int, const char* const*) {
      ++compiled;
      const int now = ++compiling;
      if (now > compiling_at_once) compiling_at_once = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      --compiling;
      return NVRTC_SUCCESS;
    };
    table.nvrtcGetCUBINSize = [](nvrtcProgram, std::size_t* size) {
      return *size = 1, NVRTC_SUCCESS;
    };
    table.nvrtcGetCUBIN = [](nvrtcProgram, char* image) { return *image = 0, NVRTC_SUCCESS; };
    return table;
  }();
  return compiler;
}

std::atomic<CUresult> injected;

// Its streams answer what is injected, and its memory can be had meanwhile.
void inject(Driver& driver) {
  driver.cuStreamSynchronize = [](CUstream stream) {
    const CUresult result = fake_driver().cuStreamSynchronize(stream);
    return injected == CUDA_SUCCESS ? result : injected.load();
  };
}

const Driver* lost_driver;
Toolkit toolkit_that_is_lost() {
  lost_driver = &add_driver(&inject);
  return {[]() -> Result<const Driver*> { return lost_driver; }, &fake_nvrtc, &fake_cublaslt};
}

Status fail_with(Device& device, CUresult result) {
  const auto stream = device.create_stream().value();
  injected = result;
  const Status status = stream->synchronize();
  injected = CUDA_SUCCESS;
  return status;
}

}  // namespace

TEST_CASE("gpu: all nets of a process have one, and another driver has another") {
  CudaDevice first(fake_toolkit()), second(fake_toolkit());
  CHECK(first.name().empty());
  CHECK(!first.is_started());
  REQUIRE(first.start().ok());
  CHECK(first.gpu().value() == second.gpu().value());
  CHECK(first.gpu().value() == Gpu::find(fake_driver(), 0).value());
  const Driver& other = add_driver([](Driver&) {});
  CHECK(Gpu::find(other, 0).value() != first.gpu().value());
  CHECK(Gpu::find(fake_driver(), 1).status().code() == StatusCode::unsupported);
  const Driver& none = add_driver([](Driver& driver) {
    driver.cuDeviceGetCount = [](int* count) { return *count = 0, CUDA_SUCCESS; };
  });
  CHECK(Gpu::find(none, 0).status().code() == StatusCode::unsupported);
}

TEST_CASE("gpu: a kernel is compiled once, whoever asks meanwhile, and two at the same time") {
  Gpu& gpu = *Gpu::find(add_driver(&make_modules_empty), 0).value();
  compiled = compiling_at_once = 0;
  std::vector<CUfunction> found(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      found[i] = gpu.kernel(slow_compiler(), i % 2 == 0 ? "even" : "odd", "kernel").value();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(compiled == 2);
  CHECK(compiling_at_once == 2);
  for (std::size_t i = 2; i < found.size(); ++i) CHECK(found[i] == found[i - 2]);
  CHECK(found[0] != found[1]);
  CHECK(gpu.kernel(slow_compiler(), "even", "kernel").value() == found[0]);
  CHECK(compiled == 2);
}

TEST_CASE("gpu: matrix products share one handle of cuBLASLt") {
  static std::atomic<int> handles = 0;
  static const CublasLt library = [] {
    CublasLt table = **fake_cublaslt();
    table.cublasLtCreate = [](cublasLtHandle_t* handle) {
      ++handles;
      return (*fake_cublaslt())->cublasLtCreate(handle);
    };
    return table;
  }();
  Gpu& gpu = *Gpu::find(fake_driver(), 0).value();
  const GemmShape shape{4, 5, 6, false};
  const auto first = Matmul::create(gpu, library, shape, nullptr);
  const auto second = Matmul::create(gpu, library, shape, nullptr);
  CHECK(first.ok());
  CHECK(second.ok());
  CHECK(handles == 1);
}

TEST_CASE("gpu: it lives on after an error that goes away, and is lost after one that stays") {
  CudaDevice device(toolkit_that_is_lost());
  CHECK(fail_with(device, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES).code() == StatusCode::device_failed);
  CHECK(device.start().ok());
  DeviceMemory memory = device.allocate(100).value();

  CHECK(fail_with(device, CUDA_ERROR_ILLEGAL_ADDRESS).code() == StatusCode::device_failed);
  CudaDevice later(device.toolkit());
  for (const Status& status : {device.start(), device.allocate(100).status(),
                               device.create_stream().status(), later.start()}) {
    CHECK(status.code() == StatusCode::device_failed);
    CHECK_THAT(status.message(), Catch::Contains("restarted"));
  }
  CHECK(device.name() == "the host as a GPU, sm_90, 2 multiprocessors, driver 13.0");
}

TEST_CASE("gpu: nets on the host run on after it is lost, and paths there take default choices") {
  NetOptions options;
  options.threads = 1;
  options.plugins = {"none"};
  const std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  auto& registry = const_cast<Registry&>(runtime->registry());
  REQUIRE(add_gpu(registry, toolkit_that_is_lost()).ok());
  const DeviceId id = *DeviceId::parse("cuda");
  CHECK(registry.started_device(id).ok());
  CHECK_FALSE(fail_with(*registry.device(id), CUDA_ERROR_LAUNCH_FAILED).ok());
  CHECK_THAT(registry.started_device(id).status().message(), Catch::Contains("restarted"));
  CHECK(check_schemas(registry, std::vector<std::string>{"cpu"}).ok());
  CHECK_FALSE(check_schemas(registry, std::vector<std::string>{"cuda"}).ok());
}

TEST_CASE("gpu: page-locked memory and events are made once and used again") {
  static std::atomic<int> host_allocations = 0, events = 0;
  static const Driver* const driver = &add_driver([](Driver& table) {
    table.cuMemHostAlloc = [](void** data, std::size_t bytes, unsigned flags) {
      return ++host_allocations, fake_driver().cuMemHostAlloc(data, bytes, flags);
    };
    table.cuEventCreate = [](CUevent* event, unsigned flags) {
      return ++events, fake_driver().cuEventCreate(event, flags);
    };
  });
  const Toolkit toolkit = {[]() -> Result<const Driver*> { return driver; }, &fake_nvrtc,
                           &fake_cublaslt};
  std::vector<std::uint32_t> sent(100000);
  for (int net = 0; net < 2; ++net) {
    CudaDevice device(toolkit);
    for (std::uint32_t weight = 0; weight < 5; ++weight) {
      std::ranges::fill(sent, weight);
      const DeviceMemory memory = upload(device, sent.data(), 4 * sent.size()).value();
      const auto stream = device.create_stream().value();
      std::vector<std::uint32_t> back(sent.size());
      REQUIRE(stream->download(back.data(), memory.data(), 4 * back.size()).ok());
      REQUIRE(stream->synchronize().ok());
      CHECK(back == sent);
    }
  }
  CHECK(host_allocations == 1);
  CHECK(events == 8);  // one for each chunk of that memory

  CudaDevice device(toolkit);
  const auto stream = device.create_stream().value();
  for (int trace = 0; trace < 3; ++trace) {
    std::vector<std::unique_ptr<DeviceEvent>> points;
    for (int i = 0; i < 10; ++i) points.push_back(stream->record().value());
    REQUIRE(stream->synchronize().ok());
    CHECK(stream->microseconds(*points.front(), *points.back()).value() > 0);
  }
  CHECK(events == 8 + 10);
}

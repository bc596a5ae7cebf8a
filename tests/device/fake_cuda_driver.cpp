#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "device/fake_cuda.h"

namespace softneuro::test {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{1} << 32;
constexpr int kArchitectureMajor = 9, kArchitectureMinor = 0;

class FakeStream {
 public:
  FakeStream() : thread_([this] { serve(); }) {}
  ~FakeStream() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void put(std::function<void()> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }
  void synchronize() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      is_busy_ = true;
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
      work();
      lock.lock();
      is_busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool is_busy_ = false, ends_ = false;
  std::thread thread_;
};

struct FakeEvent {
  std::atomic<int> recorded = 0, passed = 0;
  std::chrono::steady_clock::time_point time;
};
using SharedEvent = std::shared_ptr<FakeEvent>;

struct FakeKernel {
  void (*run)(const void* argument, unsigned blocks, unsigned threads);
  std::size_t argument_bytes;
};
struct FakeModule {
  void* library;
  FakeKernel kernel;
};

FakeStream& of(CUstream stream) {
  return *reinterpret_cast<FakeStream*>(stream);
}
SharedEvent& of(CUevent event) {
  return *reinterpret_cast<SharedEvent*>(event);
}

thread_local int contexts = 0;  // pushed by this thread
bool has_context() {
  return contexts > 0;
}

CUresult init(unsigned) {
  return CUDA_SUCCESS;
}
CUresult driver_version(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult error_name(CUresult, const char** text) {
  *text = "CUDA_ERROR";
  return CUDA_SUCCESS;
}
CUresult error_string(CUresult, const char** text) {
  *text = "an error of the test's driver";
  return CUDA_SUCCESS;
}
CUresult device_count(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult device_get(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult device_name(char* name, int length, CUdevice) {
  std::strncpy(name, "the host as a GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? kArchitectureMajor
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? kArchitectureMinor
                                                                       : 2;
  return CUDA_SUCCESS;
}
CUresult retain(CUcontext* context, CUdevice) {
  static int some;
  *context = reinterpret_cast<CUcontext>(&some);
  return CUDA_SUCCESS;
}
CUresult release(CUdevice) {
  return CUDA_SUCCESS;
}
CUresult push(CUcontext) {
  ++contexts;
  return CUDA_SUCCESS;
}
CUresult pop(CUcontext*) {
  --contexts;
  return CUDA_SUCCESS;
}

CUresult memory_info(std::size_t* free, std::size_t* total) {
  *free = *total = kMemoryBytes;
  return has_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult allocate(CUdeviceptr* data, std::size_t bytes) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes > kMemoryBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0x7f, bytes);
  *data = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult deallocate(CUdeviceptr data) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  std::free(reinterpret_cast<void*>(data));
  return CUDA_SUCCESS;
}
CUresult allocate_host(void** data, std::size_t bytes, unsigned) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  *data = std::malloc(bytes);
  return *data == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult deallocate_host(void* data) {
  std::free(data);
  return CUDA_SUCCESS;
}
// Both read their source when the stream comes to them, as from pinned memory.
CUresult upload(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  of(stream).put([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  return CUDA_SUCCESS;
}
CUresult download(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  of(stream).put([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
  return CUDA_SUCCESS;
}

CUresult create_stream(CUstream* stream, unsigned) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = reinterpret_cast<CUstream>(new FakeStream);
  return CUDA_SUCCESS;
}
CUresult destroy_stream(CUstream stream) {
  delete &of(stream);
  return CUDA_SUCCESS;
}
CUresult synchronize_stream(CUstream stream) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  of(stream).synchronize();
  return CUDA_SUCCESS;
}
CUresult create_event(CUevent* event, unsigned) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  *event = reinterpret_cast<CUevent>(new SharedEvent(std::make_shared<FakeEvent>()));
  return CUDA_SUCCESS;
}
CUresult destroy_event(CUevent event) {
  delete &of(event);
  return CUDA_SUCCESS;
}
CUresult record_event(CUevent event, CUstream stream) {
  const int number = ++of(event)->recorded;
  of(stream).put([shared = of(event), number] {
    shared->time = std::chrono::steady_clock::now();
    shared->passed = number;
  });
  return CUDA_SUCCESS;
}
CUresult synchronize_event(CUevent event) {
  while (of(event)->passed < of(event)->recorded) std::this_thread::yield();
  return CUDA_SUCCESS;
}
CUresult elapsed_time(float* milliseconds, CUevent from, CUevent to) {
  *milliseconds = std::chrono::duration<float, std::milli>(of(to)->time - of(from)->time).count();
  return CUDA_SUCCESS;
}

// An image of the test's NVRTC is the path of a library.
CUresult load_module(CUmodule* module, const void* image) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  void* const library = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  const auto bytes =
      reinterpret_cast<unsigned long (*)()>(dlsym(library, "softneuro_argument_bytes"));
  const auto run = reinterpret_cast<decltype(FakeKernel::run)>(dlsym(library, "softneuro_run"));
  if (bytes == nullptr || run == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  *module = reinterpret_cast<CUmodule>(new FakeModule{library, {run, bytes()}});
  return CUDA_SUCCESS;
}
CUresult unload_module(CUmodule module) {
  auto* const loaded = reinterpret_cast<FakeModule*>(module);
  dlclose(loaded->library);
  delete loaded;
  return CUDA_SUCCESS;
}
CUresult get_function(CUfunction* function, CUmodule module, const char* name) {
  auto* const loaded = reinterpret_cast<FakeModule*>(module);
  if (dlsym(loaded->library, name) == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&loaded->kernel);
  return CUDA_SUCCESS;
}
CUresult launch(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads,
                unsigned, unsigned, unsigned, CUstream stream, void** arguments, void**) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (blocks == 0 || threads == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto* const kernel = reinterpret_cast<const FakeKernel*>(function);
  const auto* const first = static_cast<const std::byte*>(arguments[0]);
  of(stream).put([=, argument = std::vector<std::byte>(first, first + kernel->argument_bytes)] {
    kernel->run(argument.data(), blocks, threads);
  });
  return CUDA_SUCCESS;
}

cuda::Driver make_driver() {
  cuda::Driver driver;
  driver.cuInit = init;
  driver.cuDriverGetVersion = driver_version;
  driver.cuGetErrorName = error_name;
  driver.cuGetErrorString = error_string;
  driver.cuDeviceGetCount = device_count;
  driver.cuDeviceGet = device_get;
  driver.cuDeviceGetName = device_name;
  driver.cuDeviceGetAttribute = device_attribute;
  driver.cuDevicePrimaryCtxRetain = retain;
  driver.cuDevicePrimaryCtxRelease_v2 = release;
  driver.cuCtxPushCurrent_v2 = push;
  driver.cuCtxPopCurrent_v2 = pop;
  driver.cuMemGetInfo_v2 = memory_info;
  driver.cuMemAlloc_v2 = allocate;
  driver.cuMemFree_v2 = deallocate;
  driver.cuMemHostAlloc = allocate_host;
  driver.cuMemFreeHost = deallocate_host;
  driver.cuMemcpyHtoDAsync_v2 = upload;
  driver.cuMemcpyDtoHAsync_v2 = download;
  driver.cuStreamCreate = create_stream;
  driver.cuStreamDestroy_v2 = destroy_stream;
  driver.cuStreamSynchronize = synchronize_stream;
  driver.cuEventCreate = create_event;
  driver.cuEventDestroy_v2 = destroy_event;
  driver.cuEventRecord = record_event;
  driver.cuEventSynchronize = synchronize_event;
  driver.cuEventElapsedTime = elapsed_time;
  driver.cuModuleLoadData = load_module;
  driver.cuModuleUnload = unload_module;
  driver.cuModuleGetFunction = get_function;
  driver.cuLaunchKernel = launch;
  driver.path = "the test's driver";
  return driver;
}

}  // namespace

const cuda::Driver& fake_driver() {
  static const cuda::Driver driver = make_driver();
  return driver;
}

void put_into(CUstream stream, std::function<void()> work) {
  of(stream).put(std::move(work));
}

cuda::Toolkit fake_toolkit() {
  return {[]() -> Result<const cuda::Driver*> { return &fake_driver(); }, &fake_nvrtc,
          &fake_cublaslt};
}

Status add_gpu_or_fake(Registry& registry) {
  const auto driver = cuda::load_driver();
  const bool is_real = driver.ok() && cuda::Gpu::find(**driver, 0).ok();
  if (is_real || std::getenv("SOFTNEURO_TEST_GPU") != nullptr)
    SN_RETURN_IF_ERROR(cuda::add_routines(registry));
  else
    SN_RETURN_IF_ERROR(cuda::add_gpu(registry, fake_toolkit()));
  return registry.started_device(*DeviceId::parse("cuda")).status();
}

}  // namespace softneuro::test

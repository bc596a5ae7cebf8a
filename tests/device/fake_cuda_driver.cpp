#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "device/fake_block.h"
#include "device/fake_cuda.h"

namespace softneuro::test {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{1} << 32;
constexpr int kArchitectureMajor = 9, kArchitectureMinor = 0;

using Work = std::function<void()>;

// A stream works late. While it captures, what is put in becomes part of a graph; what CUDA does
// not allow then invalidates the capture.
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
  CUresult put(Work work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_invalid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    (captures_ ? captured_ : queue_).push_back(std::move(work));
    changed_.notify_all();
    return CUDA_SUCCESS;
  }
  bool begin_capture() {
    if (captures_) return false;
    captures_ = true;
    capturing_here() = this;
    return true;
  }
  // What was captured, or why there is nothing.
  CUresult end_capture(std::deque<Work>& work) {
    if (!captures_) return CUDA_ERROR_ILLEGAL_STATE;
    if (capturing_here() != this) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    capturing_here() = nullptr;
    captures_ = false;
    work = std::exchange(captured_, {});
    return std::exchange(is_invalid_, false) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  }
  bool captures() const { return captures_; }
  void invalidate() { is_invalid_ = true; }
  // Of this thread; null: none.
  static FakeStream*& capturing_here() {
    static thread_local FakeStream* stream = nullptr;
    return stream;
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
      const Work work = std::move(queue_.front());
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
  std::deque<Work> queue_, captured_;
  bool captures_ = false, is_invalid_ = false;
  bool is_busy_ = false, ends_ = false;
  std::thread thread_;
};

struct FakeEvent {
  std::atomic<int> recorded = 0, passed = 0;
  std::chrono::steady_clock::time_point time;
};
using SharedEvent = std::shared_ptr<FakeEvent>;

struct FakeKernel {
  void (*run)(const void* argument, unsigned blocks, unsigned threads, const BlockFunctions*);
  std::size_t argument_bytes;
};
using FakeGraph = std::deque<Work>;

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

FakeGraph& of(CUgraph graph) {
  return *reinterpret_cast<FakeGraph*>(graph);
}
FakeGraph& of(CUgraphExec graph) {
  return *reinterpret_cast<FakeGraph*>(graph);
}

std::atomic<int> graph_launches = 0, live_graphs = 0;

// What a thread must not call while a stream of it captures.
CUresult check_no_capture() {
  FakeStream* const stream = FakeStream::capturing_here();
  if (stream == nullptr) return CUDA_SUCCESS;
  stream->invalidate();
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// Memory of cuMemHostAlloc. All other memory of the host is pageable.
class PinnedMemory {
 public:
  void add(void* data, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_[data] = bytes;
  }
  void remove(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_.erase(data);
  }
  bool has(const void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto next = bytes_.upper_bound(const_cast<void*>(data));
    if (next == bytes_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(next);
    return data < static_cast<const std::byte*>(begin) + bytes;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> bytes_;
};
PinnedMemory& pinned_memory() {
  static PinnedMemory memory;
  return memory;
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
  if (const CUresult result = check_no_capture(); result != CUDA_SUCCESS) return result;
  if (bytes > kMemoryBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0x7f, bytes);
  *data = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult deallocate(CUdeviceptr data) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult result = check_no_capture(); result != CUDA_SUCCESS) return result;
  std::free(reinterpret_cast<void*>(data));
  return CUDA_SUCCESS;
}
CUresult allocate_host(void** data, std::size_t bytes, unsigned) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult result = check_no_capture(); result != CUDA_SUCCESS) return result;
  *data = std::malloc(bytes);
  if (*data == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  pinned_memory().add(*data, bytes);
  return CUDA_SUCCESS;
}
CUresult deallocate_host(void* data) {
  pinned_memory().remove(data);
  std::free(data);
  return CUDA_SUCCESS;
}
// Both read their source when the stream comes to them, as from pinned memory.
CUresult check_copy(const void* host, CUstream stream) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  return of(stream).captures() && !pinned_memory().has(host) ? check_no_capture() : CUDA_SUCCESS;
}
CUresult upload(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (const CUresult result = check_copy(from, stream); result != CUDA_SUCCESS) return result;
  return of(stream).put([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
CUresult download(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (const CUresult result = check_copy(to, stream); result != CUDA_SUCCESS) return result;
  return of(stream).put([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
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
  if (of(stream).captures()) return check_no_capture();
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
// CUDA takes an event into a graph, where it has no time. The plugin puts none there.
CUresult record_event(CUevent event, CUstream stream) {
  if (of(stream).captures()) return check_no_capture();
  const int number = ++of(event)->recorded;
  return of(stream).put([shared = of(event), number] {
    shared->time = std::chrono::steady_clock::now();
    shared->passed = number;
  });
}
CUresult synchronize_event(CUevent event) {
  if (const CUresult result = check_no_capture(); result != CUDA_SUCCESS) return result;
  while (of(event)->passed < of(event)->recorded) std::this_thread::yield();
  return CUDA_SUCCESS;
}
CUresult elapsed_time(float* milliseconds, CUevent from, CUevent to) {
  *milliseconds = std::chrono::duration<float, std::milli>(of(to)->time - of(from)->time).count();
  return CUDA_SUCCESS;
}

CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return CUDA_ERROR_NOT_SUPPORTED;
  return of(stream).begin_capture() ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}
CUresult end_capture(CUstream stream, CUgraph* graph) {
  *graph = nullptr;
  FakeGraph work;
  const CUresult result = of(stream).end_capture(work);
  if (result != CUDA_SUCCESS) return result;
  *graph = reinterpret_cast<CUgraph>(new FakeGraph(std::move(work)));
  ++live_graphs;
  return CUDA_SUCCESS;
}
CUresult instantiate(CUgraphExec* made, CUgraph graph, unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_NOT_SUPPORTED;
  *made = reinterpret_cast<CUgraphExec>(new FakeGraph(of(graph)));
  ++live_graphs;
  return CUDA_SUCCESS;
}
CUresult launch_graph(CUgraphExec graph, CUstream stream) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  ++graph_launches;
  for (const Work& work : of(graph))
    if (const CUresult result = of(stream).put(work); result != CUDA_SUCCESS) return result;
  return CUDA_SUCCESS;
}
CUresult destroy_graph(CUgraph graph) {
  --live_graphs;
  delete &of(graph);
  return CUDA_SUCCESS;
}
CUresult destroy_made_graph(CUgraphExec graph) {
  --live_graphs;
  delete &of(graph);
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
  return of(stream).put(
      [=, argument = std::vector<std::byte>(first, first + kernel->argument_bytes)] {
        // A kernel's variables are its library's, of which there is one for all streams.
        static std::mutex one_at_a_time;
        const std::lock_guard<std::mutex> lock(one_at_a_time);
        change_thread_order();
        kernel->run(argument.data(), blocks, threads, &block_functions());
      });
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
  driver.cuStreamBeginCapture_v2 = begin_capture;
  driver.cuStreamEndCapture = end_capture;
  driver.cuGraphInstantiateWithFlags = instantiate;
  driver.cuGraphLaunch = launch_graph;
  driver.cuGraphExecDestroy = destroy_made_graph;
  driver.cuGraphDestroy = destroy_graph;
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

bool put_into(CUstream stream, std::function<void()> work) {
  return of(stream).put(std::move(work)) == CUDA_SUCCESS;
}

int fake_graph_launches() {
  return graph_launches;
}
int live_fake_graphs() {
  return live_graphs;
}

cuda::Toolkit fake_toolkit() {
  cuda::Toolkit toolkit = {[]() -> Result<const cuda::Driver*> { return &fake_driver(); },
                           &fake_nvrtc, &fake_cublaslt};
#if defined(SOFTNEURO_HAS_CUDNN)
  toolkit.cudnn = &fake_cudnn;
#endif
  return toolkit;
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

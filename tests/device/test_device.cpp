#include "device/test_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <thread>

#include "adapt/device_copy.h"
#include "core/base/alignment.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "support/settable_clock.h"

namespace softneuro::test {
namespace {

constexpr std::size_t kAddresses = std::size_t{1} << 34;  // reserved, mostly never used

Status failed(const char* what) {
  return make_error(StatusCode::device_failed, "the test device failed: {}", what);
}
Status lost() {
  return make_error(StatusCode::device_failed, "the test device is lost");
}

// The same pages twice: at addresses that the host cannot touch, which are the device's, and at
// others for the device's own work.
class Pages {
 public:
  Pages() {
    const int file = memfd_create("test device", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(kAddresses)) != 0) std::abort();
    real_ = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file);
    shown_ = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    close(file);
  }
  ~Pages() {
    munmap(real_, kAddresses);
    munmap(shown_, kAddresses);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* shown(std::size_t offset) const { return shown_ + offset; }
  std::size_t offset_of(const void* shown) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(shown) - shown_);
  }
  bool has(const void* shown) const {
    return shown >= shown_ && static_cast<const std::byte*>(shown) < shown_ + kAddresses;
  }
  std::byte* real(const void* shown) const { return real_ + offset_of(shown); }
  void forget(std::size_t offset, std::size_t bytes) const {
    madvise(real_ + offset, bytes, MADV_REMOVE);
  }

 private:
  static std::byte* map(int protection, int flags, int file) {
    void* const address = mmap(nullptr, kAddresses, protection, flags, file, 0);
    if (address == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(address);
  }
  std::byte* real_;
  std::byte* shown_;
};

class TestEvent final : public DeviceEvent {
 public:
  std::shared_ptr<double> us = std::make_shared<double>(0);
};

class TestDevice;

// A piece of work that takes `us` by the device's clock.
struct Work {
  double us;
  std::function<Status()> work;
};

class TestStream;

class TestRecording final : public Recording {
 public:
  TestRecording(TestStream& stream, std::vector<Work> work);
  ~TestRecording() override;
  const std::vector<Work>& work() const { return work_; }
  const TestStream& stream() const { return stream_; }

 private:
  TestStream& stream_;
  std::vector<Work> work_;
};

class TestStream final : public Stream {
 public:
  explicit TestStream(TestDevice& device);
  ~TestStream() override;
  Status upload(void* to, const void* from, std::size_t bytes) noexcept override;
  Status download(void* to, const void* from, std::size_t bytes) noexcept override;
  Status synchronize() noexcept override;
  Result<std::unique_ptr<DeviceEvent>> record() noexcept override;
  Result<double> microseconds(const DeviceEvent& from, const DeviceEvent& to) noexcept override {
    return *static_cast<const TestEvent&>(to).us - *static_cast<const TestEvent&>(from).us;
  }
  Status begin_recording() noexcept override;
  Result<std::unique_ptr<Recording>> end_recording() noexcept override;
  Status play(const Recording& recording) noexcept override;
  // What kernels that are at work here share their work out to: nobody.
  ThreadPool& pool() { return *pool_; }
  // Work of a kernel: kept where the stream records.
  Status launch(double us, std::function<Status()> work);
  // What a recording does not stand: an error, and one of the recording, while it records.
  Status refuse(const char* what);
  void wait_until_empty();
  const TestDevice& device() const { return device_; }
  // The one that records in this thread; null: none.
  static TestStream* recording_here() { return recording_here_; }

  int live_recordings = 0;  // of this stream

 private:
  void serve();
  Status put(double us, std::function<Status()> work);

  static thread_local TestStream* recording_here_;

  TestDevice& device_;
  bool records_ = false;
  std::vector<Work> recorded_;
  Status misuse_;  // the first of this recording
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_busy_ = false;
  bool ends_ = false;
  Status error_;    // the first since synchronize()
  double now_ = 0;  // the stream's own clock, microseconds
  SplitMix64 random_{1};
  const std::unique_ptr<ThreadPool> pool_ = create_thread_pool(1).value();
  std::thread thread_;
};

class TestDevice final : public Device {
 public:
  TestDevice(DeviceId id, std::shared_ptr<TestControl> shared)
      : Device(id), control(std::move(shared)) {}
  ~TestDevice() override { pool().trim(); }
  std::string name() const override { return control->name; }
  Result<std::unique_ptr<Stream>> create_stream() noexcept override {
    if (control->is_lost) return lost();
    if (control->fails(Fault::create_stream)) return failed("create_stream");
    return std::unique_ptr<Stream>(std::make_unique<TestStream>(*this));
  }

  const std::shared_ptr<TestControl> control;
  const Pages pages;

 protected:
  Result<void*> allocate_bytes(std::size_t bytes) noexcept override {
    if (control->is_lost) return lost();
    SN_RETURN_IF_ERROR(refuse("memory is allocated"));
    if (control->fails(Fault::allocate) || bytes > control->memory_bytes - control->used_bytes)
      return make_error(StatusCode::out_of_memory, "the test device has no {} bytes", bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    // Never the same address twice, as long as there are others: what is used too late is found.
    constexpr std::size_t kPage = 4096;
    const std::size_t taken = (bytes + 2 * kPage - 1) / kPage * kPage;  // and a page between
    const std::size_t offset = room_for(taken);
    live_[offset] = offset + taken;
    next_ = offset + taken;
    control->used_bytes += bytes;
    std::memset(pages.real(pages.shown(offset)), 0x7f, bytes);  // large, and NaN for float16
    return static_cast<void*>(pages.shown(offset));
  }
  void deallocate_bytes(void* data, std::size_t bytes) noexcept override {
    (void)refuse("memory is freed");
    const std::lock_guard<std::mutex> lock(mutex_);
    pages.forget(pages.offset_of(data), bytes);
    live_.erase(pages.offset_of(data));
    control->used_bytes -= bytes;
  }
  bool keeps_memory() const noexcept override { return control->keeps_memory; }

 private:
  Status refuse(const char* what) const {
    TestStream* const stream = TestStream::recording_here();
    return stream != nullptr && &stream->device() == this ? stream->refuse(what) : Status();
  }
  // From next_ on; from the beginning where the addresses end.
  std::size_t room_for(std::size_t bytes) const {
    std::size_t offset = next_ + bytes > kAddresses ? 0 : next_;
    for (const auto& [begin, end] : live_)
      if (begin < offset + bytes && offset < end) offset = end;
    return offset;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::size_t> live_;  // begin → end of what is allocated
  std::size_t next_ = 0;
};

thread_local TestStream* TestStream::recording_here_ = nullptr;

TestStream::TestStream(TestDevice& device) : device_(device) {
  ++device_.control->live_streams;
  thread_ = std::thread([this] { serve(); });
}

TestStream::~TestStream() {
  if (live_recordings > 0) std::abort();
  if (recording_here_ == this) recording_here_ = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  --device_.control->live_streams;
}

void TestStream::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work next = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    const bool skipped = !error_.ok();
    lock.unlock();
    device_.control->wait_while_held();
    if (const int most = device_.control->delay_us; most > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random_.next() % (most + 1)));
    SettableClock::pass_us(next.us);
    Status status;
    if (device_.control->is_lost)
      status = lost();
    else if (!skipped)
      status = next.work();
    next.work = nullptr;
    lock.lock();
    now_ += next.us;
    if (error_.ok() && !status.ok()) error_ = std::move(status);
    is_busy_ = false;
    --device_.control->pending;
    changed_.notify_all();
  }
}

Status TestStream::put(double us, std::function<Status()> work) {
  if (device_.control->is_lost) return lost();
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back({us, std::move(work)});
  ++device_.control->pending;
  changed_.notify_all();
  return {};
}

Status TestStream::launch(double us, std::function<Status()> work) {
  if (!records_) return put(us + device_.control->launch_us, std::move(work));
  if (device_.control->is_lost) return lost();
  recorded_.push_back({us, std::move(work)});
  return {};
}

Status TestStream::refuse(const char* what) {
  if (!records_) return {};
  Status status = make_error(StatusCode::device_failed, "{} while a stream records", what);
  if (misuse_.ok()) misuse_ = status;
  return status;
}

Status TestStream::upload(void* to, const void* from, std::size_t bytes) noexcept {
  SN_RETURN_IF_ERROR(refuse("something is uploaded"));
  if (device_.control->fails(Fault::upload)) return failed("upload");
  auto copy = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
  return put(device_.control->copy_us, [this, to, copy] {
    std::memcpy(device_.pages.real(to), copy->data(), copy->size());
    return Status();
  });
}

Status TestStream::download(void* to, const void* from, std::size_t bytes) noexcept {
  SN_RETURN_IF_ERROR(refuse("something is downloaded"));
  if (device_.control->fails(Fault::download)) return failed("download");
  return put(device_.control->copy_us, [this, to, from, bytes] {
    std::memcpy(to, device_.pages.real(from), bytes);
    return Status();
  });
}

void TestStream::wait_until_empty() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
}

Status TestStream::synchronize() noexcept {
  SN_RETURN_IF_ERROR(refuse("a stream is waited for"));
  wait_until_empty();
  const std::lock_guard<std::mutex> lock(mutex_);
  Status status = std::move(error_);
  error_ = Status();
  if (status.ok() && device_.control->is_lost) return lost();
  if (status.ok() && device_.control->fails(Fault::synchronize)) return failed("synchronize");
  return status;
}

Result<std::unique_ptr<DeviceEvent>> TestStream::record() noexcept {
  SN_RETURN_IF_ERROR(refuse("an event is put in"));
  if (device_.control->fails(Fault::record)) return failed("record");
  auto event = std::make_unique<TestEvent>();
  SN_RETURN_IF_ERROR(put(0, [this, us = event->us] {
    const std::lock_guard<std::mutex> lock(mutex_);
    *us = now_;
    return Status();
  }));
  return std::unique_ptr<DeviceEvent>(std::move(event));
}

Status TestStream::begin_recording() noexcept {
  if (!device_.control->has_recordings) return Stream::begin_recording();
  SN_RETURN_IF_ERROR(refuse("a recording is begun"));
  if (device_.control->is_lost) return lost();
  if (device_.control->fails(Fault::begin_recording)) return failed("begin_recording");
  records_ = true;
  recording_here_ = this;
  recorded_.clear();
  misuse_ = Status();
  return {};
}

Result<std::unique_ptr<Recording>> TestStream::end_recording() noexcept {
  if (!records_) return Stream::end_recording();
  records_ = false;
  recording_here_ = nullptr;
  if (!misuse_.ok()) return misuse_;
  if (device_.control->is_lost) return lost();
  if (device_.control->fails(Fault::end_recording)) return failed("end_recording");
  return std::unique_ptr<Recording>(std::make_unique<TestRecording>(*this, std::move(recorded_)));
}

Status TestStream::play(const Recording& recording) noexcept {
  SN_RETURN_IF_ERROR(refuse("a recording is played"));
  const auto& played = static_cast<const TestRecording&>(recording);
  if (&played.stream() != this) return failed("a recording of another stream is played");
  if (device_.control->is_lost) return lost();
  if (device_.control->fails(Fault::play)) return failed("play");
  for (const Work& work : played.work()) SN_RETURN_IF_ERROR(put(work.us, work.work));
  return {};
}

TestRecording::TestRecording(TestStream& stream, std::vector<Work> work)
    : stream_(stream), work_(std::move(work)) {
  ++stream_.live_recordings;
  ++stream_.device().control->live_recordings;
}

TestRecording::~TestRecording() {
  stream_.wait_until_empty();
  --stream_.live_recordings;
  --stream_.device().control->live_recordings;
}

// --- routines -----------------------------------------------------------------------------------

Problem on_host(const Problem& problem) {
  Problem host = problem;
  for (TensorSpec& spec : host.inputs) spec.device = DeviceId();
  for (TensorSpec& spec : host.outputs) spec.device = DeviceId();
  return host;
}

// A host kernel on the device's pages, at work when the stream comes to it.
class LaunchedKernel final : public Kernel {
 public:
  LaunchedKernel(const Problem& problem, std::unique_ptr<Kernel> kernel, const TestDevice& device,
                 PackedWeights packed, double us)
      : kernel_(std::move(kernel)), device_(device), packed_(std::move(packed)), us_(us) {
    std::size_t offset = 0;
    for (const TensorSpec& spec : problem.inputs) {
      const bool is_packed = spec.present() && spec.constant;
      constants_.push_back(is_packed ? static_cast<std::ptrdiff_t>(offset) : -1);
      if (is_packed) offset += aligned(spec.value.bytes());
    }
  }

  std::size_t workspace_bytes() const noexcept override { return kernel_->workspace_bytes(); }
  int in_place_input() const noexcept override { return kernel_->in_place_input(); }
  Result<std::unique_ptr<KernelState>> make_state() const override { return kernel_->make_state(); }

  Status run(Context& context) const noexcept override {
    if (device_.control->fails(Fault::launch)) return failed("launch");
    std::vector<TensorView> inputs(context.inputs().begin(), context.inputs().end());
    std::vector<TensorView> outputs(context.outputs().begin(), context.outputs().end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (constants_[i] >= 0)
        inputs[i].data = packed_.on_device == nullptr  // no bytes
                             ? nullptr
                             : static_cast<std::byte*>(packed_.on_device->data()) + constants_[i];
      SN_RETURN_IF_ERROR(to_real(inputs[i]));
    }
    for (TensorView& output : outputs) SN_RETURN_IF_ERROR(to_real(output));
    std::byte* const workspace =
        kernel_->workspace_bytes() > 0 ? device_.pages.real(context.workspace()) : nullptr;
    auto& stream = static_cast<TestStream&>(*context.stream());
    const double us = has_run_.exchange(true) ? us_ : us_ + device_.control->first_run_us;
    return stream.launch(
        us, [this, &stream, inputs = std::move(inputs), outputs = std::move(outputs), workspace,
             state = context.state()]() mutable {
          Context inside(inputs, outputs, workspace, stream.pool());
          inside.set_state(state);
          return kernel_->run(inside);
        });
  }

 private:
  // Whoever passes memory of the host here has not understood.
  Status to_real(TensorView& view) const {
    if (!view.present() || view.elements() == 0) return {};
    if (!device_.pages.has(view.data)) return failed("a tensor of a kernel is on the host");
    view.data = device_.pages.real(view.data);
    return {};
  }

  std::unique_ptr<Kernel> kernel_;
  const TestDevice& device_;
  PackedWeights packed_;
  double us_;
  mutable std::atomic<bool> has_run_ = false;
  std::vector<std::ptrdiff_t> constants_;  // by input: where in packed_, or −1
};

class TestImplementation final : public Implementation {
 public:
  // `host`: of cpu/naive.
  TestImplementation(ProblemPtr problem, const RoutineContext& context, const TestDevice& device,
                     ImplementationPtr host)
      : Implementation(std::move(problem), context), device_(device), host_(std::move(host)) {}

  Result<Packing> packing(const RoutineParams&) const override {
    Packing packing;
    for (const TensorSpec& spec : problem().inputs)
      if (spec.present() && spec.constant)
        packing.bytes +=
            aligned(static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, Layout::plain)));
    return packing;
  }
  Status pack(const RoutineParams&, Allocator&, std::byte* packed) const override {
    for (const TensorSpec& spec : problem().inputs) {
      if (!spec.present() || !spec.constant) continue;
      const std::size_t bytes = spec.value.bytes(), whole = aligned(bytes);
      if (bytes > 0) std::memcpy(packed, spec.value.data(), bytes);
      std::memset(packed + bytes, 0, whole - bytes);
      packed += whole;
    }
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    const auto& gives_none = device_.control->gives_no_kernel;
    if (gives_none && gives_none(routine().descriptor().str(), problem()))
      return failed("it gives no kernel");
    SN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, host_->create(host_->default_params()));
    const auto& microseconds = device_.control->microseconds;
    return std::unique_ptr<Kernel>(
        std::make_unique<LaunchedKernel>(problem(), std::move(kernel), device_, packed,
                                         microseconds ? microseconds(problem()) : 0.0));
  }

 private:
  const TestDevice& device_;
  ImplementationPtr host_;
};

class TestRoutine final : public Routine {
 public:
  TestRoutine(const std::string& layer_type, const TestDevice& device, const std::string& name)
      : Routine(layer_type, device.id().c_str() + name), device_(device) {}

 protected:
  bool supports_post_ops(const Problem&) const override { return true; }
  Applicability applicable(const Problem& problem) const override {
    const auto& refuses = device_.control->refuses;
    return refuses && refuses(descriptor().str(), problem)
               ? Applicability::no("the test refuses it")
               : Applicability::yes();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    const Routine& naive = *context.registry().find(layer_type(), "cpu/naive");
    SN_ASSIGN_OR_RETURN(ImplementationPtr host, context.implement(naive, on_host(*problem)));
    return make_implementation_of<TestImplementation>(std::move(problem), context, device_,
                                                      std::move(host));
  }

 private:
  const TestDevice& device_;
};

// Shapes that depend on data are the host's business, and copies have their own routine.
bool works_there(const Routine& routine, const Registry& registry) {
  const LayerType& type = *registry.layer_types().find(routine.layer_type());
  return !type.is_adapt() && !type.data_dependent_output;
}

}  // namespace

Status add_test_device(Registry& registry, std::shared_ptr<TestControl> control, DeviceId id) {
  auto device = std::make_unique<TestDevice>(id, std::move(control));
  const TestDevice& added = *device;
  SN_RETURN_IF_ERROR(add_device(registry, std::move(device)));
  for (const Routine* routine : registry.all())
    if (routine->descriptor().str() == "cpu/naive" && works_there(*routine, registry))
      for (const std::string& name : added.control->routines)
        SN_RETURN_IF_ERROR(
            registry.add(std::make_unique<TestRoutine>(routine->layer_type(), added, name)));
  return {};
}

}  // namespace softneuro::test

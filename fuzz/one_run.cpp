#include "one_run.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "core/base/element.h"
#include "core/base/tensor_view.h"
#include "core/plan/plan_impl.h"
#include "core/routine/layer_cost.h"
#include "net/net_access.h"
#include "numeric/library_routines.h"

namespace softneuro::fuzz {
namespace {

// By layer_steps(): with sanitizers about a second.
constexpr double kMostSteps = 2e7;
// Layers whose shapes depend on data are not in that sum: a run that takes longer is cancelled.
constexpr std::chrono::seconds kLongestRun{1};

// Sets `cancel` when the time is over, from a thread of its own: within a layer too.
class Watchdog {
 public:
  explicit Watchdog(std::atomic<bool>& cancel) : thread_([this, &cancel] { wait(cancel); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void wait(std::atomic<bool>& cancel) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, kLongestRun, [this] { return ended_; })) cancel = true;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

// Only the sizes that the model leaves open; equal ones, since symbols may ask for that.
NamedShapes shapes_for(const Net& net, std::int64_t size) {
  NamedShapes shapes;
  for (const TensorInfo& input : net.inputs()) {
    if (input.shape.is_static()) continue;
    Shape shape;
    const int rank = input.shape.ranked() ? input.shape.rank() : 2;
    for (int axis = 0; axis < rank; ++axis)
      shape.push_back(input.shape.ranked() && input.shape[axis].known() ? input.shape[axis].value
                                                                        : size);
    shapes.emplace(input.name, shape);
  }
  return shapes;
}

// Small whole numbers, which also serve as indices; any bits, in one of four nets.
void fill(Tensor& tensor, std::mt19937_64& random, bool any_bits) {
  if (any_bits && tensor.data_type() != DataType::boolean) {
    auto* const bytes = static_cast<unsigned char*>(tensor.mutable_data());
    for (std::size_t i = 0; i < tensor.bytes(); ++i)
      bytes[i] = static_cast<unsigned char>(random());
    return;
  }
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    store(view, i, static_cast<double>(random() % 4) - (is_float(view.type) ? 1.5 : 0));
}

bool is_much_work(const Plan& plan) {
  double steps = 0;
  for (const Step& step : impl_of(plan).steps) {
    if (step.data_dependent || step.view) continue;
    const Result<Problem> problem = problem_of(impl_of(plan), *step.layer);
    if (problem.ok()) steps += layer_steps(*problem);
  }
  return !(steps <= kMostSteps);
}

}  // namespace

void* SmallAllocator::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > kMostBytes || taken_.fetch_add(bytes) + bytes > kMostBytes) {
    if (bytes <= kMostBytes) taken_ -= bytes;
    return nullptr;
  }
  return default_allocator().allocate(bytes, alignment);
}

void SmallAllocator::deallocate(void* pointer, std::size_t bytes) noexcept {
  taken_ -= bytes;
  default_allocator().deallocate(pointer, bytes);
}

NetOptions small_options(SmallAllocator& allocator) {
  NetOptions options;
  options.threads = 1;
  options.allocator = &allocator;
  options.plugins = {"none"};
  return options;
}

void add_library_routines(const Net& net) {
  // Nothing is planned yet: adding routines is safe.
  static_cast<void>(test::add_library_routines(const_cast<Registry&>(NetAccess::registry(net))));
}

void run_once(const Net& net, std::uint64_t seed, SmallAllocator& allocator) {
  std::mt19937_64 random(seed);
  const auto plan = net.plan(shapes_for(net, 1 + static_cast<std::int64_t>(random() % 4)));
  if (!plan.ok() || is_much_work(**plan)) return;
  const bool any_bits = random() % 4 == 0;
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : (*plan)->inputs()) {
    Result<Tensor> input = Tensor::create(info.type, info.shape.to_shape(), allocator);
    if (!input.ok()) return;
    fill(*input, random, any_bits);
    inputs.push_back(std::move(*input));
  }
  Result<Session> session = Session::create(*plan, {&allocator});
  if (!session.ok()) return;
  std::vector<Tensor> outputs((*plan)->outputs().size());
  std::atomic<bool> cancel = false;
  const Watchdog watchdog(cancel);
  RunOptions options;
  options.cancel = &cancel;
  static_cast<void>(session->run(inputs, outputs, options).ok());
}

void finding(const char* what, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  std::abort();
}

}  // namespace softneuro::fuzz

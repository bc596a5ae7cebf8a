// Session::run on a planned shape allocates nothing and writes nothing: counted, not believed.
//
// The program interposes malloc and its relatives, mmap and write for all libraries of the
// process, and counts the calls while Session::run is on the stack of any thread. Plans of the
// library's own routines: default ones, and tuned ones. (oneDNN's allocate,
// docs/internals/threads.md.)
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "softneuro/softneuro.h"
#include "support/new_threads.h"

namespace {

std::atomic<bool> g_counting{false};
std::atomic<int> g_calls{0};

void count() {
  if (g_counting.load(std::memory_order_relaxed)) g_calls.fetch_add(1, std::memory_order_relaxed);
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): what the C library names them.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}
void* realloc(void* pointer, std::size_t bytes) {
  count();
  return __libc_realloc(pointer, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  count();
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 /* ENOMEM */ : 0;
}
void* mmap(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
  count();
  static const auto real = next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  return real(address, length, protection, flags, fd, offset);
}
ssize_t write(int fd, const void* data, std::size_t bytes) {
  count();
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return real(fd, data, bytes);
}

}  // extern "C"

namespace sn = softneuro;

namespace {

int check_runs(const std::string& model, int threads, bool tuned) {
  const softneuro::test::NewThreads made;
  sn::Net net = sn::Net::import(model, {.threads = threads, .plugins = {"none"}}).value();
  sn::NamedShapes shapes;
  for (const sn::TensorInfo& input : net.inputs()) {
    sn::Shape shape;
    for (const sn::Dim& dim : input.shape.dims()) shape.push_back(dim.known() ? dim.value : 2);
    shapes[input.name] = shape;
  }
  if (tuned && !net.tune({.shapes = shapes, .cache = {.disabled = true}}).ok()) return 1;
  const auto plan = net.plan(shapes).value();
  sn::Session session = sn::Session::create(plan).value();
  std::vector<sn::Tensor> inputs;
  for (const sn::TensorInfo& input : plan->inputs()) {
    inputs.push_back(sn::Tensor::create(input.type, input.shape.to_shape()).value());
    std::fill_n(static_cast<unsigned char*>(inputs.back().mutable_data()), inputs.back().bytes(),
                static_cast<unsigned char>(0));
  }
  std::vector<sn::Tensor> outputs(plan->outputs().size());
  g_calls = 0;
  bool failed = false;
  for (int i = 0; i < 20; ++i) {
    g_counting = true;  // from the very first run on
    failed |= !session.run(inputs, outputs).ok();
    g_counting = false;
  }
  // The same by name, the outputs in the session's memory.
  for (std::size_t i = 0; i < inputs.size(); ++i)
    failed |= !session.set_input(plan->inputs()[i].name, inputs[i]).ok();
  const std::string& output = plan->outputs()[0].name;
  for (int i = 0; i < 20; ++i) {
    g_counting = true;
    failed |= !session.run().ok() || !session.output(output).ok();
    g_counting = false;
  }
  for (int i = 0; i < 20; ++i) {
    g_counting = true;
    failed |= !session.run_async().ok() || !session.wait().ok();
    g_counting = false;
  }
  std::printf("%s, %s, %d thread(s): %d allocations or writes in 20 runs, and 40 by name\n",
              model.c_str(), tuned ? "tuned" : "untuned", threads, g_calls.load());

  // An idle process with a loaded net uses no processor time.
  const bool idle = made.stay_asleep();
  if (!idle) std::printf("%s: a thread of the idle net is awake\n", model.c_str());
  return failed || g_calls != 0 || !idle ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A counter that never counts would pass: show that it does.
  g_counting = true;
  void* volatile probe = std::malloc(1);
  g_counting = false;
  std::free(probe);
  if (g_calls == 0) {
    std::printf("the interposed malloc is not called\n");
    return 1;
  }
  int failed = 0;
  for (int i = 1; i < argc; ++i)
    for (const int threads : {1, 2})
      for (const bool tuned : {false, true}) failed |= check_runs(argv[i], threads, tuned);
  return failed;
}

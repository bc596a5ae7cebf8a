#include "core/base/workers.h"

namespace softneuro {

void Workers::run(std::int64_t count, ThreadPool::Task task, void* context) const noexcept {
  if (count <= 0) return;
  struct Work {
    const Workers& workers;
    ThreadPool::Task task;
    void* context;
  } work{*this, task, context};
  if (cancellation_ != nullptr) {
    context = &work;
    task = [](void* self, std::size_t i) {
      const Work& w = *static_cast<const Work*>(self);
      if (!w.workers.cancelled()) w.task(w.context, i);
    };
  }
  const auto tasks = static_cast<std::size_t>(count);
  if (count > 1 && concurrency() > 1) return pool_->run(tasks, task, context);
  for (std::size_t i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace softneuro

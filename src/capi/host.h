// What a C host brings – memory, threads, a log – as the C++ interfaces want it.
#pragma once

#include <memory>
#include <vector>

#include "softneuro/c_api.h"
#include "softneuro/net.h"

namespace softneuro::capi {

class HostAllocator final : public Allocator {
 public:
  explicit HostAllocator(const sn_allocator& host) : host_(host) {}
  // Null, too, where the host forgot the alignment: kernels rely on it.
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* pointer, std::size_t bytes) noexcept override {
    host_.deallocate(host_.context, pointer, bytes);
  }

 private:
  sn_allocator host_;
};

class HostThreadPool final : public ThreadPool {
 public:
  explicit HostThreadPool(const sn_thread_pool& host) : host_(host) {}
  int concurrency() const noexcept override;
  void run(std::size_t count, Task task, void* context) noexcept override {
    host_.run(host_.context, count, task, context);
  }

 private:
  sn_thread_pool host_;
};

// Outlives everything that is made with it: each handle shares it.
struct Host {
  std::unique_ptr<HostAllocator> allocator;
  std::unique_ptr<HostThreadPool> thread_pool;
};

// Null for null.
Result<std::unique_ptr<HostAllocator>> host_allocator(const sn_allocator* given);
// The C++ options for `given`, over a fresh host.
SN_INTREE Result<NetOptions> net_options(const sn_net_options* given, std::shared_ptr<Host>& host);

}  // namespace softneuro::capi

#include "capi/host.h"

#include <algorithm>
#include <string>

#include "capi/structs.h"

namespace softneuro::capi {
namespace {

LogCallback log_callback(const sn_net_options& options) {
  if (options.log == nullptr) return {};
  return
      [log = options.log, context = options.log_context](LogLevel level, std::string_view message) {
        const std::string text(message);  // with an end, which string views lack
        log(context, static_cast<sn_log_level>(level), text.c_str());
      };
}

}  // namespace

void* HostAllocator::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  void* const pointer = host_.allocate(host_.context, bytes, alignment);
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0) return pointer;
  host_.deallocate(host_.context, pointer, bytes);
  return nullptr;
}

int HostThreadPool::concurrency() const noexcept {
  return std::max<int>(host_.concurrency(host_.context), 1);
}

Result<std::unique_ptr<HostAllocator>> host_allocator(const sn_allocator* given) {
  if (given == nullptr) return std::unique_ptr<HostAllocator>();
  SN_ASSIGN_OR_RETURN(const sn_allocator host, read(given, "sn_allocator"));
  if (host.allocate == nullptr) return invalid_argument("sn_allocator.allocate is null");
  if (host.deallocate == nullptr) return invalid_argument("sn_allocator.deallocate is null");
  return std::make_unique<HostAllocator>(host);
}

Result<NetOptions> net_options(const sn_net_options* given, std::shared_ptr<Host>& host) {
  SN_ASSIGN_OR_RETURN(const sn_net_options options, read(given, "sn_net_options"));
  host = std::make_shared<Host>();
  NetOptions result;
  if (options.threads < 0)
    return invalid_argument("sn_net_options.threads is {}: expected 0 to 1024", options.threads);
  result.threads = options.threads;
  SN_ASSIGN_OR_RETURN(host->allocator, host_allocator(options.allocator));
  result.allocator = host->allocator.get();
  if (options.thread_pool != nullptr) {
    SN_ASSIGN_OR_RETURN(const sn_thread_pool pool, read(options.thread_pool, "sn_thread_pool"));
    if (pool.concurrency == nullptr) return invalid_argument("sn_thread_pool.concurrency is null");
    if (pool.run == nullptr) return invalid_argument("sn_thread_pool.run is null");
    host->thread_pool = std::make_unique<HostThreadPool>(pool);
    result.thread_pool = host->thread_pool.get();
  }
  result.log = log_callback(options);
  if (options.verify != SN_VERIFY_FULL && options.verify != SN_VERIFY_STRUCTURE)
    return invalid_argument(
        "sn_net_options.verify is {}: expected SN_VERIFY_FULL (0) or SN_VERIFY_STRUCTURE (1)",
        options.verify);
  result.verify = static_cast<Verify>(options.verify);
  SN_ASSIGN_OR_RETURN(result.schemas,
                      texts_from(options.schemas, options.schema_count, "sn_net_options.schemas"));
  SN_ASSIGN_OR_RETURN(result.plugins,
                      texts_from(options.plugins, options.plugin_count, "sn_net_options.plugins"));
  if (options.max_plans > 0) result.max_plans = options.max_plans;
  if (options.device != nullptr) result.device = options.device;
  result.device_memory = options.device_memory;
  return result;
}

}  // namespace softneuro::capi

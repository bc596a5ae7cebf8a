// Reads .dnn files, plans and runs what they hold.
#include "core/base/checksum.h"
#include "one_run.h"
#include "support/dnn_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softneuro;
  fuzz::SmallAllocator allocator;
  const NetOptions options = fuzz::small_options(allocator);
  static_cast<void>(Net::load_memory(data, size, options).ok());
  // Nearly every change breaks a checksum; with the right ones the rest of the reader sees it.
  const auto file = test::resealed({reinterpret_cast<const std::byte*>(data), size});
  const Result<Net> net = Net::load_memory(file.data(), file.size(), options);
  if (!net.ok()) return 0;
  fuzz::add_library_routines(*net);
  fuzz::run_once(*net, checksum(data, size), allocator);
  return 0;
}

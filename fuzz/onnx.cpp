// Imports ONNX models; what the importer takes can be saved, loaded, planned and run.
#include "core/base/checksum.h"
#include "core/dnn/file.h"
#include "net/net_access.h"
#include "one_run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softneuro;
  fuzz::SmallAllocator allocator;
  const NetOptions options = fuzz::small_options(allocator);
  const Result<Net> imported = Net::import_memory(data, size, options);
  if (!imported.ok()) return 0;
  const Result<Tensor> file = serialize_dnn(NetAccess::graph(*imported), allocator);
  if (!file.ok()) {
    if (file.status().code() != StatusCode::out_of_memory)
      fuzz::finding("imported, but not saved", file.status());
    return 0;
  }
  const Result<Net> net = Net::load_memory(file->data(), file->bytes(), options);
  if (!net.ok()) {
    if (net.status().code() != StatusCode::out_of_memory)
      fuzz::finding("saved, but not loaded", net.status());
    return 0;
  }
  fuzz::add_library_routines(*net);
  fuzz::run_once(*net, checksum(data, size), allocator);
  return 0;
}

// A file's bytes in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "softneuro/allocator.h"
#include "softneuro/status.h"

namespace softneuro {

struct FileBytes {
  std::span<const std::byte> bytes;   // aligned to kTensorAlignment
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  bool mapped = false;  // false: read into memory of the allocator, where mapping is impossible
};

// Maps a regular file, privately and read-only. A process that shortens the file while it is mapped
// makes later reads fault: files are to be replaced by renaming, as AtomicFile does.
SN_INTREE Result<FileBytes> map_file(const std::string& path, Allocator& allocator);
// The same for a file that is open already; `name` is for messages. Leaves the descriptor open.
SN_INTREE Result<FileBytes> map_descriptor(int descriptor, const std::string& name,
                                           Allocator& allocator);
// So many bytes that are zero, and take no memory. out_of_memory.
SN_INTREE Result<std::shared_ptr<const void>> map_zeros(std::size_t bytes);

}  // namespace softneuro

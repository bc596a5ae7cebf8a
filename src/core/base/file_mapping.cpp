#include "core/base/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/tensor_view.h"

namespace softneuro {
namespace {

Status cannot_read(const std::string& path, int error_number) {
  const StatusCode code = error_number == ENOENT || error_number == ENOTDIR ? StatusCode::not_found
                                                                            : StatusCode::io_error;
  return make_error(code, "cannot read {}: {}", path, error_text(error_number));
}

Result<FileBytes> read_file(const std::string& path, int descriptor, std::size_t size,
                            Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(Tensor memory, allocate_bytes(size, allocator));
  auto* const base = static_cast<std::byte*>(memory.mutable_data());
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count =
        pread(descriptor, base + done, std::min(size - done, std::size_t{1} << 30),
              static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_read(path, errno);
    if (count == 0) return make_error(StatusCode::io_error, "{} shrank while it was read", path);
    done += static_cast<std::size_t>(count);
  }
  return FileBytes{{base, size}, std::make_shared<Tensor>(std::move(memory)), false};
}

}  // namespace

Result<FileBytes> map_file(const std::string& path, Allocator& allocator) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return invalid_argument("cannot read a file: its path is empty or holds a zero byte");
  // O_NONBLOCK: a pipe without a writer must not hang us; it has no effect on regular files.
  const FileDescriptor file(open_descriptor(path.c_str(), O_RDONLY | O_NONBLOCK, 0));
  if (!file.ok()) return cannot_read(path, errno);
  return map_descriptor(file.get(), path, allocator);
}

Result<FileBytes> map_descriptor(int descriptor, const std::string& path, Allocator& allocator) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return cannot_read(path, errno);
  if (!S_ISREG(info.st_mode))
    return make_error(StatusCode::io_error, "cannot read {}: it is not a regular file", path);
  if (info.st_size == 0) return FileBytes{};
  if (static_cast<std::uint64_t>(info.st_size) > static_cast<std::uint64_t>(PTRDIFF_MAX))
    return make_error(StatusCode::io_error, "cannot read {}: too large to be mapped", path);

  const auto size = static_cast<std::size_t>(info.st_size);
  void* const base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (base == MAP_FAILED) return read_file(path, descriptor, size, allocator);
  std::shared_ptr<const void> owner(
      base, [size](const void* address) { munmap(const_cast<void*>(address), size); });
  return FileBytes{{static_cast<const std::byte*>(base), size}, std::move(owner), true};
}

Result<std::shared_ptr<const void>> map_zeros(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* const base =
      mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return make_error(StatusCode::out_of_memory, "there are no {} bytes of address space", bytes);
  return std::shared_ptr<const void>(
      base, [size](const void* address) { munmap(const_cast<void*>(address), size); });
}

}  // namespace softneuro

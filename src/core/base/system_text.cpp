#include "core/base/system_text.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace softneuro {

std::string read_system_text(const char* path) {
  constexpr std::size_t kLongest = 64 << 10;
  std::string text;
  const FileDescriptor file(open_descriptor(path, O_RDONLY, 0));
  if (!file.ok()) return text;
  // The kernel gives such files a page at a time.
  char part[4096];
  for (ssize_t bytes = 1; bytes > 0 && text.size() < kLongest;) {
    bytes = read(file.get(), part, sizeof part);
    if (bytes > 0) text.append(part, static_cast<std::size_t>(bytes));
  }
  return text;
}

}  // namespace softneuro

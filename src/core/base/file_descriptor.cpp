#include "core/base/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace softneuro {

int open_descriptor(const char* path, int flags, unsigned mode) noexcept {
  int descriptor = -1;
  do {
    descriptor = open(path, flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0 || descriptor > 2) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  close(descriptor);
  errno = error;
  return moved;
}

std::string error_text(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace softneuro

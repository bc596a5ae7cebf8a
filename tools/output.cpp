#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

#include "command.h"

namespace softneuro::tool {

void prepare_output() {
  // open() gives the lowest descriptor that is free: the closed one. Each is opened for what its
  // stream is not for.
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  // A handler, which commands that this one starts do not inherit; ignored signals they would.
  std::signal(SIGPIPE, [](int) {});
}

int end_of_output(int status) {
  errno = 0;
  std::cout.flush();  // --help and --version
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  print_error("softneuro: standard output cannot be written{}{}\n", errno == 0 ? "" : ": ",
              errno == 0 ? "" : std::strerror(errno));
  return status == kDone ? kFailed : status;
}

}  // namespace softneuro::tool

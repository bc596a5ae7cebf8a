#include "net_log.h"

#include <unistd.h>

#include "output.h"

namespace softneuro::tool {

LogCallback net_log(bool verbose, bool quiet) {
  if (quiet) return {};
  return [verbose](LogLevel level, std::string_view message) {
    if (level < LogLevel::warning && !verbose) return;
    // A bar of progress may stand in the line.
    if (isatty(STDERR_FILENO) != 0) print_error("\r\033[K");
    if (level < LogLevel::warning)
      print_error("{}\n", message);
    else
      print_error("softneuro: {}: {}\n", level == LogLevel::error ? "error" : "warning", message);
  };
}

}  // namespace softneuro::tool

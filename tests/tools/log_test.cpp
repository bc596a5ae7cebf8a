// What of a net's log the tool shows, and where.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "net_log.h"

using namespace softneuro;
using namespace softneuro::tool;

namespace {

// What a net that logs one line of each level makes of the two streams.
struct Streams {
  std::string out, err;
};

std::string text_of(std::FILE* file) {
  std::string text;
  char buffer[256];
  std::rewind(file);
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, n);
  std::fclose(file);
  return text;
}

Streams logged(bool verbose, bool quiet) {
  std::fflush(stdout);
  std::fflush(stderr);
  std::FILE* const out = std::tmpfile();
  std::FILE* const err = std::tmpfile();
  REQUIRE((out != nullptr && err != nullptr));
  const int old_out = dup(STDOUT_FILENO), old_err = dup(STDERR_FILENO);
  dup2(fileno(out), STDOUT_FILENO);
  dup2(fileno(err), STDERR_FILENO);
  if (const LogCallback log = net_log(verbose, quiet)) {
    log(LogLevel::debug, "a debug line");
    log(LogLevel::info, "an info line");
    log(LogLevel::warning, "a warning");
    log(LogLevel::error, "an error");
  }
  std::fflush(stdout);
  std::fflush(stderr);
  dup2(old_out, STDOUT_FILENO);
  dup2(old_err, STDERR_FILENO);
  close(old_out);
  close(old_err);
  return {text_of(out), text_of(err)};
}

}  // namespace

TEST_CASE("the tool shows warnings and errors without being asked, on standard error") {
  const Streams streams = logged(false, false);
  CHECK(streams.err == "softneuro: warning: a warning\nsoftneuro: error: an error\n");
  CHECK(streams.out.empty());
}

TEST_CASE("the tool shows all of the log with -v, and nothing with -q") {
  const Streams verbose = logged(true, false);
  CHECK(verbose.err ==
        "a debug line\nan info line\nsoftneuro: warning: a warning\nsoftneuro: error: an error\n");
  CHECK(verbose.out.empty());
  const Streams quiet = logged(false, true);
  CHECK(quiet.err.empty());
  CHECK(quiet.out.empty());
}

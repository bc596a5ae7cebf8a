#include "onnx_backend/isolated_runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace softneuro::test {
namespace {

// What a child sends for each test: outcome and length, then the message.
struct Packet {
  std::int32_t outcome = 0;
  std::uint32_t length = 0;
};

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(descriptor, from, bytes);
    if (written <= 0) return false;
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

enum class Read { done, closed, late };

Read read_all(int descriptor, void* data, std::size_t bytes, int timeout_seconds) {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout_seconds * 1000);
    if (ready == 0) return Read::late;
    const ssize_t count = ready < 0 ? -1 : read(descriptor, to, bytes);
    if (count <= 0) return Read::closed;
    to += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return Read::done;
}

[[noreturn]] void run_child(int descriptor, std::size_t first, std::size_t last,
                            const std::function<TestResult(std::size_t)>& run) {
  for (std::size_t i = first; i < last; ++i) {
    TestResult result = run(i);
    result.message.resize(std::min<std::size_t>(result.message.size(), 2000));
    const Packet packet{static_cast<std::int32_t>(result.outcome),
                        static_cast<std::uint32_t>(result.message.size())};
    if (!write_all(descriptor, &packet, sizeof(packet)) ||
        !write_all(descriptor, result.message.data(), result.message.size()))
      _exit(1);
  }
  _exit(0);
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

void run_isolated(std::size_t count, int timeout_seconds,
                  const std::function<TestResult(std::size_t)>& run,
                  const std::function<void(std::size_t, TestResult)>& report) {
  // Bounded, so that memory that a test leaves behind does not add up.
  constexpr std::size_t per_child = 100;
  std::size_t next = 0;
  while (next < count) {
    const std::size_t last = std::min(count, next + per_child);
    int ends[2];
    if (pipe(ends) != 0) return;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      run_child(ends[1], next, last, run);
    }
    close(ends[1]);
    Read read = Read::done;
    while (next < last) {
      Packet packet;
      read = read_all(ends[0], &packet, sizeof(packet), timeout_seconds);
      if (read != Read::done) break;
      TestResult result{static_cast<Outcome>(packet.outcome), std::string(packet.length, '\0')};
      read = read_all(ends[0], result.message.data(), packet.length, timeout_seconds);
      if (read != Read::done) break;
      report(next++, std::move(result));
    }
    if (read == Read::late) kill(child, SIGKILL);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (read == Read::late)
      report(next++, {Outcome::timed_out, fmt::format("after {} seconds", timeout_seconds)});
    else if (read == Read::closed)
      report(next++, {Outcome::crashed, describe_end(status)});
  }
}

}  // namespace softneuro::test

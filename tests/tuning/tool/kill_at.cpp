// A library to preload that ends the process at its n-th change of a file: kill_test.cpp.
//
// Calls that change what is on disk are counted (opens for writing, writes, syncs, truncations,
// renames, links, removals, new folders), but for writes to standard output and error. In the
// environment:
//   KILL_AT      the number of the call that is not made any more: SIGKILL instead. 0: none
//   KILL_TORN    set: only writes are counted, and half of the last one's bytes are written
//   KILL_LOG     a file that gets a line for each call: its name
// The real calls are system calls, so that nothing has to be looked up.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <string>

namespace {

void log_call(const std::string& name) {
  const char* const path = std::getenv("KILL_LOG");
  if (path == nullptr) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0) return;
  const std::string line = name + '\n';
  (void)syscall(SYS_write, file, line.data(), line.size());
  (void)syscall(SYS_close, file);
}

bool is_torn() {
  return std::getenv("KILL_TORN") != nullptr;
}

// Whether this is the call at which to end.
bool is_the_one(const char* name) {
  static std::atomic<long> calls{0};
  static const long last = [] {
    const char* const text = std::getenv("KILL_AT");
    return text == nullptr ? 0 : std::atol(text);
  }();
  log_call(name);
  return ++calls == last;
}

[[noreturn]] void end() {
  (void)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

// Before everything but a write.
void count(const char* name) {
  if (!is_torn() && is_the_one(name)) end();
}

// Before a write: whether half of it is to be done before the end.
bool count_write(const char* name, int file) {
  if (file == STDOUT_FILENO || file == STDERR_FILENO || !is_the_one(name)) return false;
  if (!is_torn()) end();
  return true;
}

ssize_t write_at(const char* name, int file, const void* bytes, std::size_t size, off_t place) {
  if (!count_write(name, file)) return syscall(SYS_pwrite64, file, bytes, size, place);
  (void)syscall(SYS_pwrite64, file, bytes, size / 2, place);
  end();
}

int open_file(int folder, const char* path, int flags, unsigned mode) {
  const bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  if (changes) count("open");
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

// The argument behind `flags`, which is there only if a file may be made.
unsigned mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
}

}  // namespace

#define OPEN_WITH_MODE(folder)                     \
  va_list arguments;                               \
  va_start(arguments, flags);                      \
  const unsigned mode = mode_of(flags, arguments); \
  va_end(arguments);                               \
  return open_file(folder, path, flags, mode)

#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...) {
  OPEN_WITH_MODE(AT_FDCWD);
}
int open64(const char* path, int flags, ...) {
  OPEN_WITH_MODE(AT_FDCWD);
}
int openat(int folder, const char* path, int flags, ...) {
  OPEN_WITH_MODE(folder);
}
int openat64(int folder, const char* path, int flags, ...) {
  OPEN_WITH_MODE(folder);
}
// What the headers make of calls with constant flags where the compiler fortifies them.
int __open_2(const char* path, int flags) {
  return open_file(AT_FDCWD, path, flags, 0);
}
int __open64_2(const char* path, int flags) {
  return open_file(AT_FDCWD, path, flags, 0);
}
int creat(const char* path, mode_t mode) {
  return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

ssize_t write(int file, const void* bytes, size_t size) {
  if (!count_write("write", file)) return syscall(SYS_write, file, bytes, size);
  (void)syscall(SYS_write, file, bytes, size / 2);
  end();
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t place) {
  return write_at("pwrite", file, bytes, size, place);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t place) {
  return write_at("pwrite", file, bytes, size, place);
}
ssize_t writev(int file, const iovec* parts, int parts_count) {
  if (!count_write("writev", file)) return syscall(SYS_writev, file, parts, parts_count);
  (void)syscall(SYS_write, file, parts[0].iov_base, parts[0].iov_len / 2);
  end();
}

int fsync(int file) {
  count("fsync");
  return static_cast<int>(syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  count("fdatasync");
  return static_cast<int>(syscall(SYS_fdatasync, file));
}
int ftruncate(int file, off_t size) noexcept {
  count("ftruncate");
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int ftruncate64(int file, off64_t size) noexcept {
  count("ftruncate");
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int rename(const char* from, const char* to) noexcept {
  count("rename");
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  count("renameat");
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  count("renameat2");
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int link(const char* from, const char* to) noexcept {
  count("link");
  return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  count("linkat");
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int unlink(const char* path) noexcept {
  count("unlink");
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  count("unlink");
  return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}
int mkdir(const char* path, mode_t mode) noexcept {
  count("mkdir");
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int fchmod(int file, mode_t mode) noexcept {
  count("fchmod");
  return static_cast<int>(syscall(SYS_fchmod, file, mode));
}
int fallocate(int file, int mode, off_t place, off_t size) {
  count("fallocate");
  return static_cast<int>(syscall(SYS_fallocate, file, mode, place, size));
}

}  // extern "C"
#pragma GCC visibility pop

#include "core/base/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/file_descriptor.h"

namespace softneuro {
namespace {

// Pieces that every system takes; Linux itself stops at 2 GiB.
constexpr std::size_t kMaxWrite = std::size_t{1} << 30;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "./";
  return path.substr(0, slash + 1);
}

constexpr std::string_view kPrefix = ".softneuro-", kSuffix = ".tmp";

// A name of its own length, so that a target with the longest allowed name has a neighbour too.
std::string temporary_name() {
  static std::atomic<unsigned> counter{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}{}-{}-{:x}{}", kPrefix, getpid(),
                     counter.fetch_add(1, std::memory_order_relaxed), now.tv_nsec, kSuffix);
}

// A temporary file is locked while it is written. False: another process has taken this one for
// abandoned, in the moment before it was locked. That cannot happen where files cannot be locked.
bool lock_temporary(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat info {};
  return fstat(descriptor, &info) != 0 || info.st_nlink > 0;
}

// Removes a temporary file of this user if the process that wrote it is gone.
void remove_if_abandoned(const std::string& path) {
  const FileDescriptor file(open_descriptor(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0));
  if (!file.ok()) return;
  struct stat info {};
  if (fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
      flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    unlink(path.c_str());
}

// What killed processes have left in a folder; they may be as large as models are.
void remove_abandoned(const std::string& folder) {
  const OpenFolder entries(opendir(folder.c_str()));
  if (entries == nullptr) return;
  while (const dirent* const entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() > kPrefix.size() + kSuffix.size() && name.starts_with(kPrefix) &&
        name.ends_with(kSuffix))
      remove_if_abandoned(folder + entry->d_name);
  }
}

// The file that `path` stands for, through symbolic links; `path` itself where nothing is there.
Result<std::string> resolve(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  if (realpath(path.c_str(), resolved.data()) != nullptr) return std::string(resolved.data());
  // Else a link would be replaced by the file.
  if (errno == ENOMEM) return make_error(StatusCode::out_of_memory, "cannot write {}", path);
  return path;
}

int sync(int descriptor) {
  while (fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    // File systems that have nothing to sync say so.
    return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
  }
  return 0;
}

int sync_folder(const std::string& folder) {
  const FileDescriptor file(open_descriptor(folder.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!file.ok()) return errno == EACCES || errno == EPERM ? 0 : errno;  // may write, not read
  return sync(file.get());
}

}  // namespace

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::move(other.descriptor_)) {}

AtomicFile::~AtomicFile() {
  discard();
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  AtomicFile file;
  file.path_ = path;
  if (path.empty() || path.find('\0') != std::string::npos)
    return invalid_argument("cannot write a file: its path is empty or holds a zero byte");
  SN_ASSIGN_OR_RETURN(file.target_, resolve(path));

  struct stat existing {};
  const bool exists = stat(file.target_.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode))
    return make_error(StatusCode::io_error, "cannot write {}: it is not a regular file", path);
  // A rename would replace even what the user has protected from writing.
  if (exists && faccessat(AT_FDCWD, file.target_.c_str(), W_OK, AT_EACCESS) != 0)
    return file.error("cannot write", errno);

  const std::string folder = folder_of(file.target_);
  remove_abandoned(folder);
  for (int attempt = 0; attempt < 100 && !file.descriptor_.ok(); ++attempt) {
    std::string name = folder + temporary_name();
    file.descriptor_ = FileDescriptor(
        open_descriptor(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666));
    if (file.descriptor_.ok()) file.temporary_ = std::move(name);
    if (!file.descriptor_.ok() && errno != EEXIST) break;
    if (file.descriptor_.ok() && !lock_temporary(file.descriptor_.get())) file.discard();
  }
  if (!file.descriptor_.ok()) return file.error("cannot write", errno);
  // Best effort: another owner's file may be writable for us, and its mode not ours to copy.
  if (exists && fchmod(file.descriptor_.get(), existing.st_mode & 0777) != 0 && errno != EPERM)
    return file.error("cannot write", errno);
  return file;
}

Status AtomicFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_.get(), next, std::min(bytes, kMaxWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return error("cannot write", written < 0 ? errno : ENOSPC);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

Status AtomicFile::commit() {
  const std::string folder = folder_of(target_);  // what may fail comes before the rename
  if (const int failed = sync(descriptor_.get())) return error("cannot write", failed);
  // Closed afterwards: the lock keeps the file until it has its name.
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
    return error("cannot put in place", errno);
  temporary_.clear();
  descriptor_ = FileDescriptor();  // what was synced cannot fail any more
  if (const int failed = sync_folder(folder))
    return error("written, but not certain to survive a power failure:", failed);
  return {};
}

Status AtomicFile::error(const char* what, int error_number) const {
  return make_error(StatusCode::io_error, "{} {}: {}", what, path_, error_text(error_number));
}

void AtomicFile::discard() noexcept {
  descriptor_ = FileDescriptor();
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

}  // namespace softneuro

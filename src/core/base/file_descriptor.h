// Opening files without touching what belongs to the host: its standard descriptors, its children.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

namespace softneuro {

// An open file, closed in the end. A negative number is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);  // what was open here is closed with `other`
    return *this;
  }
  ~FileDescriptor() {
    if (ok()) close(number_);
  }
  bool ok() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

// What opendir(3) gives, closed in the end.
struct ClosesFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, ClosesFolder>;

// open(2) with O_CLOEXEC. Never gives 0, 1 or 2: in a host that has closed those, what it prints
// would else end up in our file. −1 and errno on failure.
int open_descriptor(const char* path, int flags, unsigned mode) noexcept;

// "No space left on device", … Thread safe.
std::string error_text(int error_number);

}  // namespace softneuro

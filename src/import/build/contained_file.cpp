#include "import/build/contained_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace softneuro {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status cannot_open(std::string_view name, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return make_error(missing ? StatusCode::not_found : StatusCode::io_error,
                    "cannot open the external file '{}': {}", name,
                    std::generic_category().message(error));
}

// The components of a relative path that stays below its folder.
Result<std::vector<std::string>> split_location(std::string_view location) {
  if (location.empty()) return invalid_model("the location of an external file is empty");
  if (location.find('\0') != std::string_view::npos)
    return invalid_model("the location of an external file holds a zero byte");
  if (location.front() == '/')
    return invalid_model("external file '{}': absolute paths are refused", location);
  std::vector<std::string> parts;
  std::string_view rest = location;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return invalid_model("external file '{}': paths that leave the model's folder are refused",
                           location);
    parts.emplace_back(part);
  }
  if (parts.empty()) return invalid_model("external file '{}': that names no file", location);
  return parts;
}

bool is_symbolic_link(int folder, const std::string& name) {
  struct stat info {};
  return fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

}  // namespace

Result<FileBytes> map_contained_file(const std::string& folder, std::string_view location,
                                     Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(const std::vector<std::string> parts, split_location(location));
  Descriptor at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.number() < 0) return cannot_open(folder, errno);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // O_NONBLOCK: a pipe without a writer must not hang us.
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    Descriptor next(
        openat(at.number(), parts[i].c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
    if (next.number() < 0) {
      const int error = errno;
      if (is_symbolic_link(at.number(), parts[i]))
        return invalid_model(
            "external file '{}': symbolic links are refused; put the file itself "
            "there",
            location);
      return cannot_open(location, error);
    }
    at = std::move(next);
  }
  struct stat info {};
  if (fstat(at.number(), &info) != 0) return cannot_open(location, errno);
  if (S_ISREG(info.st_mode) && info.st_nlink > 1)
    return invalid_model(
        "external file '{}' has several hard links, so it may be a file from "
        "outside of the model's folder: refused; put a copy there",
        location);
  return map_descriptor(at.number(), std::string(location), allocator);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace softneuro

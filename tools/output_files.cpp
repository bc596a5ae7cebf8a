#include "output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "npy.h"
#include "samples.h"

namespace softneuro::tool {

Result<std::map<std::string, std::string>> write_outputs(const NamedTensors& outputs,
                                                         const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto& [name, tensor] : outputs) {
    const std::string path = (folder / npy_name(name)).string();
    for (const auto& [other, taken] : files)
      if (taken == path)
        return Status(
            StatusCode::io_error,
            fmt::format("outputs '{}' and '{}' would both be written to {}", other, name, path));
    if (Status status = write_npy(path, tensor); !status.ok()) return status;
    files[name] = path;
  }
  return files;
}

Status check_place(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error))
    return Status(StatusCode::io_error, fmt::format("'{}' is a folder, not a file to write", path));
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!fs::is_directory(folder, error))
    return Status(StatusCode::not_found,
                  fmt::format("'{}' cannot be written: there is no folder '{}'", path, folder));
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return Status(StatusCode::io_error, fmt::format("'{}' cannot be written: folder '{}': {}", path,
                                                    folder, std::strerror(errno)));
  return Status();
}

}  // namespace softneuro::tool

#include "output_files.h"

#include <fmt/format.h>

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

}  // namespace softneuro::tool

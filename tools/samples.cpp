#include "samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "npy.h"

namespace softneuro::tool {
namespace fs = std::filesystem;

Result<NamedTensors> read_sample(const std::string& place, const Net& net) {
  const fs::path folder = place;
  NamedTensors sample;
  for (std::size_t j = 0; j < net.inputs().size(); ++j) {
    const std::string& name = net.inputs()[j].name;
    const fs::path numbered = folder / fmt::format("input_{}.npy", j);
    const fs::path named = folder / npy_name(name);
    const fs::path& file = fs::exists(named) ? named : numbered;
    if (!fs::exists(file))
      return Status(
          StatusCode::invalid_argument,
          fmt::format("folder '{}' has neither '{}' nor '{}' for input '{}'", folder.string(),
                      numbered.filename().string(), named.filename().string(), name));
    auto tensor = read_npy(file.string());
    if (!tensor.ok()) return tensor.status();
    sample.emplace(name, *std::move(tensor));
  }
  return sample;
}

std::string npy_name(const std::string& tensor) {
  std::string name = tensor;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_' && c != '-')
      c = '_';
  return name + ".npy";
}

Result<std::vector<NamedTensors>> read_samples(const std::string& folder, const Net& net) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error)) folders.push_back(entry.path());
  if (error)
    return Status(StatusCode::not_found,
                  fmt::format("folder of samples '{}': {}", folder, error.message()));
  std::sort(folders.begin(), folders.end());
  if (folders.empty()) folders.emplace_back(folder);
  std::vector<NamedTensors> samples;
  for (const fs::path& place : folders) {
    auto sample = read_sample(place.string(), net);
    if (!sample.ok()) return sample.status();
    samples.push_back(*std::move(sample));
  }
  return samples;
}

}  // namespace softneuro::tool

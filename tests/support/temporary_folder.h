// A folder for one test, removed with all that it holds.
#pragma once

#include <filesystem>
#include <string>

namespace softneuro::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  // How many entries it holds.
  std::size_t entries() const;

 private:
  std::filesystem::path path_;
};

// Open descriptors of this process.
std::size_t open_descriptors();

}  // namespace softneuro::test

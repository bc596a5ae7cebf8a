// Files that appear whole or not at all: written aside, synced, then renamed into place.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/file_descriptor.h"
#include "softneuro/export.h"
#include "softneuro/status.h"

namespace softneuro {

// The file at `path` keeps its old contents, and readers see those, until commit(). Without a
// commit, or after an error, nothing is left behind; what a killed process leaves
// (".softneuro-*.tmp", locked while it is written) the next one that writes into the folder
// removes. Safe against other processes that write the same path: the last commit wins.
class SN_INTREE AtomicFile {
 public:
  AtomicFile() = default;
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Makes the temporary file in the folder of `path`. A symbolic link is followed. An existing
  // file's permissions are kept; a new one has those that the process gives to new files. Refuses
  // what is not a regular file (devices, pipes, folders).
  static Result<AtomicFile> create(const std::string& path);
  // Appends. After an error the object is only good for destruction.
  Status write(const void* data, std::size_t bytes);
  // Makes the contents durable and visible.
  Status commit();

 private:
  Status error(const char* what, int error_number) const;
  void discard() noexcept;

  std::string path_;       // as given, for messages
  std::string target_;     // with links resolved
  std::string temporary_;  // empty: nothing to remove
  FileDescriptor descriptor_;
};

}  // namespace softneuro

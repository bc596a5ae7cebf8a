// Reads files of the profile cache, as they are and with right checksums, and adds to them.
#include <cstdio>
#include <fstream>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "one_run.h"
#include "profiler/cache/profile_cache.h"
#include "support/temporary_folder.h"

namespace softneuro {
namespace {

constexpr const char* kMachine = "fuzzed machine";

std::string resealed(std::string_view text) {
  std::string rows;
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    const std::string_view rest = row.substr(std::min(row.size(), row.find('\t') + 1));
    rows += fmt::format("{:016x}\t{}\n", checksum(rest.data(), rest.size()), rest);
  }
  return rows;
}

void read_and_add(const std::string& folder, std::string_view text) {
  const std::string path = folder + '/' + ProfileCache::file_name(kMachine, 1);
  std::remove(path.c_str());  // a file system may take care of a file that is cut to nothing: slow
  std::ofstream(path, std::ios::binary) << text;
  ProfileCache cache;
  cache.open(folder, kMachine, 1, [](std::string) {});
  const Profile added{.time_us = 1.5, .spread_us = 0.25};
  cache.put("a key that was added", added);
  cache.flush();
  ProfileCache again;
  again.open(folder, kMachine, 1, [](std::string) {});
  if (again.rows() != cache.rows())
    fuzz::finding("rows were lost", invalid_argument("{} rows, {} after they were read again",
                                                     cache.size(), again.size()));
}

}  // namespace
}  // namespace softneuro

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softneuro;
  static const test::TemporaryFolder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_and_add(folder.path().string(), text);
  read_and_add(folder.path().string(), resealed(text));
  return 0;
}

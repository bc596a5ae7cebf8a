#include "profiler/cache/loaded_code.h"

#if defined(__linux__)
#include <link.h>
#include <sys/stat.h>

#include <string_view>

#include "core/base/checksum.h"

namespace softneuro {
namespace {

// Of a note's name and contents.
constexpr std::size_t kNoteAlignment = 4;
constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + kNoteAlignment - 1) / kNoteAlignment * kNoteAlignment;
}

struct Seen {
  std::uint64_t sum = 0;
  bool is_whole = true;  // every object could be told from others

  void add(const void* data, std::size_t bytes) noexcept {
    const std::uint64_t both[] = {sum, checksum(data, bytes)};
    sum = checksum(both, sizeof both);
  }
};

// The note of that kind, as linkers write it (`--build-id`); empty if there is none.
std::string_view build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader has the address as a number.
    const char* at = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* const name = at + sizeof note;
      const char* const contents = name + padded(note.n_namesz);
      if (contents > end || note.n_descsz > static_cast<std::size_t>(end - contents)) break;
      if (note.n_type == NT_GNU_BUILD_ID &&
          std::string_view(name, note.n_namesz) == std::string_view("GNU", sizeof "GNU"))
        return {contents, note.n_descsz};
      at = contents + padded(note.n_descsz);
    }
  }
  return {};
}

// Takes no memory: no exception may pass through the C library, which calls this.
int add_object(dl_phdr_info* object, std::size_t, void* all) noexcept {
  auto& seen = *static_cast<Seen*>(all);
  if (const std::string_view id = build_id(*object); !id.empty()) {
    seen.add(id.data(), id.size());
    return 0;
  }
  const bool is_program = object->dlpi_name == nullptr || *object->dlpi_name == 0;
  struct stat file = {};
  if (stat(is_program ? "/proc/self/exe" : object->dlpi_name, &file) == 0) {
    const std::int64_t reported[] = {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    seen.add(reported, sizeof reported);
  } else {
    seen.is_whole = false;
  }
  return 0;
}

}  // namespace

std::uint64_t loaded_code() {
  Seen seen;
  dl_iterate_phdr(add_object, &seen);
  return seen.is_whole ? seen.sum : 0;
}

}  // namespace softneuro

#else

namespace softneuro {

std::uint64_t loaded_code() {
  return 0;
}

}  // namespace softneuro
#endif

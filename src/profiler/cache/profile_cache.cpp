#include "profiler/cache/profile_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/atomic_file.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/file_descriptor.h"

namespace softneuro {
namespace {

constexpr std::string_view kVersion = "7";
constexpr std::size_t kRowsPerFlush = 64;
constexpr off_t kMaxFileBytes = off_t{256} << 20;

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  bool ok() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// Every folder of `path` that is missing.
bool make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0777);
  return ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string read_all(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMaxFileBytes)
    return {};
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n =
        ::pread(descriptor, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

// A process was killed while writing, or the disk was full: half a row at the end is taken off, or
// it would take the next one along. Under the lock only.
void cut_torn_row(int descriptor) {
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  off_t end = size;
  char last = '\0';
  while (end > 0 && ::pread(descriptor, &last, 1, end - 1) == 1 && last != '\n') --end;
  if (end < size && ::ftruncate(descriptor, end) != 0)
    static_cast<void>(write_all(descriptor, "\n"));
}

// The descriptor's file is the one that the path leads to.
bool is_still(int descriptor, const std::string& path) {
  struct stat open_file {
  }, named{};
  return ::fstat(descriptor, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

// Tabs and line ends separate fields and rows.
std::string field(std::string_view text) {
  std::string clean(text);
  for (char& c : clean)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return clean;
}

std::string_view take_field(std::string_view& row) {
  const std::size_t tab = row.find('\t');
  const std::string_view text = row.substr(0, tab);
  row.remove_prefix(tab == std::string_view::npos ? row.size() : tab + 1);
  return text;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 &&
         value < static_cast<T>(1e15);
}

// What comes behind the key.
std::optional<Row> parse_row(RowKind kind, std::string_view text) {
  const auto has = [&](char flag) { return text.find(flag) != std::string_view::npos; };
  if (kind >= RowKind::search_rounds) {
    Fact fact;
    if (!parse_number(take_field(text), fact.value)) return std::nullopt;
    fact.disturbed = has('d');
    return fact;
  }
  Profile profile;
  for (double* number : {&profile.time_us, &profile.spread_us, &profile.error, &profile.workspace,
                         &profile.packed, &profile.samples})
    if (!parse_number(take_field(text), *number)) return std::nullopt;
  profile.wrong = has('w');
  profile.pruned = has('h');
  profile.disturbed = has('d');
  return profile;
}

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace

ProfileCache::~ProfileCache() {
  static_cast<void>(guarded([&]() -> Status {
                      flush();
                      return {};
                    }).ok());
}

std::string ProfileCache::default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/softneuro";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/softneuro";
  return {};
}

std::string ProfileCache::file_name(const std::string& machine, int threads) {
  return fmt::format("profile-{}-{}threads.tsv", hex(checksum(machine.data(), machine.size())),
                     threads);
}

std::vector<ProfileCache::File> ProfileCache::files(const std::string& folder) {
  std::vector<File> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    File file{.path = entry.path().string()};
    const std::string name = entry.path().filename().string();
    unsigned long long digest = 0;
    if (std::sscanf(name.c_str(), "profile-%16llx-%dthreads.tsv", &digest, &file.threads) != 2)
      continue;
    const Descriptor descriptor(open_descriptor(file.path.c_str(), O_RDONLY | O_NONBLOCK, 0));
    const std::string text = descriptor.ok() ? read_all(descriptor.get()) : std::string();
    for (std::string_view rest = text; file.machine.empty() && !rest.empty();) {
      const std::size_t end = rest.find('\n');
      std::string_view row = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      const std::string_view sum = take_field(row);
      if (sum != hex(checksum(row.data(), row.size()))) continue;
      take_field(row);  // version
      const std::string machine(take_field(row));
      if (file_name(machine, file.threads) == name) file.machine = machine;
    }
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

void ProfileCache::open(const std::string& given, const std::string& machine, int threads,
                        std::function<void(std::string)> warn) {
  const std::string folder = given.empty() ? default_folder() : given;
  machine_ = field(machine);
  warn_ = std::move(warn);
  if (folder.empty()) return;
  path_ = folder + '/' + file_name(machine_, threads);
  std::string text;
  {
    const Descriptor file(open_descriptor(path_.c_str(), O_RDONLY | O_NONBLOCK, 0));
    if (!file.ok()) {
      if (!make_folders(folder)) {
        if (warn_)
          warn_(fmt::format("profile cache '{}': {}; measurements are not kept", folder,
                            std::strerror(errno)));
        path_.clear();
      }
      return;
    }
    text = read_all(file.get());
  }
  read(text);
  if (skipped_ > 0 && warn_)
    warn_(
        fmt::format("profile cache '{}': {} rows are damaged, or of another version or machine, "
                    "and were skipped",
                    path_, skipped_));
  if (read_rows_ + skipped_ > 2 * rows_.size() + 1000) rewrite([] {});
}

void ProfileCache::read(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (row.empty()) continue;
    const std::string_view sum = take_field(row);
    const bool intact =
        end != std::string_view::npos && sum == hex(checksum(row.data(), row.size()));
    const std::string_view version = take_field(row);
    const std::string_view machine = take_field(row);
    const auto* const kind = std::ranges::find(kRowKindNames, take_field(row));
    const std::string_view key = take_field(row);
    const bool is_known = intact && version == kVersion && machine == machine_ &&
                          kind != std::end(kRowKindNames) && !key.empty();
    const auto number = static_cast<RowKind>(kind - std::begin(kRowKindNames));
    const auto parsed = is_known ? parse_row(number, row) : std::nullopt;
    if (!parsed) {
      ++skipped_;
      continue;
    }
    rows_.insert_or_assign(RowKey(std::string(key), number), *parsed);
    ++read_rows_;
  }
}

std::string ProfileCache::text_of(const RowKey& key, const Row& row) const {
  std::string rest =
      fmt::format("{}\t{}\t{}\t{}\t", kVersion, machine_, to_string(key.kind), key.text);
  // Numbers exactly: what is read makes the same choices as what was measured.
  if (const auto* const profile = std::get_if<Profile>(&row))
    rest += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}{}", profile->time_us, profile->spread_us,
                        profile->error, profile->workspace, profile->packed, profile->samples,
                        profile->wrong ? "w" : "", profile->pruned ? "h" : "");
  else
    rest += fmt::format("{}\t", std::get<Fact>(row).value);
  rest += is_disturbed(row) ? "d-" : "-";
  return hex(checksum(rest.data(), rest.size())) + '\t' + rest + '\n';
}

const Row* ProfileCache::find_row(const RowKey& key) const {
  const auto found = rows_.find(RowKey(field(key.text), key.kind));
  return found == rows_.end() ? nullptr : &found->second;
}

std::size_t ProfileCache::disturbed_rows() const {
  return static_cast<std::size_t>(std::count_if(
      rows_.begin(), rows_.end(), [](const auto& row) { return is_disturbed(row.second); }));
}

void ProfileCache::forget_disturbed_rows() {
  const auto forget = [this] {
    std::erase_if(rows_, [](const auto& row) { return is_disturbed(row.second); });
  };
  forget();
  flush();
  rewrite(forget);
}

void ProfileCache::put(RowKey key, const Row& row) {
  key.text = field(key.text);
  rows_.insert_or_assign(key, row);
  if (path_.empty()) return;
  pending_ += text_of(key, row);
  if (++pending_rows_ >= kRowsPerFlush) flush();
}

void ProfileCache::flush() {
  if (pending_.empty() || path_.empty()) return;
  bool kept = false;
  for (int attempt = 0; attempt < 4 && !kept; ++attempt) {
    const Descriptor file(open_descriptor(path_.c_str(), O_RDWR | O_APPEND | O_CREAT, 0666));
    if (!file.ok() || ::flock(file.get(), LOCK_EX) != 0) break;
    if (!is_still(file.get(), path_)) continue;  // another process has just compacted it
    cut_torn_row(file.get());
    kept = write_all(file.get(), pending_);
  }
  if (!kept && warn_) {
    warn_(fmt::format("profile cache '{}': {}; measurements are not kept", path_,
                      std::strerror(errno)));
    path_.clear();
  }
  pending_.clear();
  pending_rows_ = 0;
}

// Rewrites the file with one row per key, after `change` of the rows. Rows that others append
// meanwhile would be lost, so it is done under the same lock, on the file as it is then.
void ProfileCache::rewrite(const std::function<void()>& change) {
  const Descriptor file(open_descriptor(path_.c_str(), O_RDWR, 0));
  if (!file.ok() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  rows_.clear();
  read_rows_ = skipped_ = 0;
  read(read_all(file.get()));
  change();
  std::string text;
  for (const auto& [key, row] : rows_) text += text_of(key, row);
  auto fresh = AtomicFile::create(path_);
  if (!fresh.ok() || !fresh->write(text.data(), text.size()).ok()) return;
  static_cast<void>(fresh->commit().ok());
}

}  // namespace softneuro

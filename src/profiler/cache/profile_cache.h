// The profile cache: what was measured on this machine, kept on disk between tunings.
//
// One text file per machine and thread count. A row is checksum, machine, kind, key, numbers; each
// stands alone: a row that is torn, tampered with, of another machine or another version is
// skipped, the others are used. Whole rows are appended in one write under a lock on the file, so
// that several processes may share it; of rows with the same key the last one counts. If the folder
// is not writable, measurements are not kept; nothing else changes.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "softneuro/status.h"

namespace softneuro {

// Of a row. The last two are facts, integers; the others are measurements.
enum class RowKind : std::uint8_t {
  unit_time,      // of a candidate alone, or of an adapt
  net_time,       // of a candidate or an adapt inside a net
  path_time,      // of whole runs
  sensitivity,    // error power of the outputs with one layer in reduced precision
  path_error,     // of a path's outputs, by the metric
  verification,   // error of a tuned net that was compared with the model
  search_rounds,  // rounds of profiling over a net that are done
  input_sets,     // on which sets of synthetic inputs a model runs
};
inline constexpr std::string_view kRowKindNames[] = {
    "unit time",       "time inside a net", "end-to-end time", "error power",
    "error of a path", "verification",      "rounds done",     "synthetic inputs"};

inline std::string_view to_string(RowKind kind) {
  return kRowKindNames[static_cast<std::size_t>(kind)];
}

struct RowKey {
  // A text alone is the key of a unit time: profile_key() (select/candidates.h).
  template <std::convertible_to<std::string> Text>
  RowKey(Text&& of, RowKind is = RowKind::unit_time)  // NOLINT: implicit
      : kind(is), text(std::forward<Text>(of)) {}

  auto operator<=>(const RowKey&) const = default;

  RowKind kind;
  std::string text;
};

// A key of all that a row depends on.
template <class... Parts>
RowKey row_key(RowKind kind, const Parts&... parts) {
  std::string text;
  ((text += (text.empty() ? "" : "|") + fmt::format("{}", parts)), ...);
  return {std::move(text), kind};
}

// A measurement.
struct Profile {
  double time_us = 0;      // robust centre
  double spread_us = 0;    // half the distance between the quartiles
  double error = 0;        // RMS of the difference from float32, relative
  double workspace = 0;    // bytes that the kernel needs while it runs
  double packed = 0;       // bytes of its packed weights
  double samples = 0;      // that time_us is the mean of, inside a net
  bool wrong = false;      // the results were: never to be taken
  bool pruned = false;     // stopped early: time_us is only known to be about right
  bool disturbed = false;  // measured while other processes kept threads waiting

  bool operator==(const Profile&) const = default;
};

struct Fact {
  std::int64_t value = 0;  // not negative
  bool disturbed = false;

  bool operator==(const Fact&) const = default;
};

using Row = std::variant<Profile, Fact>;
inline bool is_disturbed(const Row& row) {
  return std::visit([](const auto& known) { return known.disturbed; }, row);
}

// Not thread safe; any number of objects, in any number of processes, may share a folder.
class SN_INTREE ProfileCache {
 public:
  // Keeps nothing.
  ProfileCache() = default;
  ~ProfileCache();
  ProfileCache(const ProfileCache&) = delete;
  ProfileCache& operator=(const ProfileCache&) = delete;

  // Reads what is there; empty: in the default folder. Calls `warn` once if the cache cannot be
  // written, and for rows that were skipped. An unreadable folder is an empty one.
  void open(const std::string& folder, const std::string& machine, int threads,
            std::function<void(std::string)> warn);
  // nullptr if it is not known.
  template <class T = Profile>
  const T* find(const RowKey& key) const {
    return std::get_if<T>(find_row(key));
  }
  // Kept in memory at once, on disk by the next flush().
  void put(RowKey key, const Row& row);
  // Rows that were measured on a disturbed machine: how many there are, and without them, in the
  // file as well.
  std::size_t disturbed_rows() const;
  void forget_disturbed_rows();
  // Appends what is new. Called by put() every few rows and by the destructor.
  void flush();

  std::size_t size() const { return rows_.size(); }
  const std::string& path() const { return path_; }
  const std::map<RowKey, Row>& rows() const { return rows_; }

  // $XDG_CACHE_HOME/softneuro, else $HOME/.cache/softneuro, else empty.
  static std::string default_folder();
  static std::string file_name(const std::string& machine, int threads);

  struct File {
    std::string path;
    std::string machine;
    int threads = 0;
  };
  // The files in a folder that caches have written, by name; those without an intact row have no
  // machine. None if the folder is not there.
  static std::vector<File> files(const std::string& folder);

 private:
  const Row* find_row(const RowKey& key) const;
  void read(std::string_view text);
  void rewrite(const std::function<void()>& change);
  std::string text_of(const RowKey& key, const Row& row) const;

  std::string path_;  // empty: nothing is kept
  std::string machine_;
  std::function<void(std::string)> warn_;
  std::map<RowKey, Row> rows_;
  std::string pending_;
  std::size_t pending_rows_ = 0;
  std::size_t read_rows_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace softneuro

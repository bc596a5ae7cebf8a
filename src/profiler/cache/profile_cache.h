// The profile cache: what was measured on this machine, kept on disk between tunings.
//
// One text file per machine and thread count. A row is checksum, machine, key, numbers; each stands
// alone: a row that is torn, tampered with, of another machine or another version is skipped, the
// others are used. Whole rows are appended in one write under a lock on the file, so that several
// processes may share it; of rows with the same key the last one counts. If the folder is not
// writable, measurements are not kept; nothing else changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "softneuro/status.h"

namespace softneuro {

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
  // nullptr if it was not measured.
  const Profile* find(const std::string& key) const;
  // Kept in memory at once, on disk by the next flush().
  void put(const std::string& key, const Profile& profile);
  // Rows that were measured on a disturbed machine: how many there are, and without them, in the
  // file as well.
  std::size_t disturbed_rows() const;
  void forget_disturbed_rows();
  // Appends what is new. Called by put() every few rows and by the destructor.
  void flush();

  std::size_t size() const { return rows_.size(); }
  const std::string& path() const { return path_; }
  const std::unordered_map<std::string, Profile>& rows() const { return rows_; }

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
  void read(std::string_view text);
  void rewrite(const std::function<void()>& change);
  std::string row_of(const std::string& key, const Profile& profile) const;

  std::string path_;  // empty: nothing is kept
  std::string machine_;
  std::function<void(std::string)> warn_;
  std::unordered_map<std::string, Profile> rows_;
  std::string pending_;
  std::size_t pending_rows_ = 0;
  std::size_t read_rows_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace softneuro

// Writing files whole or not at all, with everything that can go wrong.
#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/dnn/file.h"
#include "support/dnn_samples.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Status write_file(const std::string& path, const std::string& text) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok()) return file.status();
  if (Status status = file->write(text.data(), text.size()); !status.ok()) return status;
  return file->commit();
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

// Files may not grow beyond `bytes` while this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int) = nullptr;
};

// Runs f in a child process; its exit status.
template <class F>
int in_child(F&& f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("atomic file: appears at commit only") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  const std::size_t descriptors = test::open_descriptors();
  REQUIRE(write_file(path, "old").message() == "");
  {
    AtomicFile file = AtomicFile::create(path).value();
    REQUIRE(file.write("new", 3).ok());
    REQUIRE(contents(path) == "old");
    AtomicFile moved = std::move(file);
    REQUIRE(moved.commit().message() == "");
    REQUIRE(contents(path) == "new");
  }
  {
    AtomicFile file = AtomicFile::create(path).value();
    REQUIRE(file.write("never", 5).ok());
  }
  REQUIRE(contents(path) == "new");
  REQUIRE(folder.entries() == 1);
  REQUIRE(test::open_descriptors() == descriptors);
}

TEST_CASE("atomic file: what a killed process left is removed, what others write is not") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  REQUIRE(in_child([&] {
            AtomicFile file = AtomicFile::create(path).value();
            (void)file.write("half", 4);
            raise(SIGKILL);
            return 0;
          }) == 100 + SIGKILL);
  std::ofstream(folder.file(".softneuro-notes")) << "the user's own";
  REQUIRE(folder.entries() == 2);
  AtomicFile first = AtomicFile::create(path).value();
  AtomicFile second = AtomicFile::create(path).value();
  REQUIRE(folder.entries() == 3);
  REQUIRE(first.write("first", 5).ok());
  REQUIRE(first.commit().message() == "");
  REQUIRE(second.write("second", 6).ok());
  REQUIRE(second.commit().message() == "");
  REQUIRE(contents(path) == "second");
  REQUIRE(folder.entries() == 2);
}

TEST_CASE("atomic file: permissions are the process's, or those of the file before") {
  const TemporaryFolder folder;
  const mode_t mask = umask(027);
  REQUIRE(write_file(folder.file("a"), "x").ok());
  umask(mask);
  REQUIRE(mode_of(folder.file("a")) == 0640);
  REQUIRE(chmod(folder.file("a").c_str(), 0604) == 0);
  REQUIRE(write_file(folder.file("a"), "y").ok());
  REQUIRE(mode_of(folder.file("a")) == 0604);
  REQUIRE(contents(folder.file("a")) == "y");
}

TEST_CASE("atomic file: links are followed, everything else but files is refused") {
  const TemporaryFolder folder;
  REQUIRE(fs::create_directory(folder.path() / "sub"));
  REQUIRE(write_file(folder.file("sub/target"), "old").ok());
  fs::create_symlink("sub/target", folder.path() / "link");
  REQUIRE(write_file(folder.file("link"), "new").ok());
  REQUIRE(fs::is_symlink(folder.path() / "link"));
  REQUIRE(contents(folder.file("sub/target")) == "new");

  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  const std::string others[] = {folder.file("sub"), folder.file("pipe"), "/dev/null"};
  for (const std::string& path : others) {
    INFO(path);
    const Status status = write_file(path, "x");
    REQUIRE(status.code() == StatusCode::io_error);
    REQUIRE_THAT(status.message(), Catch::Contains(path));
  }
  REQUIRE(write_file("", "x").code() == StatusCode::invalid_argument);
  REQUIRE(write_file(std::string("a\0b", 3), "x").code() == StatusCode::invalid_argument);
  REQUIRE(write_file(folder.file("none/a"), "x").code() == StatusCode::io_error);
  REQUIRE(write_file(folder.file(std::string(255, 'n')), "x").message() == "");
  REQUIRE(write_file(folder.file(std::string(256, 'n')), "x").code() == StatusCode::io_error);
  REQUIRE(folder.entries() == 4);
}

TEST_CASE("atomic file: a folder or file without permission is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  REQUIRE(write_file(path, "old").ok());
  REQUIRE(chmod(path.c_str(), 0444) == 0);
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  const int status = in_child([&] {
    // The superuser may write everywhere: go on as nobody.
    if (geteuid() == 0 && setuid(65534) != 0) return 1;
    const Status existing = write_file(path, "new"), fresh = write_file(folder.file("b"), "x");
    if (existing.code() != StatusCode::io_error || fresh.code() != StatusCode::io_error) return 2;
    return fresh.message().find("b: Permission denied") != std::string::npos ? 0 : 3;
  });
  REQUIRE(status == 0);
  REQUIRE(contents(path) == "old");
  REQUIRE(folder.entries() == 1);
}

TEST_CASE("dnn: a disk that is full at any byte leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder.file("net.dnn");
  const Graph old_graph = test::random_graph(1, 0), graph = test::random_graph(5, 0);
  REQUIRE(save_dnn(old_graph, path).ok());
  const std::string before = contents(path);
  const std::size_t size = serialize_dnn(graph).value().bytes();
  const std::size_t descriptors = test::open_descriptors();
  for (std::size_t limit = 0; limit < size; limit += 7) {
    INFO("limit " << limit);
    Status status;
    {
      const FileSizeLimit full(limit);
      status = save_dnn(graph, path);
    }
    REQUIRE(status.code() == StatusCode::io_error);
    REQUIRE_THAT(status.message(), Catch::Contains("net.dnn: File too large"));
    REQUIRE(contents(path) == before);
    REQUIRE(folder.entries() == 1);
  }
  REQUIRE(test::open_descriptors() == descriptors);
  const FileSizeLimit enough(size);
  REQUIRE(save_dnn(graph, path).message() == "");
}

TEST_CASE("dnn: standard descriptors that the host has closed stay closed") {
  const TemporaryFolder folder;
  const std::string path = folder.file("net.dnn");
  const int status = in_child([&] {
    for (int i = 0; i < 3; ++i) close(i);
    if (!save_dnn(test::random_graph(2), path).ok()) return 1;
    const Result<DnnContents> loaded = load_dnn_contents(path, test::sample_types());
    if (!loaded.ok()) return 2;
    Result<AtomicFile> file = AtomicFile::create(folder.file("open"));
    if (!file.ok()) return 3;
    for (int i = 0; i < 3; ++i)
      if (fcntl(i, F_GETFD) != -1) return 4;
    return 0;
  });
  REQUIRE(status == 0);
}

TEST_CASE("dnn: many processes save to one path; a reader always finds a whole file") {
  const TemporaryFolder folder;
  const std::string path = folder.file("net.dnn");
  REQUIRE(save_dnn(test::random_graph(0), path).ok());
  std::vector<pid_t> children;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < 10; ++round)
        if (!save_dnn(test::random_graph(i), path).ok()) _exit(1);
      _exit(0);
    }
    children.push_back(child);
  }
  int reads = 0;
  for (const pid_t child : children) {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      REQUIRE(load_dnn_contents(path, test::sample_types()).status().message() == "");
      ++reads;
    }
    REQUIRE(status == 0);
  }
  REQUIRE(reads > 0);
  REQUIRE(folder.entries() == 1);
}

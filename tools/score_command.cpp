#include "score_command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "output_files.h"

namespace softneuro::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kNoCommand = 127;  // exit status of a shell that does not find it

// Removed with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "softneuro-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

bool is_command(const std::string& command) {
  const std::size_t begin = command.find_first_not_of(' ');
  if (begin == std::string::npos) return false;
  const std::string word = command.substr(begin, command.find(' ', begin) - begin);
  const bool is_plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("._-+/", c) != nullptr;
  });
  if (!is_plain) return true;
  const std::string line = fmt::format("command -v -- {} > /dev/null 2>&1", quoted(word));
  return std::system(line.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe): nothing else runs yet
}

Result<double> score_by_command(const std::string& command,
                                const std::vector<NamedTensors>& outputs) {
  const ScratchFolder folder;
  if (folder.path().empty())
    return Status(StatusCode::io_error, "there is no temporary folder for the net's outputs");
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (const auto written = write_outputs(outputs[k], folder.path() / std::to_string(k));
        !written.ok())
      return written.status();
  const std::string line = command + " " + quoted(folder.path().string());
  std::FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr)
    return Status(StatusCode::invalid_argument, fmt::format("cannot run '{}'", command));
  std::string printed;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
    printed.append(buffer, count);
  if (const int status = pclose(pipe); status != 0) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return Status(
        StatusCode::invalid_argument,
        code == kNoCommand
            ? fmt::format("the metric '{}' is neither rms, snr, cosine, top1 nor a command",
                          command)
            : fmt::format("the metric '{}' failed ({})", command,
                          code < 0 ? "it was killed" : fmt::format("exit status {}", code)));
  }
  const std::string text = last_line(printed);
  char* end = nullptr;
  const double score = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0')
    return Status(StatusCode::invalid_argument,
                  fmt::format("the metric '{}' has to print a number in its last line, not '{}'",
                              command, text));
  return score;
}

}  // namespace softneuro::tool

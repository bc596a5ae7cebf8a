// Running the softneuro command as a user would: a process of its own, with its environment.
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace softneuro::test {

using Environment = std::map<std::string, std::string>;

// Where standard output goes.
enum class OutputKind { file, full_device, closed, pipe_without_reader };

// A process that was started and not yet waited for; its destructor kills it.
class ToolProcess {
 public:
  // `environment` is added to this process's. Standard output and error go to files in `folder`.
  ToolProcess(const std::vector<std::string>& arguments, const Environment& environment,
              const std::string& folder, OutputKind kind = OutputKind::file);
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;
  ~ToolProcess();

  void kill();
  // The exit status; 128 + the number of the signal that ended it.
  int wait();
  std::string output() const;  // after wait()
  std::string errors() const;

 private:
  pid_t process_ = -1;
  std::string output_, errors_;
};

// Starts the command and waits for it; fails the test, with what it said, unless it exits with 0.
// Gives what it wrote to standard output, as JSON: the arguments must ask for that (--json).
nlohmann::json run_tool(const std::vector<std::string>& arguments, const Environment& environment,
                        const std::string& folder);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace softneuro::test

#include "tuning/tool/run_tool.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace softneuro::test {
namespace {

// In the child: its descriptor `target` writes to a new file.
void redirect(const std::string& path, int target) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0 || dup2(file, target) < 0) _exit(126);
  close(file);
}

// In the child.
void redirect_output(const std::string& path, OutputKind kind) {
  int ends[2] = {};
  switch (kind) {
    case OutputKind::file:
      return redirect(path, STDOUT_FILENO);
    case OutputKind::full_device:
      return redirect("/dev/full", STDOUT_FILENO);
    case OutputKind::closed:
      close(STDOUT_FILENO);
      return;
    case OutputKind::pipe_without_reader:
      if (pipe(ends) < 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(126);
      close(ends[0]);
      close(ends[1]);
  }
}

}  // namespace

ToolProcess::ToolProcess(const std::vector<std::string>& arguments, const Environment& environment,
                         const std::string& folder, OutputKind kind) {
  static int number = 0;
  const std::string name = folder + "/tool" + std::to_string(++number);
  output_ = name + ".out";
  errors_ = name + ".err";
  std::vector<std::string> words = {SOFTNEURO_TOOL};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  process_ = fork();
  REQUIRE(process_ >= 0);
  if (process_ == 0) {
    redirect_output(output_, kind);
    redirect(errors_, STDERR_FILENO);
    for (const auto& [variable, value] : environment) setenv(variable.c_str(), value.c_str(), 1);
    execv(SOFTNEURO_TOOL, pointers.data());
    _exit(127);
  }
}

ToolProcess::~ToolProcess() {
  if (process_ < 0) return;
  kill();
  wait();
}

void ToolProcess::kill() {
  if (process_ >= 0) ::kill(process_, SIGKILL);
}

int ToolProcess::wait() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string ToolProcess::output() const {
  return read_file(output_);
}

std::string ToolProcess::errors() const {
  return read_file(errors_);
}

nlohmann::json run_tool(const std::vector<std::string>& arguments, const Environment& environment,
                        const std::string& folder) {
  ToolProcess tool(arguments, environment, folder);
  const int status = tool.wait();
  INFO(tool.errors());
  REQUIRE(status == 0);
  return nlohmann::json::parse(tool.output());
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace softneuro::test

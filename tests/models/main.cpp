// softneuro_models: real models with reference outputs, from import to result, with default
// choices. tests/tuned does the like with tuned nets.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "core/base/error.h"
#include "models/model_case.h"

namespace softneuro::test {
namespace {

namespace fs = std::filesystem;

Status run_data(const ModelCase& model, const DataSet& data, const NetOptions& options) {
  SN_ASSIGN_OR_RETURN(const Net net, import_for(model, data, options));
  SN_ASSIGN_OR_RETURN(const NamedTensors results, net.run(data.inputs));
  for (const ReferenceOutput& output : data.outputs)
    if (const std::string wrong = compare_output(output, results); !wrong.empty())
      return invalid_argument("{}", wrong);
  return {};
}

Status run_model(const fs::path& folder, int threads) {
  SN_ASSIGN_OR_RETURN(const ModelCase model, read_case(folder));
  for (const DataSet& data : model.data) {
    Status status = run_data(model, data, {.threads = threads});
    if (!status.ok()) return std::move(status).with_context(data.name);
  }
  return {};
}

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool usage = arguments.empty() || arguments[0].starts_with("-") || arguments.size() > 2;
  if (usage) {
    std::fputs(
        "softneuro_models FOLDER [NAME]   runs the models in FOLDER, or those with NAME in "
        "their names\n",
        stderr);
    return 2;
  }
  const std::string filter = arguments.size() > 1 ? arguments[1] : "";
  std::size_t others = 0;
  const std::vector<fs::path> folders = case_folders(arguments[0], filter, others);
  if (folders.empty()) {
    fmt::print("SKIPPED: there are no models in '{}'\n", arguments[0]);
    return kSkipStatus;
  }
  std::size_t failed = 0;
  for (const fs::path& folder : folders) {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = run_model(folder, 2);
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    fmt::print("{:<28} {} ({} ms)\n", folder.filename().string(),
               status.ok() ? "passed" : "FAILED: " + status.message(), spent.count());
    std::fflush(stdout);
    if (!status.ok()) ++failed;
  }
  fmt::print("{} of {} models passed\n", folders.size() - failed, folders.size());
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softneuro::test

int main(int argc, char** argv) {
  return softneuro::test::main(argc, argv);
}

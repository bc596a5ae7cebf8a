// One profile cache for many: sixteen tunes at once, and rows that were changed from outside.
#include <catch2/catch.hpp>
#include <memory>

#include "core/base/machine.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "profiler/cache/profile_cache.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"
#include "tuning/small_net.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

std::vector<std::string> tune(const TemporaryFolder& folder, const std::string& output) {
  return {"tune",    folder.file("net.dnn"), "-o",        folder.file(output),
          "--cache", folder.file("cache"),   "--threads", "1",
          "--json"};
}

std::string cache_file(const TemporaryFolder& folder) {
  return folder.file("cache") + '/' + ProfileCache::file_name(machine_name(), 1);
}

void save_net(const TemporaryFolder& folder) {
  REQUIRE(NetAccess::from_graph(small_graph(), {}).value().save(folder.file("net.dnn")).ok());
}

void check_tuned(const TemporaryFolder& folder, const std::string& file) {
  NetOptions options;
  options.threads = 1;
  const Net plain = Net::load(folder.file("net.dnn"), options).value();
  const Net tuned = Net::load(folder.file(file), options).value();
  CHECK(tuned.tuned_paths().size() == 1);
  const NamedTensors expected = plain.run({{"image", random_image(3)}}).value();
  const NamedTensors outputs = tuned.run({{"image", random_image(3)}}).value();
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    CHECK(relative_error(tensor, outputs.at(name)) < 1e-4);
  }
}

}  // namespace

TEST_CASE("shared cache: sixteen processes tune at once, and every row is whole") {
  const TemporaryFolder folder;
  save_net(folder);
  std::vector<std::unique_ptr<ToolProcess>> tools;
  for (int i = 0; i < 16; ++i)
    tools.push_back(std::make_unique<ToolProcess>(tune(folder, std::to_string(i) + ".dnn"),
                                                  Environment{}, folder.path().string()));
  for (int i = 0; i < 16; ++i) {
    const int status = tools[static_cast<std::size_t>(i)]->wait();
    INFO(tools[static_cast<std::size_t>(i)]->errors());
    REQUIRE(status == 0);
    check_tuned(folder, std::to_string(i) + ".dnn");
  }
  std::string warning;
  ProfileCache cache;
  cache.open(folder.file("cache"), machine_name(), 1, [&](std::string text) { warning = text; });
  CHECK(warning == "");
  CHECK(cache.size() > 50);
  // All of them serve the next one.
  const nlohmann::json report = run_tool(tune(folder, "last.dnn"), {}, folder.path().string());
  CHECK(report["from_cache"] > 3 * report["measured"].get<int>());
}

TEST_CASE("shared cache: rows that were changed, or are another machine's, are measured anew") {
  const TemporaryFolder folder;
  save_net(folder);
  const nlohmann::json cold = run_tool(tune(folder, "a.dnn"), {}, folder.path().string());
  // Three rows say that their candidates take no time, one speaks of another machine.
  std::string text = read_file(cache_file(folder));
  const auto change = [&](std::size_t row, std::size_t field, const std::string& to) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < row; ++i) begin = text.find('\n', begin) + 1;
    for (std::size_t i = 0; i < field; ++i) begin = text.find('\t', begin) + 1;
    text.replace(begin, text.find('\t', begin) - begin, to);
  };
  for (const std::size_t row : {1u, 5u, 9u}) change(row, 5, "0.0001");
  change(2, 2, "another machine, avx2");
  write_file(cache_file(folder), text);
  const nlohmann::json next = run_tool(tune(folder, "b.dnn"), {}, folder.path().string());
  REQUIRE(next["warnings"].size() == 1);
  CHECK(next["warnings"][0].get<std::string>().find(
            "4 rows are damaged, or of another version or machine") != std::string::npos);
  CHECK(next["measured"] >= 4);
  CHECK(next["measured"] < cold["measured"]);
  check_tuned(folder, "b.dnn");
}

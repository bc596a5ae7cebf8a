// The softneuro command as its users call it: exit status, JSON, files.
#include <catch2/catch.hpp>
#include <filesystem>

#include "support/skip.h"
#include "support/temporary_folder.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

// [N,3,32,32] → probabilities of ten classes.
std::string shapes_net() {
  return source_dir() + "/models/shapes/shapes.dnn";
}

// A .npy file of float32 [batch,3,32,32], all of one value.
void write_image(const std::string& path, int batch, float value) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(batch) + ", 3, 32, 32), }";
  constexpr std::size_t kPreamble = 10, kAlignment = 64;
  while ((kPreamble + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  const std::string number(reinterpret_cast<const char*>(&value), sizeof value);
  for (int i = 0; i < batch * 3 * 32 * 32; ++i) file += number;
  write_file(path, file);
}

std::string make_sample(const TemporaryFolder& folder, const char* name, int batch, float value) {
  const std::string sample = (folder.path() / name).string();
  std::filesystem::create_directories(sample);
  write_image(sample + "/input_0.npy", batch, value);
  return sample;
}

}  // namespace

TEST_CASE("run --steps: each folder is a run of one session, of its own shape; outputs go to K") {
  const TemporaryFolder folder;
  const std::string a = make_sample(folder, "a", 1, 0.5f), b = make_sample(folder, "b", 2, 0.25f);
  const std::string out = (folder.path() / "out").string();
  const json report = run_tool(
      {"run", shapes_net(), "--steps", a, b, a, "--output-dir", out, "--json", "--threads", "1"},
      {}, folder.path().string());
  REQUIRE(report.at("steps").size() == 3);
  CHECK(report["steps"][1]["outputs"][0]["shape"] == json({2, 10}));
  const json first = report["steps"][0]["outputs"][0], third = report["steps"][2]["outputs"][0];
  CHECK(first.at("top") == third.at("top"));
  CHECK(first.at("top") != report["steps"][1]["outputs"][0].at("top"));
  const std::string name = std::filesystem::path(first.at("file").get<std::string>()).filename();
  CHECK(read_file(out + "/0/" + name) == read_file(out + "/2/" + name));
  CHECK(std::filesystem::exists(out + "/1/" + name));

  // The same as single runs.
  const std::string single = (folder.path() / "single").string();
  run_tool({"run", shapes_net(), "--input", "image=" + b + "/input_0.npy", "--output-dir", single,
            "--json", "--threads", "1"},
           {}, folder.path().string());
  CHECK(read_file(single + "/" + name) == read_file(out + "/1/" + name));
}

TEST_CASE("run --steps: with --input, or a folder without inputs, nothing runs") {
  const TemporaryFolder folder;
  ToolProcess both({"run", shapes_net(), "--steps", "x", "--input", "image=y.npy"}, {},
                   folder.path().string());
  CHECK(both.wait() == 2);
  CHECK_THAT(both.errors(), Contains("--input"));
  ToolProcess empty({"run", shapes_net(), "--steps", folder.path().string()}, {},
                    folder.path().string());
  CHECK(empty.wait() == 1);
  CHECK_THAT(empty.errors(), Contains("input_0.npy") && Contains("'image'"));
}

TEST_CASE("bench: an open batch is 1, in a line on standard error that -q leaves out") {
  const TemporaryFolder folder;
  for (const bool quiet : {false, true}) {
    std::vector<std::string> words{"bench", shapes_net(), "--seconds", "0", "--json"};
    if (quiet) words.emplace_back("-q");
    ToolProcess bench(words, {}, folder.path().string());
    CHECK(bench.wait() == 0);
    CHECK((bench.errors().find("open batch of 'image'") != std::string::npos) == !quiet);
    CHECK(json::parse(bench.output()).contains("median_ms"));
  }
}

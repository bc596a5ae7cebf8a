// The real cuDNN makes plans for our graphs, for GPUs that it is told of: which it takes, and with
// which engines, is known without a GPU. It only wants a driver that loads what it compiles, so
// that a process of its own is given one that pretends (device/pretended/driver.cpp).
#if defined(SOFTNEURO_HAS_CUDNN) && defined(SOFTNEURO_PRETENDED_DRIVER)
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "numeric/check_routine.h"
#include "plugins/cuda/convolution/cudnn_plan.h"
#include "plugins/cuda/convolution/cudnn_problem.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

namespace softneuro::test {
void add_problems_conv(ProblemSet& set);
void add_problems_conv_transpose(ProblemSet& set);

namespace {

using namespace softneuro::cuda;

// Of all graphs one in so many is tried, which takes 0.1 s, since heuristics look at each engine;
// one in so many of those gets a plan, which may be compiled for a second.
constexpr std::size_t kGraphsOneIn = 12;
constexpr int kPlansOneIn = 4;

std::string card_json(int architecture) {
  return fmt::format(
      R"({{"deviceVer":{},"multiProcessorCount":{},"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
      R"("maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":1024,)"
      R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
      R"("maxThreadsPerSM":2048,"regsPerBlock":65536,"totalGlobalMem":40000000000,)"
      R"("smClockRateKHz":1500000,"l2CacheSize":41943040,"maxBlockSize":[1024,1024,64],)"
      R"("memClockRateKHz":1215000,"maxGridSize":[2147483647,65535,65535],"supportCoopLaunch":1,)"
      R"("pciDeviceId":0,"isTccDriver":0,"cudaDeviceId":0,"driverVer":13000,)"
      R"("deviceName":"described"}})",
      10 * architecture, architecture >= 90 ? 132 : 108, architecture >= 90 ? 232448 : 166912);
}

struct Count {
  int graphs = 0, without_engine = 0, fused = 0, plans = 0;
  std::string failures;
};

// All graphs of the numeric tests' problems in that format, each once.
std::vector<ConvolutionSpec> all_specs(DataType type, Layout layout) {
  ProblemSet set;
  add_problems_conv(set);
  add_problems_conv_transpose(set);
  std::vector<ConvolutionSpec> specs;
  std::set<std::string> known;
  for (const Case& description : set.cases()) {
    if (description.layer_type != "conv2" && description.layer_type != "conv_transpose2") continue;
    const PreparedCase made = prepare(builtin_registry(), description, test_seed()).value();
    std::optional<PreparedCase> adapted = made;
    if (type != DataType::float32 || layout != Layout::plain)
      adapted = in_format(made, type, layout);
    if (!adapted) continue;
    put_on_device(*DeviceId::parse("cuda"), adapted->problem);
    auto spec = describe_convolution(adapted->problem, type);
    if (spec.ok() && known.insert(spec->str()).second) specs.push_back(std::move(*spec));
  }
  return specs;
}

Count make_plans(const CudnnCard& card, const std::vector<ConvolutionSpec>& specs,
                 const Precision& precision) {
  Count count;
  for (std::size_t i = 0; i < specs.size(); i += kGraphsOneIn) {
    const ConvolutionSpec& spec = specs[i];
    ++count.graphs;
    const auto made = CudnnConvolution::create(card, spec, precision);
    if (!made.ok()) {
      ++count.without_engine;
      if (made.status().code() != StatusCode::unsupported)
        count.failures += spec.str() + ": " + made.status().message() + "\n";
      continue;
    }
    count.fused += (*made)->names().front().starts_with("fused_") ? 1 : 0;
    if (count.graphs % kPlansOneIn != 0) continue;
    const auto plan = (*made)->default_plan();
    if (plan.ok())
      ++count.plans;
    else
      count.failures += spec.str() + ": " + plan.status().message() + "\n";
  }
  return count;
}

}  // namespace

TEST_CASE("cudnn: in a process with the pretended driver", "[.][pretended]") {
  const auto library = load_cudnn();
  REQUIRE(library.ok());
  const struct {
    Precision precision;
    Layout layout;
  } formats[] = {{DataType::float32, Layout::plain},
                 {DataType::float32, Layout::channels_last},
                 {Precision(Arithmetic::tf32, DataType::float32), Layout::plain},
                 {Precision(Arithmetic::tf32, DataType::float32), Layout::channels_last},
                 {DataType::float16, Layout::plain},
                 {DataType::float16, Layout::channels_last},
                 {DataType::bfloat16, Layout::plain},
                 {DataType::bfloat16, Layout::channels_last}};
  for (const auto& [precision, layout] : formats) {
    const std::vector<ConvolutionSpec> specs = all_specs(precision.type, layout);
    for (const int architecture : {80, 90}) {
      const auto description = describe_card(**library, card_json(architecture));
      INFO(description.status().message());
      REQUIRE(description.ok());
      const Count count = make_plans({*library, nullptr, &*description}, specs, precision);
      const std::string line = fmt::format(
          "sm_{} {:8} {:4}: {} graphs, {} without an engine, {} of the others fused "
          "first, {} plans made",
          architecture, to_string(precision), to_string(layout), count.graphs, count.without_engine,
          count.fused, count.plans);
      fmt::print("{}\n", line);
      CAPTURE(line);
      CHECK(count.failures == "");
      CHECK(count.graphs > 20);
      CHECK(count.without_engine == 0);
      CHECK(count.plans > 0);
    }
  }
}

TEST_CASE("cudnn: the library makes plans for GPUs that are described to it", "[slow]") {
  const auto library = load_cudnn();
  if (!library.ok()) SN_SKIP(library.status().message());
  const TemporaryFolder folder;
  const std::string log = folder.file("log");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      fmt::format("LD_LIBRARY_PATH='{}':\"$LD_LIBRARY_PATH\" '{}' '[pretended]' >'{}' 2>&1",
                  SOFTNEURO_PRETENDED_DRIVER, program, log);
  const int result = std::system(command.c_str());
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  INFO(text.str());
  CHECK(result == 0);
}

}  // namespace softneuro::test
#endif

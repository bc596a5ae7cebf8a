// What the caller may say of samples, ranges, threads and single routines.
#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "net/net_access.h"
#include "quantization/calibration.h"
#include "small_net.h"
#include "softneuro/tune.h"
#include "steady_warnings.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

using Samples = std::vector<NamedTensors>;

Net small_net() {
  NetOptions options;
  options.threads = 1;
  return NetAccess::from_graph(small_graph(), options).value();
}

// `scale`: how far the values reach.
Samples samples_of_scale(float scale, std::uint32_t first_seed = 1) {
  Samples samples;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Tensor image = random_image(first_seed + i);
    for (float& value : image.mutable_values<float>()) value *= scale;
    samples.push_back({{"image", std::move(image)}});
  }
  return samples;
}

TuneOptions quick(const TemporaryFolder& folder, std::vector<std::string> schemas, int threads = 1,
                  Samples calibration = {}) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.schemas = std::move(schemas);
  options.threads = threads;
  options.calibration = std::move(calibration);
  return options;
}

TuneReport tuned(Net& net, const TuneOptions& options) {
  Result<TuneReport> report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  return *std::move(report);
}

std::string failure(const TuneOptions& options) {
  Net net = small_net();
  const Result<TuneReport> report = net.tune(options);
  REQUIRE(!report.ok());
  CHECK(net.tuned_paths().empty());
  return report.status().message();
}

std::vector<int> tuned_threads(const Net& net) {
  std::vector<int> threads;
  for (const TunedPathInfo& path : net.tuned_paths()) threads.push_back(path.threads);
  std::sort(threads.begin(), threads.end());
  return threads;
}

bool drops_paths(const TuneReport& report) {
  return std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& line) {
    return line.find("one tuned path") != std::string::npos &&
           line.find("tune again") != std::string::npos;
  });
}

float image_scale(const Net& net) {
  const Graph& graph = NetAccess::graph(net);
  return graph.tensor(graph.inputs[0]).quantization.value().scales.at(0);
}

std::string routine_of(const TuneReport& report, const std::string& layer) {
  for (const TunedLayer& row : report.layers)
    if (row.layer == layer) return row.routine;
  return "";
}

}  // namespace

TEST_CASE("tune: calibrated with the same samples again, paths for other threads stay") {
  const TemporaryFolder folder;
  Net net = small_net();
  const Samples samples = samples_of_scale(1);
  tuned(net, quick(folder, {"cpu:qint8"}, 1, samples));
  CHECK(!drops_paths(tuned(net, quick(folder, {"cpu:qint8"}, 2, samples))));
  CHECK(tuned_threads(net) == std::vector<int>{1, 2});

  // In a file, too.
  const std::string file = (folder.path() / "two.dnn").string();
  REQUIRE(net.save(file).ok());
  NetOptions options;
  options.threads = 1;
  Net loaded = Net::load(file, options).value();
  CHECK(!drops_paths(tuned(loaded, quick(folder, {"cpu:qint8"}, 3, samples))));
  CHECK(tuned_threads(loaded) == std::vector<int>{1, 2, 3});
}

TEST_CASE("tune: other samples replace calibrated ranges, and paths with 8-bit layers go") {
  const TemporaryFolder folder;
  Net net = small_net();
  tuned(net, quick(folder, {"cpu:float32"}, 1));
  tuned(net, quick(folder, {"cpu:qint8"}, 2, samples_of_scale(1)));
  const float before = image_scale(net);
  const TuneReport report = tuned(net, quick(folder, {"cpu:qint8"}, 3, samples_of_scale(10)));
  CHECK(image_scale(net) == Approx(10 * before).epsilon(0.2));
  CHECK(tuned_threads(net) == std::vector<int>{1, 3});
  CHECK(drops_paths(report));
}

TEST_CASE("calibration: the model's own ranges stay, calibrated ones are replaced or removed") {
  Graph graph = small_graph();
  const TensorId given = graph.inputs[0], found = graph.outputs[1];
  Quantization q;
  q.scales = {0.5f};
  q.zero_points = {3};
  graph.tensor(given).quantization = q;
  CalibrationResult result;
  q.scales = {0.25f};
  q.channel_means = {1, 2, 3};
  result.quantizations[graph.tensor(given).name] = q;
  result.quantizations[graph.tensor(found).name] = q;
  REQUIRE(annotate(graph, result).ok());
  CHECK(graph.tensor(given).quantization->scales == std::vector<float>{0.5f});
  CHECK(graph.tensor(given).quantization->channel_means == q.channel_means);
  CHECK(!graph.tensor(given).quantization->calibrated);
  CHECK(graph.tensor(found).quantization->calibrated);

  result.quantizations.erase(graph.tensor(found).name);
  result.quantizations[graph.tensor(given).name].channel_means = {4, 5, 6};
  REQUIRE(annotate(graph, result).ok());
  CHECK(graph.tensor(given).quantization->channel_means == std::vector<float>{4, 5, 6});
  CHECK(!graph.tensor(found).quantization);
}

TEST_CASE("tune: the error is measured on validation samples, and calibration sees all others") {
  const TemporaryFolder folder;
  TuneOptions options = quick(folder, {"cpu:qint8"}, 1, samples_of_scale(1));
  options.max_error = INFINITY;
  Net held_back = small_net();
  const double error = tuned(held_back, options).error;
  CHECK(error > 0);

  // Far outside of the ranges: the error on them is another one.
  options.data.validation = samples_of_scale(8, 90);
  Net validated = small_net();
  CHECK(tuned(validated, options).error > 3 * error);

  options.calibration.resize(1);
  options.max_error = 1e-9;
  options.schemas = {"cpu:float32"};
  Net limited = small_net();
  CHECK(tuned(limited, options).error <= 1e-9);

  options.data.validation[2]["image"] = random_image(1, {1, 3, 12, 13});
  CHECK_THAT(failure(options), Contains("validation sample 2") && Contains("'image'"));
}

TEST_CASE("tune: samples that are made when they are needed serve as those in memory do") {
  const TemporaryFolder folder;
  TuneOptions in_memory = quick(folder, {"cpu:qint8"}, 1, samples_of_scale(1));
  in_memory.data.validation = samples_of_scale(1, 90);
  in_memory.max_error = INFINITY;
  Net one = small_net();
  const TuneReport report = tuned(one, in_memory);
  REQUIRE(report.error > 0);

  // Two in memory, the others made.
  const Samples calibration = in_memory.calibration, validation = in_memory.data.validation;
  TuneOptions options = in_memory;
  options.calibration.resize(2);
  std::set<std::size_t> made;
  options.data.calibration_source = {calibration.size() - 2, [&](std::size_t index) {
                                       made.insert(index);
                                       return Result<NamedTensors>(calibration.at(index + 2));
                                     }};
  options.data.validation.clear();
  options.data.validation_source = {validation.size(), [&](std::size_t index) {
                                      return Result<NamedTensors>(validation.at(index));
                                    }};
  Net other = small_net();
  const TuneReport same = tuned(other, options);
  CHECK(same.error == report.error);
  CHECK(same.validation_samples == validation.size());
  CHECK(image_scale(other) == image_scale(one));
  CHECK(made.size() == calibration.size() - 2);

  SECTION("their shapes are those that are tuned for, and others are refused") {
    options.data.validation_source.make = [](std::size_t) {
      return Result<NamedTensors>(NamedTensors{{"image", random_image(1, {1, 3, 12, 13})}});
    };
    CHECK_THAT(failure(options), Contains("validation sample 0") && Contains("'image'"));
  }
  SECTION("an error of theirs ends tuning") {
    options.data.calibration_source.make = [](std::size_t index) {
      if (index < 1) return Result<NamedTensors>(samples_of_scale(1)[0]);
      return Result<NamedTensors>(Status(StatusCode::io_error, "the disk is gone"));
    };
    CHECK_THAT(failure(options), Contains("calibration sample 3") && Contains("the disk is gone"));
  }
  SECTION("an error of the first one says which it is") {
    options.calibration.clear();
    options.data.calibration_source.make = [](std::size_t) {
      return Result<NamedTensors>(Status(StatusCode::io_error, "the disk is gone"));
    };
    CHECK_THAT(failure(options), Contains("calibration sample 0") && Contains("the disk is gone"));
  }
  SECTION("a number of samples that cannot be meant is an error") {
    options.data.validation_source.count = std::numeric_limits<std::size_t>::max();
    CHECK_THAT(failure(options), Contains("validation samples are to be made: at most"));
  }
  SECTION("a number of samples without a function is an error") {
    options.data.calibration_source.make = nullptr;
    CHECK_THAT(failure(options), Contains("no function makes them"));
  }
}

TEST_CASE("tune: the caller's thread is pinned while tuning lasts, only where that is asked for") {
  cpu_set_t before, during, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  if (CPU_COUNT(&before) < 2) {
    WARN("skipped: this process may use one processor alone");
    return;
  }
  for (const bool pin : {false, true}) {
    const TemporaryFolder folder;
    TuneOptions options = quick(folder, {"cpu:float32"}, 2);
    options.time_limit = std::chrono::milliseconds(100);
    options.effort.pin_threads = pin;
    int fewest = CPU_COUNT(&before);
    options.progress = [&](const TuneProgress&) {
      if (sched_getaffinity(0, sizeof during, &during) == 0)
        fewest = std::min(fewest, CPU_COUNT(&during));
    };
    NetOptions net_options;
    net_options.threads = 2;
    Net net = NetAccess::from_graph(small_graph(), net_options).value();
    tuned(net, options);
    // A worker that a busy machine keeps away leaves all threads where they are.
    if (!pin) CHECK(fewest == CPU_COUNT(&before));
    if (fewest != 1 && pin) WARN("no thread was pinned: the machine is busy");
    REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
  }
}

TEST_CASE("tune: one value far from all others is in the range of min_max alone") {
  const TemporaryFolder folder;
  TuneOptions options = quick(folder, {"cpu:qint8"});
  // More than 10,000 values: 0.01 % of them is one.
  constexpr std::uint32_t kSamples = 32;
  for (std::uint32_t i = 0; i < kSamples; ++i)
    options.calibration.push_back({{"image", random_image(i + 1)}});
  constexpr float kFar = 50;
  options.calibration[0]["image"].mutable_values<float>()[0] = kFar;
  const auto range = [&](RangeChoice choice) {
    options.data.range = choice;
    Net net = small_net();
    tuned(net, options);
    return 255 * image_scale(net);
  };
  const float widest = range(RangeChoice::min_max);
  CHECK(widest >= kFar);
  CHECK(range(RangeChoice::percentile) < 0.5f * widest);
  CHECK(range(RangeChoice::mse) < widest);
}

TEST_CASE("tune: routines that are to be avoided are on no layer, with and without the cache") {
  const TemporaryFolder folder;
  Net free = small_net();
  const TuneReport before = tuned(free, quick(folder, {"cpu:float32"}));
  const std::string taken = routine_of(before, "left");
  REQUIRE(!taken.empty());
  TuneOptions options = quick(folder, {"cpu:float32"});
  options.selection.avoid = {taken, "*/onednn"};
  Net net = small_net();
  const TuneReport report = tuned(net, options);
  for (const TunedLayer& row : report.layers) {
    CHECK(row.routine != taken);
    CHECK_THAT(row.routine, !Contains("onednn"));
  }
  options.selection.avoid = {"*"};
  CHECK_THAT(failure(options), Contains("every routine") && Contains("layer"));
}

TEST_CASE("tune: without samples bfloat16 is taken only where it is named") {
  const TemporaryFolder folder;
  const auto count = [](const TuneReport& report) {
    return std::count_if(report.layers.begin(), report.layers.end(), [](const TunedLayer& row) {
      return row.routine.find("bfloat16") != std::string::npos;
    });
  };
  const auto warns = [](const TuneReport& report) {
    return std::any_of(report.warnings.begin(), report.warnings.end(), [](const auto& warning) {
      return warning.find("error of bfloat16") != std::string::npos;
    });
  };
  Net any = small_net();
  const TuneReport unasked = tuned(any, quick(folder, {"cpu"}));
  CHECK(count(unasked) == 0);
  CHECK(warns(unasked));
  Net sampled = small_net();
  CHECK_FALSE(warns(tuned(sampled, quick(folder, {"cpu"}, 1, samples_of_scale(1)))));

  Net named = small_net();
  const Tensor image = random_image(1);
  const Tensor before = named.run({{"image", image}}).value().begin()->second;
  const TuneReport asked = tuned(named, quick(folder, {"cpu:bfloat16"}));
  CHECK(count(asked) > 5);
  CHECK_FALSE(warns(asked));
  const Tensor after = named.run({{"image", image}}).value().begin()->second;
  for (std::size_t i = 0; i < before.values<float>().size(); ++i)
    CHECK(after.values<float>()[i] == Approx(before.values<float>()[i]).margin(0.2));
}

TEST_CASE("tune: a pattern to avoid that no routine matches is a warning") {
  const TemporaryFolder folder;
  TuneOptions options = quick(folder, {"cpu:float32:nhwc"});
  options.selection.avoid = {"onednn", "*/naive"};
  Net net = small_net();
  const TuneReport report = tuned(net, options);
  const std::vector<std::string> warnings = steady_warnings(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("'onednn'"));
}

TEST_CASE("tune: a pinned layer has the routine that was asked for, whatever the schemas say") {
  const TemporaryFolder folder;
  TuneOptions options = quick(folder, {"cpu:float32:nhwc"});
  options.selection.pin = {{"deep", "cpu/naive"}};
  options.selection.avoid = {"*/naive"};
  Net net = small_net();
  const TuneReport report = tuned(net, options);
  CHECK(routine_of(report, "deep") == "cpu/naive");
  CHECK(routine_of(report, "left") != "cpu/naive");

  options.selection.pin = {{"depe", "cpu/naive"}};
  CHECK_THAT(failure(options), Contains("no layer") && Contains("'depe'"));
  options.selection.pin = {{"deep", "cpu/nothing"}};
  CHECK_THAT(failure(options), Contains("'deep'") && Contains("no routine of its type"));
  options.selection.pin = {{"flat", "cpu/naive"}};
  CHECK_THAT(failure(options), Contains("'flat'") && Contains("view"));
  options.selection.pin = {{"deep", "cpu:float32:nhwc/depthwise"}};
  CHECK_THAT(failure(options),
             Contains("'deep'") && Contains("depthwise: ") && !Contains("layout"));
  options.selection.pin = {{"deep", "cpu:qint8:nhwc/direct"}};
  CHECK_THAT(failure(options), Contains("calibrate"));
}

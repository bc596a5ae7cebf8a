// The shipped trained model in 8 bits: calibrated on some of its pictures, judged on the others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "npy.h"
#include "softneuro/net.h"
#include "steady_warnings.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// The pictures up to this one are for calibration (and for what tuning holds back of them).
constexpr std::size_t kGiven = 100;

std::string shapes_file(const std::string& name) {
  return source_dir() + "/models/shapes/" + name;
}

Tensor read_array(const std::string& name) {
  return read_npy(shapes_file(name)).value();
}

// One picture [1,3,32,32], bytes / `divisor`; the model wants 255.
Tensor picture(std::size_t index, float divisor = 255.0f) {
  static const Tensor all = read_array("test_images.npy");
  constexpr std::size_t kPixels = 3 * 32 * 32;
  Tensor image = Tensor::create(DataType::float32, {1, 3, 32, 32}).value();
  const auto bytes = all.values<std::uint8_t>().subspan(index * kPixels, kPixels);
  std::transform(bytes.begin(), bytes.end(), image.mutable_values<float>().begin(),
                 [&](std::uint8_t byte) { return static_cast<float>(byte) / divisor; });
  return image;
}

std::size_t picture_count() {
  static const std::size_t count = read_array("test_labels.npy").values<std::int64_t>().size();
  return count;
}

std::vector<NamedTensors> given_pictures() {
  std::vector<NamedTensors> samples;
  for (std::size_t i = 0; i < kGiven; ++i) samples.push_back({{"image", picture(i)}});
  return samples;
}

Net shapes_net() {
  NetOptions options;
  options.threads = 1;
  return Net::load(shapes_file("shapes.dnn"), options).value();
}

// What a net makes of pictures; of those that tuning was not given, unless others are named.
struct Evaluation {
  std::vector<Tensor> outputs;
  double right = 0;  // share whose class is the right one
};

Evaluation evaluate(const Net& net, std::size_t first, std::size_t end) {
  static const Tensor labels = read_array("test_labels.npy");
  Evaluation evaluation;
  std::size_t right = 0;
  for (std::size_t i = first; i < end; ++i) {
    const Tensor output = net.run({{"image", picture(i)}}).value().begin()->second;
    const auto values = output.values<float>();
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    right += best == labels.values<std::int64_t>()[i];
    evaluation.outputs.push_back(output);
  }
  evaluation.right = static_cast<double>(right) / static_cast<double>(end - first);
  return evaluation;
}

Evaluation evaluate(const Net& net) {
  return evaluate(net, kGiven, picture_count());
}

// RMS(out − ref) / RMS(ref) over all of them.
double error_of(const Evaluation& reference, const Evaluation& actual) {
  double square = 0, difference = 0;
  for (std::size_t i = 0; i < reference.outputs.size(); ++i)
    for (std::size_t k = 0; k < 10; ++k) {
      const double e = reference.outputs[i].values<float>()[k];
      const double a = actual.outputs[i].values<float>()[k];
      square += e * e;
      difference += (a - e) * (a - e);
    }
  return std::sqrt(difference / square);
}

TuneOptions options_for(const TemporaryFolder& folder, std::vector<std::string> schemas) {
  TuneOptions options;
  options.schemas = std::move(schemas);
  options.cache.folder = folder.path().string();
  options.calibration = given_pictures();
  return options;
}

bool has_warning(const TuneReport& report, const std::string& text) {
  return std::any_of(
      report.warnings.begin(), report.warnings.end(),
      [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
}

// A hybrid tune on the first twenty pictures, each of them changed.
Result<TuneReport> tune_on(void (*change)(std::size_t index, std::span<float> pixels)) {
  const TemporaryFolder folder;
  TuneOptions options = options_for(folder, {"cpu:float32", "cpu:qint8"});
  options.calibration.resize(20);
  for (std::size_t i = 0; i < options.calibration.size(); ++i)
    change(i, options.calibration[i].at("image").mutable_values<float>());
  Net net = shapes_net();
  return net.tune(options);
}

}  // namespace

TEST_CASE("shapes: where only qint8 competes, its layers are in 8 bits and right as before",
          "[slow][alone]") {
  const TemporaryFolder folder;
  const Evaluation reference = evaluate(shapes_net());
  CHECK(reference.right > 0.95);
  Net net = shapes_net();
  const auto report = net.tune(options_for(folder, {"cpu:qint8"}));
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(steady_warnings(*report).empty());
  CHECK(report->qint8_share > 0.9);
  CHECK(std::any_of(report->layers.begin(), report->layers.end(), [](const TunedLayer& row) {
    return row.type == "conv2" && row.routine.rfind("cpu:qint8", 0) == 0;
  }));
  CHECK(report->error > 0);
  const Evaluation tuned = evaluate(net);
  CHECK(tuned.right >= reference.right - 0.01);
  CHECK(error_of(reference, tuned) > 0);  // or it was not computed in 8 bits
  CHECK(error_of(reference, tuned) < 0.05);
}

TEST_CASE("shapes: a hybrid tune loses at most a point on pictures that it has not seen") {
  const TemporaryFolder folder;
  const Evaluation reference = evaluate(shapes_net());
  Net net = shapes_net();
  const auto report = net.tune(options_for(folder, {"cpu:float32", "cpu:qint8"}));
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(report->agreement >= 0.95);
  CHECK(evaluate(net).right >= reference.right - 0.01);
}

// Limits around what 8 bits cost; float32 is there for the tightest one, whatever the schemas.
TEST_CASE("shapes: the error limit holds on the validation samples, with 8 bits where they fit",
          "[slow][alone]") {
  constexpr std::size_t kEnd = kGiven + 60;
  const TemporaryFolder folder;
  const Evaluation reference = evaluate(shapes_net(), kGiven, kEnd);
  const auto options_within = [&](std::vector<std::string> schemas, double limit) {
    TuneOptions options = options_for(folder, std::move(schemas));
    for (std::size_t i = kGiven; i < kEnd; ++i)
      options.data.validation.push_back({{"image", picture(i)}});
    options.max_error = limit;
    return options;
  };
  Net free = shapes_net();
  const TuneReport in_bytes = free.tune(options_within({"cpu:qint8"}, INFINITY)).value();
  const double cost = in_bytes.error;
  REQUIRE(cost > 0);
  for (const std::vector<std::string>& schemas :
       {std::vector<std::string>{"cpu:qint8"}, {"cpu:float32:nchw8c", "cpu:qint8"}, {"cpu"}})
    for (const double share : {6.0, 2.0, 1.0, 0.5, 0.1}) {
      Net net = shapes_net();
      const auto report = net.tune(options_within(schemas, share * cost));
      INFO(schemas[0] << ", at most " << share * cost << " " << report.status().message());
      REQUIRE(report.ok());
      CHECK(report->within_limit);
      CHECK(report->validation_samples == kEnd - kGiven);
      CHECK(report->error <= share * cost);
      // The untuned net rounds float32 otherwise than the report's reference does.
      CHECK(error_of(reference, evaluate(net, kGiven, kEnd)) == Approx(report->error).margin(1e-5));
      if (share >= 2 && schemas[0] == "cpu:qint8") CHECK(report->qint8_share > 0);
    }
}

TEST_CASE("shapes: calibration on garbage is reported") {
  const auto gray = tune_on(
      [](std::size_t, std::span<float> pixels) { std::fill(pixels.begin(), pixels.end(), 0.5f); });
  REQUIRE(gray.ok());
  CHECK(has_warning(*gray, "samples are the same"));
  CHECK(has_warning(*gray, "'image' is constant"));
  const auto mixed = tune_on([](std::size_t index, std::span<float> pixels) {
    if (index % 4 == 0)
      for (float& pixel : pixels) pixel *= 255;
  });
  REQUIRE(mixed.ok());
  CHECK(has_warning(*mixed, "were all scaled alike?"));
  // All of them out of scale, which no two of them show.
  const auto bytes = tune_on([](std::size_t, std::span<float> pixels) {
    for (float& pixel : pixels) pixel *= 255;
  });
  REQUIRE(bytes.ok());
  CHECK(has_warning(*bytes, "is exactly 0 or 1 in"));
  const auto dark = tune_on([](std::size_t, std::span<float> pixels) {
    for (float& pixel : pixels) pixel /= 255;
  });
  REQUIRE(dark.ok());
  CHECK(has_warning(*dark, "between samples: are they of the kind"));
  const auto noise = tune_on([](std::size_t index, std::span<float> pixels) {
    std::mt19937 random(static_cast<std::uint32_t>(index));
    for (float& pixel : pixels) pixel = static_cast<float>(random() % 256) / 255.0f;
  });
  REQUIRE(noise.ok());
  CHECK(has_warning(*noise, "between samples: are they of the kind"));
  for (const float wrong : {NAN, INFINITY}) {
    static float value;
    value = wrong;
    const auto report = tune_on([](std::size_t index, std::span<float> pixels) {
      if (index == 3) pixels[5] = value;
    });
    CHECK(report.status().code() == StatusCode::invalid_argument);
    CHECK(report.status().message().find("sample 3: input 'image'") != std::string::npos);
  }
}

TEST_CASE("shapes: qint8 without calibration is an error that says what to do") {
  const TemporaryFolder folder;
  TuneOptions options = options_for(folder, {"cpu:float32", "cpu:qint8"});
  options.calibration.clear();
  options.shapes = {{"image", Shape{1, 3, 32, 32}}};
  Net net = shapes_net();
  const Status status = net.tune(options).status();
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK(status.message().find("give calibration samples") != std::string::npos);
  CHECK(net.tuned_paths().empty());
}

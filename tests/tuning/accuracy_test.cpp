// The error limit: layers that 8 bits ruin are computed in float32, and the report says which.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "net/net_access.h"
#include "small_net.h"
#include "softneuro/c_tune.h"
#include "softneuro/tune.h"
#include "support/c_tensor.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

// Of sixteen channels behind "wide", one is ten thousand times as large as the others, and "narrow"
// takes only the others: one scale for the tensor leaves nothing of them. "after" rounds well.
Graph wide_and_narrow() {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 16, 12, 12}));
  const auto scale_channels = [&](const char* weights, bool by_row, float first, float others) {
    Tensor tensor = b.graph.tensor(b.graph.find_tensor(weights)).constant;
    auto values = tensor.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] *= (by_row ? i / 16 : i % 16) == 0 ? first : others;
  };
  const TensorId wide = b.conv("wide", image, 16, 16, 1);
  const TensorId narrow = b.conv("narrow", wide, 16, 16, 1);
  b.graph.outputs = {b.conv("after", narrow, 16, 16, 3)};
  scale_channels("wide.w", true, 1e4f, 1);
  scale_channels("narrow.w", false, 0, 1);
  return b.graph;
}

Net wide_net() {
  NetOptions options;
  options.threads = 1;
  return NetAccess::from_graph(wide_and_narrow(), options).value();
}

TuneOptions eight_bits(const TemporaryFolder& folder) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.schemas = {"cpu:qint8"};
  for (std::uint32_t s = 0; s < 10; ++s)
    options.calibration.push_back({{"image", random_image(s + 1, {1, 16, 12, 12})}});
  return options;
}

bool is_8_bit(const TuneReport& report, const std::string& layer) {
  return std::ranges::any_of(report.layers, [&](const TunedLayer& row) {
    return row.layer == layer && row.routine.find("qint8") != std::string::npos;
  });
}

const TunedLayer& row_of(const TuneReport& report, const std::string& layer) {
  const auto found = std::ranges::find(report.layers, layer, &TunedLayer::layer);
  REQUIRE(found != report.layers.end());
  return *found;
}

bool warns(const TuneReport& report, const std::string& text) {
  return std::ranges::any_of(report.warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

TuneReport tuned(const TuneOptions& options) {
  Net net = wide_net();
  Result<TuneReport> report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  return *std::move(report);
}

Status failure(const TuneOptions& options) {
  Net net = wide_net();
  const Result<TuneReport> report = net.tune(options);
  REQUIRE(!report.ok());
  CHECK(net.tuned_paths().empty());
  return report.status();
}

}  // namespace

TEST_CASE("tune: without a limit of the caller's, what 8 bits ruin is in float32 all the same") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.max_error = INFINITY;
  const TuneReport all = tuned(options);
  CHECK(is_8_bit(all, "narrow"));
  CHECK(all.error > 2 * kDefaultMaxError);
  CHECK(all.within_limit);
  CHECK(all.sensitivity.empty());

  options.max_error.reset();
  const TuneReport kept = tuned(options);
  CHECK(kept.error <= kDefaultMaxError);
  CHECK(kept.within_limit);
  CHECK_FALSE(is_8_bit(kept, "narrow"));
  CHECK(warns(kept, "cpu:float32 as well"));
  REQUIRE(row_of(kept, "narrow").not_chosen.size() == 1);
  CHECK(row_of(kept, "narrow").not_chosen[0].kind == "cpu:qint8");
  // 8 bits may be slower here.
  const NotChosen::Reason reason = row_of(kept, "narrow").not_chosen[0].reason;
  CHECK((reason == NotChosen::Reason::error_limit || reason == NotChosen::Reason::slower));
}

TEST_CASE("tune: the report says why a layer is not in another of the allowed types") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.schemas = {"cpu:float32", "cpu:qint8"};
  options.max_error = INFINITY;
  options.selection.pin["wide"] = "cpu:float32*";
  options.selection.pin["narrow"] = "cpu:qint8*";
  const TuneReport report = tuned(options);
  for (const char* layer : {"wide", "narrow"}) {
    REQUIRE(row_of(report, layer).not_chosen.size() == 1);
    const NotChosen& pinned = row_of(report, layer).not_chosen[0];
    CHECK(pinned.kind == (layer[0] == 'w' ? "cpu:qint8" : "cpu:float32"));
    CHECK(pinned.reason == NotChosen::Reason::no_routine);
    CHECK(pinned.routine.empty());
  }
  const TunedLayer& free = row_of(report, "after");
  REQUIRE(free.not_chosen.size() == 1);
  const NotChosen& other = free.not_chosen[0];
  const auto in_8_bits = [](const std::string& text) { return text.find("cpu:qint8") == 0; };
  CHECK(in_8_bits(other.kind) != in_8_bits(free.routine));
  CHECK(in_8_bits(other.kind) == in_8_bits(other.routine));
  CHECK(other.time_us > 0);
  CHECK(
      (other.reason == NotChosen::Reason::slower || other.reason == NotChosen::Reason::whole_net));
  for (const TunedLayer& row : report.layers)
    if (row.type == "adapt") CHECK(row.not_chosen.empty());
}

TEST_CASE("tune: where one type is allowed, no layer lacks another") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.schemas = {"cpu:float32"};
  options.calibration.clear();
  for (const TunedLayer& row : tuned(options).layers) CHECK(row.not_chosen.empty());
}

TEST_CASE("tune: a limit that a pinned layer breaks is an error; the default one is a warning") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.schemas = {"cpu:float32", "cpu:qint8"};
  options.selection.pin["narrow"] = "cpu:qint8*";
  const TuneReport report = tuned(options);
  CHECK_FALSE(report.within_limit);
  CHECK(report.error > kDefaultMaxError);
  CHECK(is_8_bit(report, "narrow"));
  CHECK(warns(report, "no path keeps it below 0.1"));
  options.max_error = 0.1;
  const Status status = failure(options);
  CHECK(status.code() == StatusCode::unsupported);
  CHECK_THAT(status.message(), Contains("that keeps the error below 0.1"));
}

TEST_CASE(
    "tune: a layer pinned to 8 bits gets its ranges from the samples in float32 schemas, too") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.schemas = {"cpu:float32"};
  options.selection.pin["narrow"] = "cpu:qint8*";
  const TuneReport report = tuned(options);
  for (const TunedLayer& row : report.layers)
    if (row.type != "adapt") CHECK(is_8_bit(report, row.layer) == (row.layer == "narrow"));
}

TEST_CASE("tune: a metric without a limit is an error; cosine limits its own error") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.criteria.metric = ErrorMetric::cosine;
  CHECK_THAT(failure(options).message(), Contains("max_error is needed"));
  options.max_error = 1e-4;
  const TuneReport cosine = tuned(options);
  CHECK(cosine.error <= 1e-4);
  CHECK(cosine.error_high >= cosine.error);
}

TEST_CASE("tune: top1 limits the share of other classes, and says where samples are too few") {
  const TemporaryFolder folder;
  Graph graph = small_graph();
  graph.outputs = {graph.outputs[0]};
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.criteria.metric = ErrorMetric::top1;
  options.max_error = 0.05;
  const std::size_t count = GENERATE(1, 200);
  for (std::uint32_t s = 0; s < count; ++s)
    options.data.validation.push_back({{"image", random_image(s + 1)}});
  Net net = NetAccess::from_graph(graph, {.threads = 1}).value();
  const Result<TuneReport> report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(report->error == 0);
  CHECK(report->agreement == 1);
  CHECK(report->error_high > 0);  // even of one sample
  CHECK(warns(*report, "one sample cannot show the limit") == (count == 1));
}

TEST_CASE("tune: there is no top-1 agreement where the first output holds no scores of classes") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  CHECK(std::isnan(tuned(options).agreement));
  options.criteria.metric = ErrorMetric::top1;
  options.max_error = 0.05;
  const Status status = failure(options);
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Contains("1x16x12x12") && Contains("no scores of classes"));
}

TEST_CASE("tune: a score gets the outputs of each validation sample, and its loss is limited") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  std::vector<std::vector<NamedTensors>> seen;
  options.criteria.score = [&](const std::vector<NamedTensors>& outputs) -> Result<double> {
    seen.push_back(outputs);
    return seen.size() == 1 ? 0.9 : 0.85;
  };
  options.max_error = 0.06;
  const TuneReport report = tuned(options);
  CHECK(report.error == Approx(0.05));
  REQUIRE(seen.size() >= 2);
  CHECK(seen[0].size() == 2);  // every fifth of ten
  CHECK(seen[0][0].size() == 1);
  // Whatever is tried is worse than what was scored before it.
  options.criteria.score = [score =
                                0.0](const std::vector<NamedTensors>&) mutable -> Result<double> {
    return score -= 1;
  };
  CHECK(failure(options).code() == StatusCode::unsupported);

  options.criteria.score = [](const std::vector<NamedTensors>&) -> Result<double> { return NAN; };
  CHECK_THAT(failure(options).message(), Contains("it must be a finite number"));
  options.criteria.score = [](const std::vector<NamedTensors>&) -> Result<double> {
    return Status(StatusCode::io_error, "the labels are gone");
  };
  CHECK_THAT(failure(options).message(), Contains("the labels are gone"));
}

TEST_CASE("tune: in a score each sample has outputs of its own, near the references") {
  const TemporaryFolder folder;
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.schemas = {"cpu:float32", "cpu:qint8"};
  for (std::uint32_t s = 0; s < 10; ++s)
    options.calibration.push_back({{"image", random_image(s)}});
  std::vector<std::vector<NamedTensors>> seen;
  options.criteria.score = [&](const std::vector<NamedTensors>& outputs) -> Result<double> {
    seen.push_back(outputs);
    return 1.0;
  };
  options.max_error = 0.5;
  NetOptions net_options;
  net_options.threads = 1;
  REQUIRE(NetAccess::from_graph(small_graph(), net_options)->tune(options).ok());
  REQUIRE(seen.size() >= 2);
  for (const std::vector<NamedTensors>& outputs : seen) {
    REQUIRE(outputs.size() == 2);
    for (const auto& [name, tensor] : outputs[0]) {
      const double between_samples = relative_error(tensor, outputs[1].at(name));
      CHECK(between_samples > 0.05);
      CHECK(relative_error(seen[0][0].at(name), tensor) < between_samples / 2);
    }
  }
}

TEST_CASE("tune: one sample serves for ranges and for the error, and a warning says so") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.calibration.resize(1);
  const TuneReport report = tuned(options);
  CHECK(report.error <= kDefaultMaxError);
  CHECK(report.validation_samples == 1);
  CHECK(warns(report, "a single sample"));
}

TEST_CASE("C API: metric, score, interval and sensitivity are those of C++") {
  const TemporaryFolder folder;
  const std::string file = folder.file("wide.dnn");
  REQUIRE(wide_net().save(file).ok());
  sn_net* net = nullptr;
  REQUIRE(sn_net_load(file.c_str(), nullptr, &net) == SN_OK);
  std::vector<Tensor> images;
  std::vector<sn_tensor> samples;
  for (std::uint32_t s = 0; s < 10; ++s) {
    images.push_back(random_image(s + 1, {1, 16, 12, 12}));
    samples.push_back(
        float_tensor(images.back().mutable_values<float>().data(), images.back().shape().dims()));
  }
  const char* const schemas[] = {"cpu:float32", "cpu:qint8"};
  sn_tune_options options = SN_TUNE_OPTIONS_INIT;
  options.schemas = schemas;
  options.schema_count = 2;
  options.calibration = samples.data();
  options.calibration_count = samples.size();
  sn_tune_cache cache = SN_TUNE_CACHE_INIT;
  cache.disabled = 1;
  options.cache = &cache;
  sn_tune_criteria criteria = SN_TUNE_CRITERIA_INIT;
  criteria.measure_sensitivity = 1;
  options.criteria = &criteria;
  sn_tuning* tuning = nullptr;
  REQUIRE(sn_net_tune(net, &options, &tuning) == SN_OK);
  sn_tune_report report = SN_TUNE_REPORT_INIT;
  REQUIRE(sn_tuning_report(tuning, &report) == SN_OK);
  CHECK(report.error <= kDefaultMaxError);
  CHECK(report.error_high >= report.error);
  CHECK(report.validation_samples == 2);
  CHECK(report.within_limit == 1);
  sn_layer_sensitivity sensitivity = SN_LAYER_SENSITIVITY_INIT;
  for (std::size_t i = 0; i < sn_tuning_sensitivity_count(tuning); ++i) {
    REQUIRE(sn_tuning_sensitivity(tuning, i, &sensitivity) == SN_OK);
    CHECK(std::string(sensitivity.routine).find("qint8") != std::string::npos);
    CHECK(sensitivity.net_error >= 0);
  }
  CHECK(sn_tuning_sensitivity(tuning, sn_tuning_sensitivity_count(tuning), &sensitivity) ==
        SN_INVALID_ARGUMENT);
  CHECK(sn_tuning_sensitivity_count(nullptr) == 0);
  std::size_t rows = 0;
  for (std::size_t layer = 0; layer < sn_tuning_layer_count(tuning); ++layer) {
    const std::size_t count = sn_tuning_not_chosen_count(tuning, layer);
    sn_not_chosen row = SN_NOT_CHOSEN_INIT;
    for (std::size_t i = 0; i < count; ++i, ++rows) {
      REQUIRE(sn_tuning_not_chosen(tuning, layer, i, &row) == SN_OK);
      CHECK(std::string(row.kind).find("cpu:") == 0);
      CHECK_FALSE(std::string(row.reason).empty());
      CHECK((row.routine[0] == 0 || std::string(row.routine).find("cpu") == 0));
    }
    CHECK(sn_tuning_not_chosen(tuning, layer, count, &row) == SN_INVALID_ARGUMENT);
  }
  CHECK(rows == 3);  // one for each convolution
  CHECK(sn_tuning_not_chosen_count(nullptr, 0) == 0);
  sn_tuning_free(tuning);

  std::size_t calls = 0;
  criteria.score_context = &calls;
  criteria.score = [](void* context, const sn_tensor* outputs, std::size_t output_count,
                      std::size_t sample_count, double* score) -> sn_status {
    ++*static_cast<std::size_t*>(context);
    CHECK(output_count == 1);
    CHECK(sample_count == 2);
    CHECK(outputs[1].rank == 4);
    *score = 1;
    return SN_OK;
  };
  options.max_error = 0.5;
  CHECK(sn_net_tune(net, &options, nullptr) == SN_OK);
  CHECK(calls >= 2);
  criteria.score = [](void*, const sn_tensor*, std::size_t, std::size_t, double*) -> sn_status {
    return SN_IO_ERROR;
  };
  CHECK(sn_net_tune(net, &options, nullptr) == SN_IO_ERROR);
  criteria.metric = 77;
  CHECK(sn_net_tune(net, &options, nullptr) == SN_INVALID_ARGUMENT);
  sn_net_free(net);
}

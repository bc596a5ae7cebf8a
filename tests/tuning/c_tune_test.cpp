// Tuning through the C API: the same work, errors as statuses, cancelling by the callback.
#include "softneuro/c_tune.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "net/net_access.h"
#include "small_net.h"
#include "support/c_tensor.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

struct CNet {
  sn_net* net = nullptr;
  explicit CNet(const TemporaryFolder& folder) {
    const std::string file = folder.file("small.dnn");
    REQUIRE(NetAccess::from_graph(small_graph(), {}).value().save(file).ok());
    REQUIRE(sn_net_load(file.c_str(), nullptr, &net) == SN_OK);
  }
  ~CNet() { sn_net_free(net); }
};

const sn_tune_cache kNoCache = {sizeof(sn_tune_cache), nullptr, 1};

}  // namespace

TEST_CASE("C API: tunes, reports, and saves what C++ loads") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options{};
  options.struct_size = sizeof options;
  const std::string folder_of_cache = folder.file("cache");
  sn_tune_cache cache = SN_TUNE_CACHE_INIT;
  cache.folder = folder_of_cache.c_str();
  options.cache = &cache;
  sn_tuning* tuning = nullptr;
  REQUIRE(sn_net_tune(c.net, &options, &tuning) == SN_OK);
  CHECK_FALSE(std::filesystem::is_empty(folder_of_cache));
  sn_tune_report report{};
  report.struct_size = sizeof report;
  REQUIRE(sn_tuning_report(tuning, &report) == SN_OK);
  sn_tuning_free(tuning);
  CHECK(report.measured > 0);
  CHECK(report.tuned_us > 0);
  REQUIRE(sn_net_save(c.net, folder.file("tuned.dnn").c_str()) == SN_OK);
  CHECK(Net::load(folder.file("tuned.dnn")).value().tuned_paths().size() == 1);
}

TEST_CASE("C API: a tuning that fails gives none") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options = SN_TUNE_OPTIONS_INIT;
  const char* const schemas[] = {"no such schema"};
  options.schemas = schemas;
  options.schema_count = 1;
  sn_tuning* tuning = reinterpret_cast<sn_tuning*>(&options);
  CHECK(sn_net_tune(c.net, &options, &tuning) == SN_INVALID_ARGUMENT);
  CHECK(tuning == nullptr);
}

TEST_CASE("C API: layer by layer, paths and packed weights are those of C++") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options = SN_TUNE_OPTIONS_INIT;
  options.cache = &kNoCache;
  sn_tune_effort effort = SN_TUNE_EFFORT_INIT;
  effort.finalists = 2;
  options.effort = &effort;
  sn_tuning* tuning = nullptr;
  REQUIRE(sn_net_tune(c.net, &options, &tuning) == SN_OK);
  sn_tune_report report = SN_TUNE_REPORT_INIT;
  REQUIRE(sn_tuning_report(tuning, &report) == SN_OK);
  CHECK(report.tuned_us > 0);
  CHECK(report.threads >= 1);
  CHECK(report.complete == 1);
  CHECK(report.agreement == 1);
  const std::size_t layers = sn_tuning_layer_count(tuning);
  REQUIRE(layers > 0);
  sn_tuned_layer layer = SN_TUNED_LAYER_INIT;
  bool convolution = false;
  for (std::size_t i = 0; i < layers; ++i) {
    REQUIRE(sn_tuning_layer(tuning, i, &layer) == SN_OK);
    CHECK(std::string(layer.routine).find('/') != std::string::npos);
    CHECK(layer.params != nullptr);
    CHECK(layer.is_measured == 1);
    if (std::string(layer.type) != "conv2") continue;
    convolution = true;
    CHECK(layer.candidates > 1);
    CHECK(layer.time_us > 0);
  }
  CHECK(convolution);
  CHECK(sn_tuning_layer(tuning, layers, &layer) == SN_INVALID_ARGUMENT);
  for (std::size_t i = 0; sn_tuning_warning(tuning, i) != nullptr; ++i)
    CHECK_FALSE(std::string(sn_tuning_warning(tuning, i)).empty());
  const std::string machine = sn_tuning_machine(tuning);
  sn_tuning_free(tuning);

  sn_tuned_paths* paths = nullptr;
  REQUIRE(sn_net_tuned_paths(c.net, &paths) == SN_OK);
  REQUIRE(sn_tuned_paths_count(paths) == 1);
  sn_tuned_path path = SN_TUNED_PATH_INIT;
  REQUIRE(sn_tuned_paths_get(paths, 0, &path) == SN_OK);
  CHECK(path.machine == machine);
  CHECK(path.threads == report.threads);
  CHECK(path.time_us == report.tuned_us);
  REQUIRE(path.shape_count == 1);
  CHECK(std::string(path.shapes[0].name) == "image");
  CHECK(path.shapes[0].rank == 4);
  REQUIRE(path.schema_count == 1);
  CHECK(std::string(path.schemas[0]) == "cpu:float32");
  sn_tuned_paths_free(paths);

  const std::string plain = folder.file("plain.dnn"), packed = folder.file("packed.dnn");
  REQUIRE(sn_net_save_with(c.net, plain.c_str(), nullptr) == SN_OK);
  sn_save_options save = SN_SAVE_OPTIONS_INIT;
  save.packed_weights = 1;
  REQUIRE(sn_net_save_with(c.net, packed.c_str(), &save) == SN_OK);
  CHECK(std::filesystem::file_size(packed) > std::filesystem::file_size(plain));
  CHECK(Net::load(packed).ok());

  CHECK(sn_net_tune(nullptr, &options, &tuning) == SN_INVALID_ARGUMENT);
  CHECK(sn_tuning_report(nullptr, &report) == SN_INVALID_ARGUMENT);
  CHECK(sn_tuning_layer(nullptr, 0, &layer) == SN_INVALID_ARGUMENT);
  CHECK(sn_tuning_layer_count(nullptr) == 0);
  CHECK(sn_tuning_warning(nullptr, 0) == nullptr);
  sn_tuning_free(nullptr);
}

TEST_CASE("C API: what tuning warns of reaches the log") {
  const TemporaryFolder folder;
  const CNet c(folder);
  std::vector<std::string> lines;
  sn_net_options net_options = SN_NET_OPTIONS_INIT;
  net_options.log_context = &lines;
  net_options.log = [](void* context, sn_log_level level, const char* message) {
    if (level >= SN_LOG_WARNING)
      static_cast<std::vector<std::string>*>(context)->push_back(message);
  };
  sn_net* net = nullptr;
  REQUIRE(sn_net_load(folder.file("small.dnn").c_str(), &net_options, &net) == SN_OK);
  // One sample: calibration says that this is little.
  std::vector<float> image(3 * 12 * 12, 0.5f);
  const std::int64_t dims[] = {1, 3, 12, 12};
  const sn_tensor sample = float_tensor(image.data(), dims);
  const char* const schemas[] = {"cpu:float32", "cpu:qint8"};
  sn_tune_options options = SN_TUNE_OPTIONS_INIT;
  options.cache = &kNoCache;
  options.schemas = schemas;
  options.schema_count = 2;
  options.calibration = &sample;
  options.calibration_count = 1;
  sn_tuning* tuning = nullptr;
  const sn_status status = sn_net_tune(net, &options, &tuning);
  INFO(sn_last_error());
  REQUIRE(status == SN_OK);
  bool warned = false, logged = false;
  const std::string words = "a single sample serves for calibration";
  for (std::size_t i = 0; const char* line = sn_tuning_warning(tuning, i); ++i)
    warned = warned || std::string(line).find(words) == 0;
  for (const std::string& line : lines) logged = logged || line.find(words) == 0;
  CHECK(warned);
  CHECK(logged);
  sn_tuning_free(tuning);
  sn_net_free(net);
}

TEST_CASE("C API: an sn_cancel stops a tuning, and a progress that stops it requests the cancel") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_cancel* cancel = nullptr;
  REQUIRE(sn_cancel_create(&cancel) == SN_OK);
  sn_tune_options options = SN_TUNE_OPTIONS_INIT;
  options.cache = &kNoCache;
  options.cancel = cancel;
  sn_cancel_request(cancel);
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_CANCELLED);
  sn_cancel_reset(cancel);
  options.progress = [](void*, const char*, size_t, size_t, const char*, const char*) {
    return std::int32_t{1};
  };
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_CANCELLED);
  options.progress = nullptr;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_CANCELLED);  // until it is reset
  sn_cancel_reset(cancel);
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_OK);
  sn_cancel_free(cancel);
}

TEST_CASE("C API: wrong options and cancelling are statuses with a message") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options{};
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);  // struct_size
  options.struct_size = sizeof options;
  options.cache = &kNoCache;
  CHECK(sn_net_tune(nullptr, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.time_limit = -1;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.time_limit = 0;
  options.calibration_count = 1;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.calibration_count = 0;
  sn_tune_effort effort = SN_TUNE_EFFORT_INIT;
  effort.rounds = -1;
  options.effort = &effort;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  effort = {};
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);  // its struct_size
  options.effort = nullptr;
  sn_shape shapes[2] = {SN_SHAPE_INIT, SN_SHAPE_INIT};
  for (sn_shape& shape : shapes) {
    shape.name = "image";
    shape.rank = 4;
    for (int i = 0; i < 4; ++i) shape.dims[i] = i == 0 ? 1 : i == 1 ? 3 : 12;
  }
  options.shapes = shapes;
  options.shape_count = 2;  // which of them is meant?
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.shape_count = 0;
  options.progress = [](void*, const char*, size_t, size_t, const char*, const char*) {
    return std::int32_t{1};
  };
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_CANCELLED);
  CHECK(std::string(sn_last_error()).find("cancelled") != std::string::npos);
}

TEST_CASE("C API: samples to validate on, ranges, routines to avoid and to pin, as in C++") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options = SN_TUNE_OPTIONS_INIT;
  const std::string folder_of_cache = folder.file("cache");
  sn_tune_cache cache = SN_TUNE_CACHE_INIT;
  cache.folder = folder_of_cache.c_str();
  options.cache = &cache;
  const char* schemas[] = {"cpu:qint8"};
  options.schemas = schemas;
  options.schema_count = 1;
  Tensor images[] = {random_image(1), random_image(2), random_image(3)};
  sn_tensor samples[3];
  for (int i = 0; i < 3; ++i)
    samples[i] = float_tensor(images[i].mutable_values<float>().data(), images[i].shape().dims());
  options.calibration = samples;
  options.calibration_count = 1;
  sn_tune_data data = SN_TUNE_DATA_INIT;
  data.validation = samples + 1;
  data.validation_count = 2;
  data.range = SN_RANGE_MIN_MAX;
  options.data = &data;
  const char* avoided[] = {"*/onednn", "*/xnnpack"};
  sn_tune_selection selection = SN_TUNE_SELECTION_INIT;
  selection.avoid = avoided;
  selection.avoid_count = 2;
  const char* pinned[] = {"deep", "cpu/naive"};
  selection.pin = pinned;
  selection.pin_count = 1;
  options.selection = &selection;
  sn_tuning* tuning = nullptr;
  REQUIRE(sn_net_tune(c.net, &options, &tuning) == SN_OK);
  sn_tune_report report = SN_TUNE_REPORT_INIT;
  REQUIRE(sn_tuning_report(tuning, &report) == SN_OK);
  CHECK(report.error > 0);
  {
    // The same samples, made when they are needed.
    sn_tune_options making = options;
    making.calibration = nullptr;
    making.calibration_count = 0;
    sn_sample_source calibration = SN_SAMPLE_SOURCE_INIT;
    calibration.make = [](void* context, size_t index, sn_tensor* inputs, size_t input_count) {
      CHECK(input_count == 1);
      inputs[0] = static_cast<const sn_tensor*>(context)[index];
      return sn_status{SN_OK};
    };
    calibration.context = samples;
    calibration.count = 1;
    sn_sample_source validation = calibration;
    validation.context = samples + 1;
    validation.count = 2;
    sn_tune_data made = SN_TUNE_DATA_INIT;
    made.range = data.range;
    made.calibration_source = &calibration;
    made.validation_source = &validation;
    making.data = &made;
    sn_tuning* again = nullptr;
    REQUIRE(sn_net_tune(c.net, &making, &again) == SN_OK);
    sn_tune_report same = SN_TUNE_REPORT_INIT;
    REQUIRE(sn_tuning_report(again, &same) == SN_OK);
    CHECK(same.error == report.error);
    CHECK(same.validation_samples == 2);
    sn_tuning_free(again);
    calibration.make = nullptr;
    CHECK(sn_net_tune(c.net, &making, nullptr) == SN_INVALID_ARGUMENT);
    calibration.make = [](void*, size_t, sn_tensor*, size_t) { return sn_status{SN_OK}; };
    CHECK(sn_net_tune(c.net, &making, nullptr) == SN_INVALID_ARGUMENT);  // left as it was
    calibration.make = [](void*, size_t, sn_tensor*, size_t) { return sn_status{SN_IO_ERROR}; };
    again = nullptr;
    CHECK(sn_net_tune(c.net, &making, &again) == SN_IO_ERROR);
    CHECK(again == nullptr);
  }
  for (size_t i = 0; i < sn_tuning_layer_count(tuning); ++i) {
    sn_tuned_layer layer = SN_TUNED_LAYER_INIT;
    REQUIRE(sn_tuning_layer(tuning, i, &layer) == SN_OK);
    const std::string routine = layer.routine;
    if (layer.layer == std::string("deep")) CHECK(routine == "cpu/naive");
    CHECK(routine.find("onednn") == std::string::npos);
    CHECK(routine.find("xnnpack") == std::string::npos);
  }
  sn_tuning_free(tuning);

  data.range = 9;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  data.range = SN_RANGE_MSE;
  selection.avoid = nullptr;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
}

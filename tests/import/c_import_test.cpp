// sn_net_import: a model file through the C API, and the same net as a .dnn file.
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "softneuro/c_api.h"
#include "support/c_tensor.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using softneuro::test::source_dir;

namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Test image `index` of the bundled model, as its input wants it.
std::vector<float> picture(std::size_t index) {
  const std::vector<char> bytes = read_file(source_dir() + "/models/shapes/test_images.npy");
  constexpr std::size_t kHeader = 128, kValues = 3 * 32 * 32;
  REQUIRE(bytes.size() >= kHeader + (index + 1) * kValues);
  std::vector<float> values;
  for (std::size_t i = 0; i < kValues; ++i)
    values.push_back(
        static_cast<float>(static_cast<unsigned char>(bytes[kHeader + index * kValues + i])) / 255);
  return values;
}

// A view of a picture's values.
sn_tensor image_of(std::vector<float>& values) {
  const std::int64_t dims[] = {1, 3, 32, 32};
  return softneuro::test::float_tensor(values.data(), dims);
}

// Probabilities that `net` gives for a picture.
std::vector<float> run(const sn_net* net, std::vector<float> values) {
  const sn_tensor input = image_of(values);
  sn_tensor output = SN_TENSOR_INIT;
  sn_result* result = nullptr;
  const sn_status status = sn_net_run(net, &input, 1, &result);
  INFO(sn_last_error());
  REQUIRE(status == SN_OK);
  REQUIRE(sn_result_get(result, 0, &output) == SN_OK);
  const auto* const data = static_cast<const float*>(output.data);
  const std::vector<float> scores(data, data + output.bytes / sizeof(float));
  sn_result_free(result);
  return scores;
}

}  // namespace

TEST_CASE("c api: import a model, save it, load it: the same outputs") {
  const std::string path = source_dir() + "/models/shapes/shapes.onnx";
  sn_net* net = nullptr;
  const sn_status status = sn_net_import(path.c_str(), nullptr, &net);
  INFO(sn_last_error());
  REQUIRE(status == SN_OK);
  const std::vector<float> expected = run(net, picture(4));
  REQUIRE(expected.size() == 10);
  REQUIRE(expected[3] > 0.9f);  // a star

  const softneuro::test::TemporaryFolder folder;
  const std::string saved = folder.file("shapes.dnn");
  REQUIRE(sn_net_save(net, saved.c_str()) == SN_OK);
  sn_net_free(net);
  REQUIRE(sn_net_load(saved.c_str(), nullptr, &net) == SN_OK);
  REQUIRE(run(net, picture(4)) == expected);
  sn_net_free(net);

  const std::vector<char> bytes = read_file(path);
  REQUIRE(sn_net_import_memory(bytes.data(), bytes.size(), nullptr, nullptr, &net) == SN_OK);
  REQUIRE(run(net, picture(4)) == expected);
  sn_net_free(net);
}

TEST_CASE("c api: the bundled .dnn file is the bundled model") {
  sn_net* net = nullptr;
  sn_net* model = nullptr;
  const std::string folder = source_dir() + "/models/shapes/";
  REQUIRE(sn_net_load((folder + "shapes.dnn").c_str(), nullptr, &net) == SN_OK);
  REQUIRE(sn_net_import((folder + "shapes.onnx").c_str(), nullptr, &model) == SN_OK);
  for (const std::size_t index : {0u, 4u, 99u}) {
    const std::vector<float> a = run(net, picture(index)), b = run(model, picture(index));
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == Approx(b[i]).margin(1e-5));
  }
  sn_net_free(net);
  sn_net_free(model);
}

TEST_CASE("c api: an import fixes sizes and leaves out passes") {
  const std::string path = source_dir() + "/models/shapes/shapes.onnx";
  sn_net* open = nullptr;
  REQUIRE(sn_net_import(path.c_str(), nullptr, &open) == SN_OK);
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_net_input_info(open, 0, &info) == SN_OK);
  REQUIRE(info.dims[0] == -1);  // else the test shows nothing
  sn_shape shape = SN_SHAPE_INIT;
  shape.name = info.name;
  shape.rank = 4;
  const std::int64_t dims[] = {5, 3, 32, 32};
  std::copy(std::begin(dims), std::end(dims), shape.dims);
  const char* const passes[] = {"all"};
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.shapes = &shape;
  options.shape_count = 1;
  options.disabled_passes = passes;
  options.disabled_pass_count = 1;
  sn_net* fixed = nullptr;
  const sn_status status = sn_net_import(path.c_str(), &options, &fixed);
  INFO(sn_last_error());
  REQUIRE(status == SN_OK);
  REQUIRE(sn_net_input_info(fixed, 0, &info) == SN_OK);
  CHECK(info.dims[0] == 5);
  sn_net_free(fixed);

  shape.rank = 2;
  CHECK(sn_net_import(path.c_str(), &options, &fixed) != SN_OK);
  options.shape_count = 0;
  options.disabled_pass_count = 2;  // the second one is not there
  const char* const broken[] = {"all", nullptr};
  options.disabled_passes = broken;
  CHECK(sn_net_import(path.c_str(), &options, &fixed) == SN_INVALID_ARGUMENT);
  sn_net_free(open);  // shape.name belongs to it
}

TEST_CASE("c api: an input that is given as a constant is none of the net's inputs") {
  const std::string path = source_dir() + "/models/shapes/shapes.onnx";
  std::vector<float> values = picture(0);
  sn_net *model = nullptr, *fixed = nullptr;
  REQUIRE(sn_net_import(path.c_str(), nullptr, &model) == SN_OK);
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_net_input_info(model, 0, &info) == SN_OK);
  sn_tensor constant = image_of(values);
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.constants = &constant;
  options.constant_count = 1;
  CHECK(sn_net_import(path.c_str(), &options, &fixed) == SN_INVALID_ARGUMENT);  // no name
  constant.name = info.name;
  const sn_status status = sn_net_import(path.c_str(), &options, &fixed);
  INFO(sn_last_error());
  REQUIRE(status == SN_OK);
  CHECK(sn_net_input_count(fixed) == 0);
  const std::vector<float> wanted = run(model, values);
  std::fill(values.begin(), values.end(), 0.0f);  // it was copied
  sn_result* result = nullptr;
  REQUIRE(sn_net_run(fixed, nullptr, 0, &result) == SN_OK);
  sn_tensor output = SN_TENSOR_INIT;
  REQUIRE(sn_result_get(result, 0, &output) == SN_OK);
  const auto* const scores = static_cast<const float*>(output.data);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(scores[i] == Approx(wanted[i]).margin(1e-6));
  sn_result_free(result);
  sn_net_free(fixed);
  sn_net_free(model);
}

TEST_CASE("c api: what cannot be imported is refused") {
  sn_net* net = nullptr;
  REQUIRE(sn_net_import("none.onnx", nullptr, &net) == SN_NOT_FOUND);
  REQUIRE(net == nullptr);
  REQUIRE(sn_net_import(nullptr, nullptr, &net) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_import("a", nullptr, nullptr) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_import_memory(nullptr, 3, nullptr, nullptr, &net) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_import_memory("abc", 3, nullptr, nullptr, &net) == SN_INVALID_MODEL);
  REQUIRE(sn_net_import_memory("abc", 3, nullptr, nullptr, nullptr) == SN_INVALID_ARGUMENT);
}

TEST_CASE("c api: an import stops at a request") {
  const std::string path = source_dir() + "/models/shapes/shapes.onnx";
  sn_cancel* cancel = nullptr;
  REQUIRE(sn_cancel_create(&cancel) == SN_OK);
  sn_cancel_request(cancel);
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.cancel = cancel;
  sn_net* net = nullptr;
  CHECK(sn_net_import(path.c_str(), &options, &net) == SN_CANCELLED);
  CHECK(net == nullptr);
  sn_cancel_reset(cancel);
  CHECK(sn_net_import(path.c_str(), &options, &net) == SN_OK);
  sn_net_free(net);
  sn_cancel_free(cancel);
}

TEST_CASE("c api: an import that is verified says so in the log") {
  const std::string path = source_dir() + "/models/shapes/shapes.onnx";
  std::string lines;
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.threads = 1;
  options.verify_import = 1;
  options.log = [](void* context, sn_log_level, const char* line) {
    *static_cast<std::string*>(context) += line;
  };
  options.log_context = &lines;
  sn_net* net = nullptr;
  const sn_status status = sn_net_import(path.c_str(), &options, &net);
  INFO(sn_last_error());
  REQUIRE(status == SN_OK);
  CHECK(lines.find("the passes were verified on") != std::string::npos);
  sn_net_free(net);
}

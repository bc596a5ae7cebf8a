// tests/data/shapes_tuned_avx2.dnn is models/shapes/shapes.dnn with a path tuned on an x86-64
// processor with AVX2, library plugins included:
//   softneuro tune models/shapes/shapes.dnn -o tests/data/shapes_tuned_avx2.dnn --threads 1
//       --shape image=1x3x32x32
// Whatever of it applies here, the outputs are the model's.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/machine.h"
#include "softneuro/net.h"
#include "support/skip.h"

using namespace softneuro;

namespace {

constexpr std::size_t kPictures = 60, kClasses = 10, kValues = 3 * 32 * 32;

// What stands behind the header of a .npy file of version 1.
template <class T>
std::vector<T> npy_values(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kLengthAt = 8, kHeaderAt = 10;
  REQUIRE(bytes.size() > kHeaderAt);
  const std::size_t header = static_cast<unsigned char>(bytes[kLengthAt]) +
                             256u * static_cast<unsigned char>(bytes[kLengthAt + 1]);
  std::vector<T> values((bytes.size() - kHeaderAt - header) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + kHeaderAt + header, values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("load: a file tuned on an AVX2 processor gives the model's outputs on this one") {
  const std::string root = test::source_dir();
  const auto pictures = npy_values<std::uint8_t>(root + "/models/shapes/test_images.npy");
  const auto expected = npy_values<float>(root + "/models/shapes/reference_probabilities.npy");
  REQUIRE(pictures.size() >= kPictures * kValues);
  REQUIRE(expected.size() >= kPictures * kClasses);

  NetOptions options;
  options.threads = 1;
  const Result<Net> net = Net::load(root + "/tests/data/shapes_tuned_avx2.dnn", options);
  REQUIRE(net.ok());
  const auto plan = net.value().plan({{"image", Shape{1, 3, 32, 32}}});
  REQUIRE(plan.ok());
  // Where its instructions are this processor's, the path is taken.
  const Result<Net> untuned = Net::load(root + "/models/shapes/shapes.dnn", options);
  REQUIRE(untuned.ok());
  const auto default_plan = untuned.value().plan({{"image", Shape{1, 3, 32, 32}}});
  REQUIRE(default_plan.ok());
  const bool is_taken = plan.value()->describe() != default_plan.value()->describe();
  CHECK(is_taken == (vector_instructions(machine_name()) == "avx2"));

  // Winograd's transforms round differently than direct sums: some 1e-5 of a probability.
  constexpr float kTolerance = 1e-4f;
  Tensor picture = Tensor::create(DataType::float32, {1, 3, 32, 32}).value();
  for (std::size_t i = 0; i < kPictures; ++i) {
    INFO("picture " << i);
    const std::uint8_t* const bytes = pictures.data() + i * kValues;
    std::transform(bytes, bytes + kValues, picture.mutable_values<float>().begin(),
                   [](std::uint8_t byte) { return static_cast<float>(byte) / 255.0f; });
    const Result<NamedTensors> outputs = net.value().run({{"image", picture}});
    REQUIRE(outputs.ok());
    REQUIRE(outputs.value().size() == 1);
    const auto output = outputs.value().begin()->second.values<float>();
    REQUIRE(output.size() == kClasses);
    for (std::size_t c = 0; c < kClasses; ++c)
      REQUIRE(std::abs(output[c] - expected[i * kClasses + c]) <= kTolerance);
  }
}

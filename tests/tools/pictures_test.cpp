// Pictures as samples: which byte of a file ends up where in the input.
#include "pictures.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/layers/builtin_layers.h"
#include "net/net_access.h"
#include "picture_codec.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using namespace softneuro::tool;
using Catch::Matchers::Contains;

namespace {

// y = x.
Net net_of(const DynamicShape& shape, DataType type = DataType::float32) {
  Graph graph;
  TensorDef x, y;
  x.name = "x";
  x.type = type;
  x.shape = shape;
  y.name = "y";
  graph.inputs = {graph.add_tensor(std::move(x))};
  graph.outputs = {graph.add_tensor(std::move(y))};
  graph.add_layer(*builtin_layer_types().find("identity"), "same", graph.inputs, graph.outputs);
  return NetAccess::from_graph(std::move(graph)).value();
}

void append(std::string& bytes, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
}

// A BMP of 24 bits; colour(x, y) is 0xRRGGBB.
std::string write_bmp(const TemporaryFolder& folder, const std::string& name, int width, int height,
                      std::uint32_t (*colour)(int x, int y)) {
  const int row = (3 * width + 3) / 4 * 4;
  std::string bytes = "BM";
  append(bytes, static_cast<std::uint32_t>(54 + row * height), 4);
  append(bytes, 0, 4);
  append(bytes, 54, 4);
  append(bytes, 40, 4);
  append(bytes, static_cast<std::uint32_t>(width), 4);
  append(bytes, static_cast<std::uint32_t>(height), 4);
  append(bytes, 1, 2);
  append(bytes, 24, 2);
  bytes.append(24, '\0');
  for (int y = height - 1; y >= 0; --y) {
    for (int x = 0; x < width; ++x) append(bytes, colour(x, y), 3);
    bytes.append(static_cast<std::size_t>(row - 3 * width), '\0');
  }
  const std::string file = folder.file(name);
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

std::uint32_t position(int x, int y) {
  return static_cast<std::uint32_t>((10 * x + 1) << 16 | (20 * y + 2) << 8 | 3);
}

bool reads_pictures(const std::string& file) {
  if (decode_picture(file, 3).ok()) return true;
  WARN("skipped: this build has no stb");
  return false;
}

}  // namespace

TEST_CASE("pictures: bytes go to [1,3,H,W] and [1,H,W,3], less the mean, times the scale") {
  const TemporaryFolder folder;
  const std::string file = write_bmp(folder, "a.bmp", 3, 2, position);
  if (!reads_pictures(file)) return;
  PictureOptions options;
  options.mean = {1, 2, 3};
  options.scale = {0.5, 1, 2};
  options.is_bgr = GENERATE(false, true);
  const Net planar = net_of(DynamicShape(Shape{1, 3, 2, 3}));
  const auto samples = read_pictures({file}, planar, {}, options);
  REQUIRE(samples.ok());
  const auto values = samples->at(0).at("x").values<float>();
  const std::size_t red = options.is_bgr ? 2 : 0, blue = options.is_bgr ? 0 : 2;
  for (std::size_t y = 0; y < 2; ++y)
    for (std::size_t x = 0; x < 3; ++x) {
      CHECK(values[red * 6 + y * 3 + x] == 5 * static_cast<float>(x));
      CHECK(values[6 + y * 3 + x] == 20 * static_cast<float>(y));
      CHECK(values[blue * 6 + y * 3 + x] == 0);
    }
  const Net last = net_of(DynamicShape(Shape{1, 2, 3, 3}));  // three columns
  const auto interleaved = read_pictures({file}, last, {}, options);
  REQUIRE(interleaved.ok());
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(interleaved->at(0).at("x").values<float>()[i * 3 + c] == values[c * 6 + i]);
}

TEST_CASE("pictures: cropping keeps the middle in the input's proportions, else all is squeezed") {
  const TemporaryFolder folder;
  // Ten columns, black but for the outermost ones.
  const std::string file = write_bmp(folder, "a.bmp", 10, 4, [](int x, int) -> std::uint32_t {
    return x == 0 || x == 9 ? 0xffffff : 0;
  });
  if (!reads_pictures(file)) return;
  const Net net = net_of(DynamicShape(Shape{1, 1, 4, 4}));
  PictureOptions options;
  options.is_crop = true;
  const auto cropped = read_pictures({file}, net, {}, options);
  REQUIRE(cropped.ok());
  for (const float value : cropped->at(0).at("x").values<float>()) CHECK(value == 0);
  options.is_crop = false;
  const auto squeezed = read_pictures({file}, net, {}, options);
  REQUIRE(squeezed.ok());
  CHECK(squeezed->at(0).at("x").values<float>()[0] > 0);
}

TEST_CASE("pictures: in the order of their names, an open batch is 1, other open sizes are given") {
  const TemporaryFolder folder;
  const std::string b = write_bmp(folder, "b.bmp", 2, 2, [](int, int) { return 0xffffffu; });
  const std::string a = write_bmp(folder, "a.BMP", 2, 2, [](int, int) { return 0u; });
  std::ofstream(folder.file("notes.txt")) << "no picture";
  CHECK(pictures_in(folder.path().string()) == std::vector<std::string>{a, b});
  if (!reads_pictures(a)) return;
  const Net batch = net_of(DynamicShape({Dim("N"), Dim(3), Dim(2), Dim(2)}));
  const auto samples = read_pictures(pictures_in(folder.path().string()), batch, {}, {});
  REQUIRE(samples.ok());
  CHECK(samples->at(0).at("x").values<float>()[0] == 0);
  CHECK(samples->at(1).at("x").values<float>()[0] == 255);
  const Net open = net_of(DynamicShape({Dim("N"), Dim(3), Dim("H"), Dim("W")}));
  CHECK_THAT(read_pictures({a}, open, {}, {}).status().message(), Contains("--shape"));
  const auto given = read_pictures({a}, open, {{"x", Shape{1, 3, 5, 4}}}, {});
  REQUIRE(given.ok());
  CHECK(given->at(0).at("x").shape() == Shape{1, 3, 5, 4});
}

TEST_CASE("pictures: bytes as they are for uint8; what does not fit is an error that says why") {
  const TemporaryFolder folder;
  const std::string file = write_bmp(folder, "a.bmp", 2, 2, position);
  if (!reads_pictures(file)) return;
  const Net bytes = net_of(DynamicShape(Shape{1, 2, 2, 3}), DataType::uint8);
  const auto samples = read_pictures({file}, bytes, {}, {});
  REQUIRE(samples.ok());
  CHECK(samples->at(0).at("x").values<std::uint8_t>()[0] == 1);
  PictureOptions options;
  options.mean = {1};
  CHECK_THAT(read_pictures({file}, bytes, {}, options).status().message(), Contains("no mean"));
  options.mean = {1, 2};
  const Net net = net_of(DynamicShape(Shape{1, 3, 2, 2}));
  CHECK_THAT(read_pictures({file}, net, {}, options).status().message(), Contains("2 values"));
  const Net deep = net_of(DynamicShape(Shape{1, 16, 2, 2}));
  CHECK_THAT(read_pictures({file}, deep, {}, {}).status().message(), Contains("channels"));
  const std::string broken = folder.file("broken.png");
  std::ofstream(broken) << "no picture";
  CHECK_THAT(read_pictures({broken}, net, {}, {}).status().message(), Contains("broken.png"));
}

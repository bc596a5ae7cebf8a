// Imports the bundled trained model, tunes it for this machine in float32 and with float16 and
// 8-bit routines, names the shape in a picture, and measures accuracy and time over the bundled
// test images before and after. `scripts/demo` runs it.
//
//   softneuro_demo MODEL_FOLDER [PICTURE.png]
#include <png.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "softneuro/softneuro.h"

namespace sn = softneuro;

namespace {

constexpr int kSize = 32;  // the model's pictures are 32 × 32
constexpr std::size_t kPixels = kSize * kSize;
constexpr std::size_t kBytes = 3 * kPixels;

// The model takes RGB planes, 0 to 1.
using Picture = std::vector<float>;

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The data of a .npy file of version 1, as in the model's folder: a header, then plain bytes.
std::vector<char> read_npy_data(const std::string& path) {
  std::vector<char> bytes = read_file(path);
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY\x01", 7) != 0)
    throw std::runtime_error(path + " is no .npy file of version 1");
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  bytes.erase(bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), 10 + header)));
  return bytes;
}

Picture to_picture(const unsigned char* planes) {
  Picture picture(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) picture[i] = static_cast<float>(planes[i]) / 255;
  return picture;
}

Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0)
    throw std::runtime_error(path + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  if (image.width != kSize || image.height != kSize)
    throw std::runtime_error(path + ": the model takes pictures of 32 x 32");
  std::vector<unsigned char> rgb(kBytes);
  if (png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr) == 0)
    throw std::runtime_error(path + ": " + image.message);
  std::vector<unsigned char> planes(kBytes);
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
    for (std::size_t c = 0; c < 3; ++c) planes[c * kPixels + pixel] = rgb[3 * pixel + c];
  return to_picture(planes.data());
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.push_back(line);
  if (lines.empty()) throw std::runtime_error("cannot read " + path);
  return lines;
}

std::size_t best(std::span<const float> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// The bundled test images with their classes.
struct TestSet {
  std::vector<Picture> pictures;
  std::vector<std::size_t> labels;
};

TestSet read_test_set(const std::string& folder) {
  const std::vector<char> images = read_npy_data(folder + "/test_images.npy");
  const std::vector<char> labels = read_npy_data(folder + "/test_labels.npy");
  const std::size_t count = std::min(images.size() / kBytes, labels.size() / sizeof(std::int64_t));
  TestSet set;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t label = 0;
    std::memcpy(&label, &labels[i * sizeof label], sizeof label);
    set.pictures.push_back(to_picture(reinterpret_cast<const unsigned char*>(&images[i * kBytes])));
    set.labels.push_back(static_cast<std::size_t>(label));
  }
  return set;
}

const sn::Shape kImage = {1, 3, kSize, kSize};

// One way of running the model, and how it did.
struct Contestant {
  const char* name;
  sn::Session session;
  sn::Tensor probabilities = {};  // a view of the session's memory
  std::vector<double> microseconds = {};
  std::size_t right = 0;
};

Contestant contestant(const char* name, const sn::Net& net) {
  return {name, sn::Session::create(net.plan({{"image", kImage}}).value()).value()};
}

// One picture in, the probability of each class out. Borrows the pictures, allocates nothing.
std::span<const float> classify(Contestant& one, Picture& picture) {
  const sn::Tensor input = sn::Tensor::borrow_const(picture, kImage).value();
  if (const sn::Status status = one.session.run({&input, 1}, {&one.probabilities, 1}); !status.ok())
    throw sn::StatusError(status);
  return one.probabilities.view<float>().value();
}

// Classifies the whole set with each of them, in turns of some pictures: whatever slows the machine
// for a moment slows all of them.
void classify_all(std::span<Contestant> contestants, TestSet& set) {
  constexpr std::size_t kTurn = 20;
  for (std::size_t first = 0; first < set.pictures.size(); first += kTurn)
    for (Contestant& one : contestants) {
      classify(one, set.pictures[first]);  // the first run warms up
      for (std::size_t i = first; i < std::min(first + kTurn, set.pictures.size()); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const auto values = classify(one, set.pictures[i]);
        one.microseconds.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                .count());
        one.right += best(values) == set.labels[i];
      }
    }
}

// Prints accuracy and time, and returns the median time.
double report(Contestant& one) {
  const auto count = one.microseconds.size();
  const auto middle = one.microseconds.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(one.microseconds.begin(), middle, one.microseconds.end());
  std::printf("%-28s %3zu of %zu right (%.2f %%), %6.1f µs an image (median)\n", one.name,
              one.right, count, 100.0 * static_cast<double>(one.right) / static_cast<double>(count),
              *middle);
  return *middle;
}

// Every tenth test image serves as a calibration sample.
sn::TuneOptions hybrid(const TestSet& set) {
  sn::TuneOptions options;
  options.schemas = {"cpu:float32", "cpu:float16", "cpu:qint8"};
  for (std::size_t i = 0; i < set.pictures.size(); i += 10) {
    options.calibration.push_back(
        {{"image", sn::Tensor::borrow_const(set.pictures[i], kImage).value()}});
  }
  options.max_error = 0.1;
  return options;
}

void run(const std::string& folder, const std::string& picture_path) {
  const std::vector<std::string> classes = read_lines(folder + "/classes.txt");
  TestSet set = read_test_set(folder);
  sn::Net net = sn::Net::import(folder + "/shapes.onnx").value();
  std::vector<Contestant> contestants;
  contestants.push_back(contestant("untuned", net));
  const sn::TuneReport in_float32 = net.tune({.shapes = {{"image", kImage}}}).value();
  contestants.push_back(contestant("tuned, float32", net));
  const sn::TuneReport in_hybrid = net.tune(hybrid(set)).value();
  contestants.push_back(contestant("tuned, float32/float16/qint8", net));

  classify_all(contestants, set);
  const double untuned = report(contestants[0]);
  const double tuned = report(contestants[1]);
  const double mixed = report(contestants[2]);
  std::printf(
      "speed-up %.2fx and %.2fx; tuning took %.2f s and %.2f s; %.0f %% of the work in "
      "qint8\n\n",
      untuned / tuned, untuned / mixed, in_float32.seconds, in_hybrid.seconds,
      100 * in_hybrid.qint8_share);

  Picture picture = read_png(picture_path);
  const auto output = classify(contestants.back(), picture);
  const std::size_t top = best(output);
  std::printf("%s: %s (%.1f %%)\n", picture_path.c_str(), classes.at(top).c_str(),
              100.0 * static_cast<double>(output[top]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: softneuro_demo MODEL_FOLDER [PICTURE.png]\n");
    return 2;
  }
  try {
    const std::string folder = argv[1];
    run(folder, argc > 2 ? argv[2] : folder + "/example.png");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "softneuro_demo: %s\n", error.what());
    return 1;
  }
  return 0;
}

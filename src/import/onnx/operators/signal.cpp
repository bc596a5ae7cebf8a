// Fourier transforms as products with their matrix, which kernels of convolutions and products
// compute: sizes must be known at import.
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/base/element.h"
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 25;  // of a matrix: 128 MiB

struct Transform {
  std::int64_t length = 0;  // of the signal
  std::int64_t points = 0;  // of the transform: the signal is cut off, or goes on with zeros
  std::int64_t parts = 1;   // of a number of the signal: 2 if it is complex
  std::int64_t bins = 0;    // of the result, whose numbers have two parts
  bool inverse = false;

  // By how much part `from` of number n adds to part `to` of bin k: that of exp(∓2πikn / points).
  double factor(std::int64_t k, std::int64_t to, std::int64_t n, std::int64_t from) const {
    if (n >= points) return 0;
    // The whole turns are taken off exactly.
    const double turn = static_cast<double>(k * n % points) / static_cast<double>(points);
    const double angle = (inverse ? 2 : -2) * std::numbers::pi * turn;
    const double scale = inverse ? 1 / static_cast<double>(points) : 1;
    if (to == from) return scale * std::cos(angle);
    return (to == 1 ? scale : -scale) * std::sin(angle);
  }
};

// False: the node has been given up.
bool is_possible(Node& node, DataType type, const Transform& transform) {
  if (node.failed()) return false;
  if (!is_float(type)) {
    node.refuse("transforms of {} are not supported", to_string(type));
    return false;
  }
  if (transform.points < 1 || transform.length < 1 || transform.points > kMostElements ||
      transform.length > kMostElements || transform.bins * 2 > kMostElements ||
      transform.length * transform.parts > kMostElements / (transform.bins * 2))
    node.refuse("a transform of {} numbers to {} bins is not supported", transform.length,
                transform.bins);
  return !node.failed();
}

// The number of an input that must be known; `fallback` where it is left out.
std::int64_t known_number(Node& node, std::size_t input, std::int64_t fallback) {
  if (!node.has_input(input)) return fallback;
  const std::optional<double> number = node.number(node.input(input));
  if (!number) {
    node.refuse("its input {} is not known at import", input);
    return fallback;
  }
  if (std::fabs(*number) <= static_cast<double>(kMostElements))
    return static_cast<std::int64_t>(*number);
  node.refuse("its input {} is {}", input, *number);
  return fallback;
}

// The last dimension of a signal.
std::int64_t need_parts(Node& node, TensorId x) {
  const std::int64_t parts = node.need_dim(x, node.rank(x) - 1);
  if (parts != 1 && parts != 2 && !node.failed())
    node.reject("the numbers of its input have {} parts: 1 and 2 are allowed", parts);
  return parts;
}

// Frames of the signal [batch, length], [batch, length, 1 or 2] → [batch, frames, bins, 2].
void import_stft(Node& node) {
  const TensorId x = node.input(0), window = node.input(2);
  const int rank = node.need_rank(x);
  if (!node.failed() && rank != 2 && rank != 3)
    return node.reject("its signal has {} dimensions: 2 and 3 are allowed", rank);
  const std::int64_t step = known_number(node, 1, 0);
  const std::int64_t frame =
      window == kNoTensor ? known_number(node, 3, 0) : node.need_dim(window, 0);
  if (node.has_input(3) && known_number(node, 3, 0) != frame && !node.failed())
    return node.reject("its window has {} elements and a frame {}", frame,
                       known_number(node, 3, 0));
  if (step < 1 && !node.failed()) return node.reject("its frame_step is {}", step);
  const std::int64_t parts = rank == 2 ? 1 : need_parts(node, x);
  const std::int64_t bins = node.integer("onesided", 1) != 0 ? frame / 2 + 1 : frame;
  const Transform transform = {frame, frame, parts, bins, false};
  const DataType type = node.type(x);
  if (!is_possible(node, type, transform)) return;
  const Tensor matrix = node.take(Tensor::create(type, Shape{bins * 2, parts, frame}));
  if (matrix.empty()) return;
  for (std::int64_t k = 0, at = 0; k < bins; ++k)
    for (std::int64_t to = 0; to < 2; ++to)
      for (std::int64_t from = 0; from < parts; ++from)
        for (std::int64_t n = 0; n < frame; ++n)
          store(view_of(matrix), at++, transform.factor(k, to, n, from));
  TensorId weights = node.constant(matrix);
  if (window != kNoTensor) weights = binary(node, "mul", weights, cast(node, window, type));
  const TensorId rows =
      parts == 2 ? node.emit("transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}})
                 : node.emit("reshape", {x, integers_constant(node, {0, 1, -1})});
  const TensorId y = node.emit(
      "conv1", {rows, weights},
      {{"auto_pad", "explicit"}, {"strides", std::vector<std::int64_t>{step}}, {"group", 1}});
  const TensorId frames =
      node.emit("transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  node.finish("reshape", {frames, integers_constant(node, {0, 0, bins, 2})});
}

// [..., length, ..., 1 or 2] → [..., bins, ..., 2].
void import_dft(Node& node) {
  const TensorId x = node.input(0);
  const int rank = node.need_rank(x);
  if (node.failed()) return;
  std::int64_t axis =
      node.detail() == "attribute" ? node.integer("axis", 1) : known_number(node, 2, -2);
  if (axis < 0) axis += rank;
  if (rank < 2 || axis < 0 || axis >= rank - 1)
    return node.reject("there is no axis {} to transform in {} dimensions", axis, rank);
  const std::int64_t length = node.need_dim(x, static_cast<int>(axis));
  const std::int64_t points = known_number(node, 1, length);
  const bool is_inverse = node.integer("inverse", 0) != 0;
  const bool is_half = node.integer("onesided", 0) != 0;
  if (is_inverse && is_half)
    return node.refuse("an inverse transform of half a spectrum is not supported");
  const Transform transform = {length, points, need_parts(node, x),
                               is_half ? points / 2 + 1 : points, is_inverse};
  if (!is_possible(node, node.type(x), transform)) return;
  const auto [rows_of_matrix, columns] = std::pair(length * transform.parts, transform.bins * 2);
  const Tensor matrix = node.take(Tensor::create(node.type(x), Shape{rows_of_matrix, columns}));
  if (matrix.empty()) return;
  for (std::int64_t n = 0, at = 0; n < length; ++n)
    for (std::int64_t from = 0; from < transform.parts; ++from)
      for (std::int64_t k = 0; k < transform.bins; ++k)
        for (std::int64_t to = 0; to < 2; ++to)
          store(view_of(matrix), at++, transform.factor(k, to, n, from));
  // The axis goes to the end, before the parts, and back.
  std::vector<std::int64_t> last(static_cast<std::size_t>(rank)), back(last.size());
  std::iota(last.begin(), last.end(), 0);
  std::rotate(last.begin() + axis, last.begin() + axis + 1, last.end() - 1);
  for (std::size_t i = 0; i < last.size(); ++i)
    back[static_cast<std::size_t>(last[i])] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> flat(last.size() - 1, 0), apart(last.size(), 0);
  flat.back() = rows_of_matrix;
  apart[apart.size() - 2] = transform.bins;
  apart.back() = 2;
  const TensorId moved = node.emit("transpose", {x}, {{"perm", last}});
  const TensorId rows = node.emit("reshape", {moved, integers_constant(node, flat)});
  const TensorId product = node.emit("matmul", {rows, node.constant(matrix)});
  const TensorId parted = node.emit("reshape", {product, integers_constant(node, apart)});
  node.finish("transpose", {parted}, {{"perm", back}});
}

// Triangles on the mel scale, [bins, bands].
void import_mel_weight_matrix(Node& node) {
  const std::int64_t bands = known_number(node, 0, 0), points = known_number(node, 1, 0);
  const std::int64_t rate = known_number(node, 2, 0);
  const std::optional<double> low = node.number(node.input(3)), high = node.number(node.input(4));
  if (!low || !high) return node.refuse("its edges are not known at import");
  const DataType type = node.data_type("output_datatype", 1);
  if (node.failed()) return;
  const std::int64_t bins = points / 2 + 1;
  if (bands < 1 || points < 1 || rate < 1 || !(*low >= 0) || !(*high >= *low) ||
      bands > kMostElements / bins)
    return node.refuse("{} bands of {} points are not supported", bands, points);
  if (!(*high <= static_cast<double>(rate)))
    return node.refuse("its upper edge of {} Hz is above half of the sampling rate", *high);
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel_of(*high) - mel_of(*low)) / static_cast<double>(bands + 2);
  const auto bin_of = [&](std::int64_t i) {
    const double mel = mel_of(*low) + step * static_cast<double>(i);
    const double hertz = 700 * (std::pow(10.0, mel / 2595) - 1);
    return static_cast<std::int64_t>(
        std::floor(static_cast<double>(points + 1) * hertz / static_cast<double>(rate)));
  };
  if (bin_of(bands + 1) > bins)
    return node.refuse("its upper edge of {} Hz is above half of the sampling rate", *high);
  const Tensor made = node.take(Tensor::create(type, Shape{bins, bands}));
  if (made.empty()) return;
  const TensorView view = view_of(made);
  for (std::int64_t i = 0; i < bins * bands; ++i) store(view, i, 0);
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t lower = bin_of(band), centre = bin_of(band + 1), upper = bin_of(band + 2);
    const auto put = [&](std::int64_t bin, double value) {
      if (bin < bins) store(view, bin * bands + band, value);
    };
    if (lower == centre) put(centre, 1);
    for (std::int64_t bin = lower; lower < centre && bin <= centre; ++bin)
      put(bin, static_cast<double>(bin - lower) / static_cast<double>(centre - lower));
    for (std::int64_t bin = centre; bin < upper; ++bin)
      put(bin, static_cast<double>(upper - bin) / static_cast<double>(upper - centre));
  }
  node.define_constant(0, made);
}

constexpr Operator kOperators[] = {
    {"DFT", 17, 1, 2, import_dft, "attribute"},
    {"DFT", 20, 1, 3, import_dft, "input"},
    {"MelWeightMatrix", 17, 5, 5, import_mel_weight_matrix},
    {"STFT", 17, 2, 4, import_stft},
};

}  // namespace

std::span<const Operator> signal_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx

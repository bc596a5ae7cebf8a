#include "cpu/qint8/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/element.h"
#include "cpu/gemm/int8_tile.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

bool has_one_scale(const TensorSpec& spec) {
  return spec.quantization && spec.quantization->axis < 0 && spec.quantization->scales.size() == 1;
}

// How the weights' elements belong to outputs and input channels.
struct WeightOrder {
  std::int64_t outputs = 0, depth = 0;
  bool columns = false;            // [K,N]: element (m, k) is at k · outputs + m
  std::int64_t kernel = 1;         // consecutive k that read one channel
  std::int64_t group_outputs = 0;  // outputs that read the same channels
  int output_axis = 0;

  std::int64_t at(std::int64_t m, std::int64_t k) const {
    return columns ? k * outputs + m : m * depth + k;
  }
  // Channel of x that product k of output m reads.
  std::int64_t channel(std::int64_t m, std::int64_t k) const {
    return m / group_outputs * (depth / kernel) + k / kernel;
  }
};

WeightOrder order_of(const Problem& problem) {
  const LayerWeights& weights = *problem.type->weights;
  const Shape& w = problem.inputs[kWeights].shape;
  WeightOrder order;
  order.output_axis = weights.output_axis(problem.params);
  order.columns = order.output_axis == 1;
  order.outputs = w[order.output_axis];
  order.kernel = w.elements(2, w.rank());
  order.depth = w[1 - order.output_axis] * order.kernel;
  order.group_outputs = order.outputs / weights.groups(problem.params);
  return order;
}

// The scales and integers that the model gives to its weights, if it does.
class ModelIntegers {
 public:
  ModelIntegers(const TensorSpec& weights, const WeightOrder& order)
      : q_(weights.quantization ? &*weights.quantization : nullptr), order_(order) {}
  bool given() const { return q_ != nullptr; }
  // Whether one scale per output and int8 can say exactly the same.
  bool fit(const TensorView& weights) const {
    if (q_->axis >= 0 && q_->axis != order_.output_axis) return false;
    const int lowest = q_->is_signed ? -128 : 0;
    const bool always = std::all_of(q_->zero_points.begin(), q_->zero_points.end(),
                                    [&](std::int32_t zero) { return zero == lowest + 128; });
    for (std::int64_t m = 0; m < order_.outputs && !always; ++m)
      for (std::int64_t k = 0; k < order_.depth; ++k)
        if (const std::int32_t q = value(m, load(weights, order_.at(m, k))); q < -128 || q > 127)
          return false;
    return true;
  }
  float scale(std::int64_t m) const { return q_->scales[place(m)]; }
  // Integer less zero point.
  std::int32_t value(std::int64_t m, double weight) const {
    const std::int32_t low = q_->is_signed ? -128 : 0;
    const std::int32_t zero = q_->zero_points[place(m)];
    const double q = std::nearbyint(weight / static_cast<double>(scale(m))) + zero;
    return static_cast<std::int32_t>(std::clamp<double>(q, low, low + 255)) - zero;
  }
  void quantize_row(const std::vector<double>& row, std::int64_t m, std::int8_t* to) const {
    for (const double w : row) *to++ = static_cast<std::int8_t>(value(m, w));
  }

 private:
  std::size_t place(std::int64_t m) const {
    return q_->scales.size() == 1 ? 0 : static_cast<std::size_t>(m);
  }
  const Quantization* q_;
  const WeightOrder& order_;
};

// The weights of output m, or one that is not finite.
Result<std::vector<double>> read_row(const WeightOrder& order, const TensorView& weights,
                                     std::int64_t m) {
  std::vector<double> row(static_cast<std::size_t>(order.depth));
  dispatch(weights.type, 0, [&](auto tag) {
    const auto* const from = weights.as<decltype(tag)>();
    for (std::int64_t k = 0; k < order.depth; ++k)
      row[static_cast<std::size_t>(k)] = to_double(from[order.at(m, k)]);
    return 0;
  });
  for (std::size_t k = 0; k < row.size(); ++k)
    if (!std::isfinite(row[k]))
      return unsupported("weight {} of output {} is {}: it cannot be quantised", k, m, row[k]);
  return row;
}

double largest_magnitude(const std::vector<double>& row) {
  double largest = 0;
  for (const double w : row) largest = std::max(largest, std::fabs(w));
  return largest;
}

// Of the sums of two weights of one sign that are next to each other in a row's order
// [kernel][channels], that of Int8Tile. Depthwise convolutions have other tiles.
double largest_pair(const WeightOrder& order, const std::vector<double>& row) {
  const std::int64_t channels = order.depth / order.kernel;
  if (channels == 1) return 0;
  const auto at = [&](std::int64_t i) {
    return row[static_cast<std::size_t>(i % channels * order.kernel + i / channels)];
  };
  double largest = 0;
  for (std::int64_t i = 0; i + 1 < order.depth; i += 2) {
    const double a = at(i), b = at(i + 1);
    if ((a < 0) == (b < 0)) largest = std::max(largest, std::fabs(a + b));
  }
  return largest;
}

// Rounded up, so that no integer exceeds the limit that it is made for.
float scale_for(double largest, std::int32_t limit) {
  return std::nextafter(static_cast<float>(largest / limit), std::numeric_limits<float>::max());
}

// The scale of weights that the model did not quantise.
float scale_of(const WeightOrder& order, const std::vector<double>& row) {
  const double largest = largest_magnitude(row);
  if (largest == 0) return 1;
  // The smallest normal number keeps the quotient finite for weights that are all but zero.
  float scale = std::max(static_cast<float>(largest / 127), std::numeric_limits<float>::min());
  if (int8_tile_ops().gains_by_pairs)
    scale = std::max(scale, scale_for(largest_pair(order, row), kInt8PairLimit));
  return scale;
}

void quantize_row(const std::vector<double>& row, float scale, std::int8_t* to) {
  for (const double w : row)
    *to++ = static_cast<std::int8_t>(
        std::clamp(std::nearbyint(w / static_cast<double>(scale)), -127.0, 127.0));
}

// Σ E[x] · (w − scale · q) over the products of output m.
double expected_error(const WeightOrder& order, const std::vector<double>& row,
                      const std::vector<float>& means, std::int64_t m, const std::int8_t* q,
                      float scale) {
  double error = 0;
  for (std::int64_t k = 0; k < order.depth; ++k)
    error += static_cast<double>(means[static_cast<std::size_t>(order.channel(m, k))]) *
             (row[static_cast<std::size_t>(k)] - static_cast<double>(scale) * q[k]);
  return error;
}

}  // namespace

Applicability takes_quantized_weights(const Problem& problem) {
  const TensorSpec& x = problem.inputs[kX];
  if (x.type != DataType::qint8) return Applicability::no("input 0 is not qint8");
  if (!has_one_scale(x)) return Applicability::no("input 0 is not quantised per tensor");
  for (std::size_t i = kWeights; i < problem.layer_inputs; ++i) {
    if (!problem.has_input(i)) continue;
    const TensorSpec& spec = problem.inputs[i];
    if (!spec.constant || spec.value.empty())
      return Applicability::no(i == kWeights ? "the weights are not constant"
                                             : "the bias is not constant");
    if (!is_float(spec.type)) return Applicability::no("the weights are not floating-point");
  }
  const TensorSpec& y = problem.outputs[0];
  if (y.type != DataType::float32 && y.type != DataType::qint8)
    return Applicability::no("the output is neither qint8 nor float32");
  if (y.type == DataType::qint8 && !has_one_scale(y))
    return Applicability::no("the output is not quantised per tensor");
  const WeightOrder order = order_of(problem);
  const ModelIntegers model(problem.inputs[kWeights], order);
  if (model.given() && !model.fit(view_of(problem.inputs[kWeights].value)))
    return Applicability::no(
        "the model's 8-bit weights, less their zero points, do not fit int8 with one scale per "
        "output");
  if (order.depth > (std::int64_t{1} << 31) / (255 * 128) - 1)
    return Applicability::no("sums of so many products may exceed int32");
  return Applicability::yes();
}

std::vector<FormatTuple> quantized_formats(const Problem& problem, Layout layout) {
  const TensorSpec& x = problem.inputs[kX];
  if (!is_real(x.type) || !has_one_scale(x) ||
      (layout != Layout::plain && (x.shape.rank() < 3 || problem.outputs[0].shape.rank() < 3)))
    return {};
  FormatTuple tuple = formats_of(problem);
  tuple.inputs[kX] = {DataType::qint8, layout};
  for (std::size_t i = problem.layer_inputs; i < problem.inputs.size(); ++i) {
    const TensorSpec& operand = problem.inputs[i];
    if (!operand.present() || operand.constant || !is_real(operand.type)) continue;
    tuple.inputs[i].type = has_one_scale(operand) ? DataType::qint8 : DataType::float32;
    if (operand.shape.rank() >= 3) tuple.inputs[i].layout = layout;
  }
  std::vector<FormatTuple> tuples;
  if (has_one_scale(problem.outputs[0])) {
    tuple.outputs[0] = {DataType::qint8, layout};
    tuples.push_back(tuple);
  }
  tuple.outputs[0] = {DataType::float32, layout};
  tuples.push_back(tuple);
  return tuples;
}

Result<QuantizedWeights> quantize_weights(const Problem& problem) {
  const WeightOrder order = order_of(problem);
  const TensorView weights = view_of(problem.inputs[kWeights].value);
  const ModelIntegers model(problem.inputs[kWeights], order);
  const std::vector<float>& means = problem.inputs[kX].quantization->channel_means;
  const bool correct =
      order.outputs > 0 && static_cast<std::int64_t>(means.size()) ==
                               order.outputs / order.group_outputs * (order.depth / order.kernel);
  QuantizedWeights q;
  q.outputs = order.outputs;
  q.depth = order.depth;
  q.values.resize(static_cast<std::size_t>(order.outputs * order.depth));
  q.scales.resize(static_cast<std::size_t>(order.outputs));
  q.bias.resize(static_cast<std::size_t>(order.outputs));
  for (std::int64_t m = 0; m < order.outputs; ++m) {
    const auto i = static_cast<std::size_t>(m);
    std::int8_t* const to = q.values.data() + m * order.depth;
    SN_ASSIGN_OR_RETURN(const std::vector<double> row, read_row(order, weights, m));
    if (model.given()) {
      q.scales[i] = model.scale(m);
      model.quantize_row(row, m, to);
    } else {
      q.scales[i] = scale_of(order, row);
      quantize_row(row, q.scales[i], to);
    }
    double bias = problem.has_input(kBias) ? load(view_of(problem.inputs[kBias].value), m) : 0;
    if (correct) bias += expected_error(order, row, means, m, to, q.scales[i]);
    q.bias[i] = static_cast<float>(bias);
  }
  return q;
}

TensorScale tensor_scale(const TensorSpec& spec) {
  return {spec.quantization->scales[0], spec.quantization->zero_points[0],
          spec.quantization->is_signed};
}

}  // namespace softneuro

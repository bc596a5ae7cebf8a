// What the test's cuDNN computes, by loops.
#if defined(SOFTNEURO_HAS_CUDNN)
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/element.h"
#include "device/fake_cudnn.h"

namespace softneuro::test {
namespace {

DataType type_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return DataType::float16;
    case CUDNN_DATA_BFLOAT16:
      return DataType::bfloat16;
    default:
      return DataType::float32;
  }
}

// f(row-major index, place in memory)
template <class F>
void for_each_place(const FakeTensor& tensor, F&& f) {
  const auto& [n, c, h, w] = tensor.dims;
  const auto& strides = tensor.strides;
  std::int64_t index = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < c; ++j)
      for (std::int64_t k = 0; k < h; ++k)
        for (std::int64_t l = 0; l < w; ++l)
          f(index++, i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3]);
}

TensorView view_of(const FakeTensor& tensor, void* place) {
  return {type_of(tensor.type), Layout::plain, Shape{tensor.elements()}, place};
}

std::vector<float> read(const FakeTensor& tensor, void* place) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  const TensorView view = view_of(tensor, place);
  for_each_place(tensor, [&](std::int64_t i, std::int64_t at) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(load(view, at));
  });
  return values;
}

float round_to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & 0xffffe000u);
}

// One channel of the image with one of the result: result += image * filter, or image += ….
class Channels {
 public:
  Channels(const FakeGraph& graph, const float* read, float* made)
      : graph_(graph), read_(read), made_(made) {}

  void add(const float* filter) const {
    for (std::int64_t r = 0; r < graph_.filter.dims[2]; ++r)
      for (std::int64_t s = 0; s < graph_.filter.dims[3]; ++s)
        add_tap(r, s, filter[r * graph_.filter.dims[3] + s]);
  }

 private:
  void add_tap(std::int64_t r, std::int64_t s, float w) const {
    const auto& [height, width] = std::array{graph_.image.dims[2], graph_.image.dims[3]};
    for (std::int64_t y = 0; y < graph_.result.dims[2]; ++y) {
      const std::int64_t iy = y * graph_.strides[0] + r * graph_.dilations[0] - graph_.before[0];
      if (iy < 0 || iy >= height) continue;
      for (std::int64_t x = 0; x < graph_.result.dims[3]; ++x) {
        const std::int64_t ix = x * graph_.strides[1] + s * graph_.dilations[1] - graph_.before[1];
        if (ix < 0 || ix >= width) continue;
        const std::int64_t of_image = iy * width + ix, of_result = y * graph_.result.dims[3] + x;
        if (graph_.is_gradient)
          made_[of_image] += read_[of_result] * w;
        else
          made_[of_result] += read_[of_image] * w;
      }
    }
  }

  const FakeGraph& graph_;
  const float* read_;
  float* made_;
};

std::vector<float> convolve(const FakeGraph& graph, const FakeEngine& engine,
                            std::vector<float> data, std::vector<float> filter) {
  if (engine.rounds_factors)
    for (auto* values : {&data, &filter})
      std::ranges::transform(*values, values->begin(), round_to_tf32);
  std::vector<float> made(static_cast<std::size_t>(graph.made().elements()));
  const std::int64_t outs = graph.result.dims[1], ins = graph.filter.dims[1];
  const std::int64_t groups = graph.image.dims[1] / ins;
  const auto plane = [](const FakeTensor& t) { return t.dims[2] * t.dims[3]; };
  for (std::int64_t n = 0; n < graph.image.dims[0]; ++n)
    for (std::int64_t m = 0; m < outs; ++m)
      for (std::int64_t i = 0; i < ins; ++i) {
        const std::int64_t c = engine.is_reversed ? ins - 1 - i : i;
        const std::int64_t channel = m / (outs / groups) * ins + c;
        const std::int64_t image = (n * graph.image.dims[1] + channel) * plane(graph.image);
        const std::int64_t result = (n * outs + m) * plane(graph.result);
        Channels(graph, data.data() + (graph.is_gradient ? result : image),
                 made.data() + (graph.is_gradient ? image : result))
            .add(filter.data() + (m * ins + c) * plane(graph.filter));
      }
  return made;
}

void apply(const FakeStep& step, const std::map<std::int64_t, void*>& places,
           const FakeTensor& output, std::vector<float>& values) {
  if (step.mode == CUDNN_POINTWISE_RELU_FWD) {
    for (float& y : values)
      if (!std::isnan(y)) y = std::min(std::max(y, 0.0f), static_cast<float>(step.most));
    return;
  }
  const std::vector<float> operand = read(step.operand, places.at(step.operand.id));
  const std::int64_t pixels = output.dims[2] * output.dims[3];
  const bool is_channel = step.operand.elements() != output.elements();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += operand[is_channel ? i / static_cast<std::size_t>(pixels) %
                                          static_cast<std::size_t>(output.dims[1])
                                    : i];
}

}  // namespace

bool FakeGraph::is_consistent() const {
  if (image.dims[0] != result.dims[0] || filter.dims[0] != result.dims[1]) return false;
  if (image.dims[1] % filter.dims[1] != 0) return false;
  if (result.dims[1] % (image.dims[1] / filter.dims[1]) != 0) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t extent = dilations[i] * (filter.dims[i + 2] - 1) + 1;
    const std::int64_t room = image.dims[i + 2] + before[i] + after[i] - extent;
    if (before[i] < 0 || after[i] < 0 || strides[i] < 1 || dilations[i] < 1 || room < 0 ||
        room / strides[i] + 1 != result.dims[i + 2])
      return false;
  }
  return true;
}

void compute(const FakeGraph& graph, const FakeEngine& engine,
             const std::map<std::int64_t, void*>& places) {
  std::vector<float> values =
      convolve(graph, engine, read(graph.read(), places.at(graph.read().id)),
               read(graph.filter, places.at(graph.filter.id)));
  for (const FakeStep& step : graph.steps) apply(step, places, graph.output, values);
  const TensorView view = view_of(graph.output, places.at(graph.output.id));
  for_each_place(graph.output, [&](std::int64_t i, std::int64_t at) {
    store(view, at,
          engine.is_wrong ? 12345 : static_cast<double>(values[static_cast<std::size_t>(i)]));
  });
}

}  // namespace softneuro::test
#endif

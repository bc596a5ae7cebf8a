#include "adapt/run_cast.h"

#include <algorithm>

#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 1024;  // elements that pass through float32 at a time

bool is_per_channel(const TensorSpec& spec) {
  return spec.type == DataType::qint8 && !is_per_tensor(*spec.quantization);
}

}  // namespace

Applicability takes_formats(const Problem& problem) {
  for (const TensorSpec* spec : {&problem.inputs[0], &problem.outputs[0]}) {
    if (!is_real(spec->type))
      return Applicability::no(
          "only float32, float16, bfloat16 and qint8 tensors can change format");
    if (spec->type == DataType::qint8 && !spec->quantization)
      return Applicability::no("the tensor has no quantisation: calibrate first");
    if (spec->layout != Layout::plain && spec->shape.rank() < 3)
      return Applicability::no("layouts need a rank of 3 or more");
  }
  return Applicability::yes();
}

RunCast::Side::Side(const TensorSpec& spec) : type(spec.type), per_channel(is_per_channel(spec)) {
  if (type != DataType::qint8) return;
  is_signed = spec.quantization->is_signed;
  scales = spec.quantization->scales;
  zero_points = spec.quantization->zero_points;
  if (!per_channel) return;
  const auto padding = static_cast<std::size_t>(block_of(spec.layout) - 1);
  scales.resize(scales.size() + padding, 1.0f);
  zero_points.resize(zero_points.size() + padding, 0);
}

Qint8Scale RunCast::Side::scale(RunChannels channels) const noexcept {
  const std::int64_t first = per_channel ? channels.first : 0;
  return {scales.data() + first, zero_points.data() + first, is_signed,
          per_channel && channels.along};
}

RunCast::RunCast(const TensorSpec& from, const TensorSpec& to)
    : from_(from),
      to_(to),
      needed_(from.type != to.type ||
              (from.type == DataType::qint8 &&
               !is_same_quantization(*from.quantization, *to.quantization))),
      per_channel_(needed_ && (from_.per_channel || to_.per_channel)) {
  if (per_channel_) {
    const int first = from_.per_channel ? from.quantization->axis : to.quantization->axis;
    const int second = to_.per_channel ? to.quantization->axis : first;
    axis_ = first == second ? first : -1;
  }
  if (!needed_ || from.type != to.type || per_channel_) return;
  has_table_ = true;
  table_ = make_requantize_table(*from.quantization, *to.quantization);
}

void RunCast::run(const void* source, void* target, std::int64_t count,
                  RunChannels channels) const noexcept {
  if (has_table_)
    return qint8_rows().map(table_, static_cast<const std::uint8_t*>(source),
                            static_cast<std::uint8_t*>(target), count);
  const std::int64_t chunk = std::min(count, kChunk);
  alignas(64) float buffer[kChunk];
  const auto* bytes = static_cast<const std::byte*>(source);
  for (std::int64_t done = 0; done < count; done += chunk) {
    const std::int64_t length = std::min(chunk, count - done);
    const RunChannels here = {channels.first + (channels.along ? done : 0), channels.along};
    const float* values = buffer;
    if (from_.type == DataType::qint8) {
      float* y = target_floats(target, to_.type, done, buffer);
      qint8_rows().dequantize(bytes + done, y, length, from_.scale(here));
      values = y;
    } else if (to_.type == DataType::float32) {
      read_floats(source, from_.type, done, length, static_cast<float*>(target) + done);
    } else {
      values = read_floats(source, from_.type, done, length, buffer);
    }
    if (to_.type == DataType::qint8)
      qint8_rows().quantize(values, static_cast<std::byte*>(target) + done, length,
                            to_.scale(here));
    else
      write_floats(target, to_.type, done, length, values);
  }
}

}  // namespace softneuro

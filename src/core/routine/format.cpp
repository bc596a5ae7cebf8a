#include "core/routine/format.h"

#include <algorithm>

#include "core/base/error.h"

namespace softneuro {
namespace {

Result<std::vector<Format>> parse_list(std::string_view text) {
  std::vector<Format> formats;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    SN_ASSIGN_OR_RETURN(const Format format, Format::parse(text.substr(0, comma)));
    formats.push_back(format);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return formats;
}

std::string list_of(const std::vector<Format>& formats) {
  std::string text;
  for (const Format& format : formats) text += (text.empty() ? "" : ",") + format.str();
  return text;
}

bool keeps_type(const Problem& problem, const TensorSpec& output) {
  return problem.type != nullptr && problem.type->rounds_to_type &&
         (output.type == DataType::float16 || output.type == DataType::bfloat16);
}

template <class Spec>
bool follows_schema(const Spec& spec) {
  return spec.present() && !spec.constant && is_real(spec.type);
}

}  // namespace

DeviceId device_of(const FormatTuple& formats) {
  for (const std::vector<Format>* const side : {&formats.inputs, &formats.outputs})
    for (const Format& format : *side)
      if (!format.device.is_host()) return format.device;
  return {};
}

bool is_real(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16 ||
         type == DataType::qint8;
}

std::string Format::str() const {
  if (!present()) return "-";
  std::string text;
  if (!device.is_host()) text = std::string(device.c_str()) + ':';
  text += to_string(type);
  if (layout != Layout::plain) text += ':' + to_string(layout);
  return text;
}

Result<Format> Format::parse(std::string_view text) {
  if (text == "-") return Format{};
  const std::string_view whole = text;
  Format format;
  std::size_t colon = text.find(':');
  if (const auto device = DeviceId::parse(text.substr(0, colon));
      device && colon != std::string_view::npos) {
    format.device = *device;
    text.remove_prefix(colon + 1);
    colon = text.find(':');
  }
  format.type = parse_data_type(text.substr(0, colon));
  const auto layout = colon == std::string_view::npos ? std::optional(Layout::plain)
                                                      : Layout::parse(text.substr(colon + 1));
  if (!format.present() || !layout)
    return invalid_argument(
        "'{}' is not a format: [device:]data_type[:layout], as cuda:float32:nhwc, with a layout "
        "plain, "
        "nhwc or nchw<B>c, where B is from 2 to {}",
        whole, Layout::kMaxBlock);
  format.layout = *layout;
  return format;
}

std::string FormatTuple::str() const {
  return list_of(inputs) + " -> " + list_of(outputs);
}

Result<FormatTuple> FormatTuple::parse(std::string_view text) {
  constexpr std::string_view kArrow = " -> ";
  const std::size_t arrow = text.find(kArrow);
  if (arrow == std::string_view::npos)
    return invalid_argument("'{}' lists no formats of inputs and outputs", text);
  FormatTuple tuple;
  SN_ASSIGN_OR_RETURN(tuple.inputs, parse_list(text.substr(0, arrow)));
  SN_ASSIGN_OR_RETURN(tuple.outputs, parse_list(text.substr(arrow + kArrow.size())));
  return tuple;
}

FormatTuple formats_of(const Problem& problem) {
  FormatTuple tuple;
  for (const TensorSpec& spec : problem.inputs) tuple.inputs.push_back(format_of(spec));
  for (const TensorSpec& spec : problem.outputs) tuple.outputs.push_back(format_of(spec));
  return tuple;
}

namespace {

// A qint8 output rounds and saturates to its own levels: a last fake_quantize to the same ones says
// nothing more.
bool is_implied(const PostOp& op, const TensorSpec& output) {
  if (output.type != DataType::qint8 || !output.quantization || output.quantization->axis >= 0 ||
      op.kind != PostOp::Kind::unary || op.unary != UnaryOp::fake_quantize)
    return false;
  const PostOp implied = fake_quantize_to(*output.quantization);
  return op.alpha == implied.alpha && op.beta == implied.beta;
}

}  // namespace

PostOp fake_quantize_to(const Quantization& quantization) {
  PostOp op;
  op.unary = UnaryOp::fake_quantize;
  op.alpha = quantization.scales[0];
  op.beta = static_cast<float>((quantization.is_signed ? -128 : 0) - quantization.zero_points[0]);
  return op;
}

Problem with_formats(const Problem& problem, const FormatTuple& formats) {
  Problem changed = problem;
  for (std::size_t i = 0; i < changed.inputs.size(); ++i)
    set_format(changed.inputs[i], formats.inputs[i]);
  for (std::size_t i = 0; i < changed.outputs.size(); ++i)
    set_format(changed.outputs[i], formats.outputs[i]);
  while (!changed.post_ops.empty() && is_implied(changed.post_ops.back(), changed.outputs[0]))
    changed.post_ops.pop_back();
  return changed;
}

std::vector<FormatTuple> uniform_formats(const Problem& problem, DataType type, Layout layout,
                                         DeviceId device) {
  FormatTuple tuple = formats_of(problem);
  bool typed = false;
  bool laid_out = layout == Layout::plain;
  bool unknown_scale = false;
  const auto change = [&](const TensorSpec& spec, Format& format) {
    if (spec.present() && !spec.constant) format.device = device;
    if (!follows_schema(spec)) return;
    format.type = type;
    typed = true;
    if (type == DataType::qint8 && !spec.quantization) unknown_scale = true;
    if (layout == Layout::plain || spec.shape.rank() < 3) return;
    format.layout = layout;
    laid_out = true;
  };
  for (std::size_t i = 0; i < problem.inputs.size(); ++i)
    change(problem.inputs[i], tuple.inputs[i]);
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    if (problem.outputs[i].present()) tuple.outputs[i].device = device;
    if (!keeps_type(problem, problem.outputs[i])) change(problem.outputs[i], tuple.outputs[i]);
  }
  // Integers and booleans alone: the plain float32 schema stands for "as the model has it".
  if (!typed && type == DataType::float32 && layout == Layout::plain) return {tuple};
  if (!typed || !laid_out || unknown_scale) return {};
  return {tuple};
}

}  // namespace softneuro

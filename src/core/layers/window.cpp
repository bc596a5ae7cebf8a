#include "core/layers/window.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace softneuro {
namespace {

// Strides and the like beyond this are refused: all sums and products below then fit in int64.
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLargestInput = std::int64_t{1} << 61;

// Entry `index` of the list `name`, which has `length` entries or none (then `fallback`).
Result<std::int64_t> entry(const Params& params, const char* name, int length, int index,
                           std::int64_t fallback, std::int64_t least) {
  const auto list = params.integers(name);
  if (list.empty()) return fallback;
  if (list.size() != static_cast<std::size_t>(length))
    return invalid_model("parameter {} has {} entries, expected {}", name, list.size(), length);
  const std::int64_t value = list[static_cast<std::size_t>(index)];
  if (value < least || value > kLargest)
    return invalid_model("parameter {}[{}] is {}, expected {} to {}", name, index, value, least,
                         kLargest);
  return value;
}

enum class AutoPad { explicit_, same_upper, same_lower, valid };

Result<AutoPad> auto_pad(const Params& params) {
  const std::string_view text = params.text("auto_pad", "explicit");
  if (text == "explicit") return AutoPad::explicit_;
  if (text == "same_upper") return AutoPad::same_upper;
  if (text == "same_lower") return AutoPad::same_lower;
  if (text == "valid") return AutoPad::valid;
  return invalid_model(
      "parameter auto_pad is '{}', expected explicit, same_upper, same_lower or valid", text);
}

// What both directions share: everything but the output's size and automatic padding.
Result<WindowAxis> axis_params(const Params& params, int axes, int axis, std::int64_t input,
                               std::int64_t kernel, AutoPad mode) {
  WindowAxis result;
  if (kernel == 0 || kernel > kLargest)
    return invalid_model("the kernel has {} elements along spatial axis {}, expected 1 to {}",
                         kernel, axis, kLargest);
  if (input > kLargestInput)
    return invalid_model("spatial axis {} has {} elements, too many", axis, input);
  result.input = input;
  result.kernel = kernel;
  SN_ASSIGN_OR_RETURN(result.stride, entry(params, "strides", axes, axis, 1, 1));
  SN_ASSIGN_OR_RETURN(result.dilation, entry(params, "dilations", axes, axis, 1, 1));
  if (mode == AutoPad::explicit_) {
    SN_ASSIGN_OR_RETURN(result.pad_begin, entry(params, "pads", 2 * axes, axis, 0, 0));
    SN_ASSIGN_OR_RETURN(result.pad_end, entry(params, "pads", 2 * axes, axis + axes, 0, 0));
  }
  return result;
}

void split_padding(WindowAxis& axis, std::int64_t total, bool more_at_end) {
  const std::int64_t half = total / 2;
  axis.pad_begin = more_at_end ? half : total - half;
  axis.pad_end = total - axis.pad_begin;
}

template <class MakeAxis>
Result<Window> window_of(const Params& params, const Shape& x, std::span<const std::int64_t> kernel,
                         MakeAxis make_axis) {
  const int axes = static_cast<int>(kernel.size());
  if (axes < 1 || axes > kMaxSpatialAxes || x.rank() != axes + 2)
    return invalid_model("{} spatial axes do not fit an input of shape {}", axes, x.str());
  Window window;
  for (int i = 0; i < axes; ++i) {
    const auto to = static_cast<std::size_t>(kMaxSpatialAxes - axes + i);
    SN_ASSIGN_OR_RETURN(window.axes[to],
                        make_axis(params, axes, i, x[i + 2], kernel[static_cast<std::size_t>(i)]));
  }
  return window;
}

// Deep nets of unknown size would otherwise spell out formulas of any length.
constexpr std::size_t kLongestSymbol = 40;

Dim named(std::string symbol) {
  return symbol.size() > kLongestSymbol ? Dim() : Dim(std::move(symbol));
}

// symbol·factor + offset, or the symbol itself.
Dim scaled_symbol(const std::string& symbol, std::int64_t factor, std::int64_t offset) {
  if (factor == 1 && offset == 0) return Dim(symbol);
  std::string text = factor == 1 ? symbol : fmt::format("{}*{}", symbol, factor);
  if (offset != 0) text += fmt::format("{:+}", offset);
  return named("(" + text + ")");
}

}  // namespace

bool Window::is_pointwise() const noexcept {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  });
}

Result<WindowAxis> window_axis(const Params& params, int axes, int axis, std::int64_t input,
                               std::int64_t kernel) {
  SN_ASSIGN_OR_RETURN(const AutoPad mode, auto_pad(params));
  SN_ASSIGN_OR_RETURN(WindowAxis result, axis_params(params, axes, axis, input, kernel, mode));
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  result.output = -1;
  if (input < 0 || (kernel < 0 && !same)) return result;
  if (same) {
    result.output = (input + result.stride - 1) / result.stride;
    if (kernel < 0) return result;
    const std::int64_t needed = (result.output - 1) * result.stride + result.extent() - input;
    split_padding(result, std::max<std::int64_t>(needed, 0), mode == AutoPad::same_upper);
    return result;
  }
  const std::int64_t room = input + result.pad_begin + result.pad_end - result.extent();
  const bool rounds_up = params.integer("ceil_mode") != 0;
  // Rounded up, less than a step too little room is none too little: one window, cut off.
  if (room < 0 && (!rounds_up || -room >= result.stride))
    return invalid_model(
        "spatial axis {}: the window spans {} elements, more than the {} of the padded input", axis,
        result.extent(), input + result.pad_begin + result.pad_end);
  result.output = room / result.stride + 1;
  if (rounds_up) {
    if (room > 0 && room % result.stride != 0) ++result.output;
    // A window that would start in the padding behind the input is left out.
    if ((result.output - 1) * result.stride >= input + result.pad_begin) --result.output;
  }
  return result;
}

Result<WindowAxis> transposed_window_axis(const Params& params, int axes, int axis,
                                          std::int64_t input, std::int64_t kernel) {
  SN_ASSIGN_OR_RETURN(const AutoPad mode, auto_pad(params));
  SN_ASSIGN_OR_RETURN(WindowAxis result, axis_params(params, axes, axis, input, kernel, mode));
  SN_ASSIGN_OR_RETURN(const std::int64_t extra, entry(params, "output_padding", axes, axis, 0, 0));
  SN_ASSIGN_OR_RETURN(const std::int64_t wanted, entry(params, "output_shape", axes, axis, -1, 1));
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  result.output = wanted;
  if (input < 0 || (kernel < 0 && !same)) return result;
  if (input > kLargestInput / result.stride)
    return invalid_model("spatial axis {}: {} elements times stride {} are too many", axis, input,
                         result.stride);
  if (wanted < 0 && same) result.output = input * result.stride;
  if (kernel < 0) return result;
  const std::int64_t full = result.stride * (input - 1) + extra + result.extent();
  if (result.output >= 0) {
    split_padding(result, std::max<std::int64_t>(full - result.output, 0),
                  mode == AutoPad::same_upper);
    return result;
  }
  result.output = full - result.pad_begin - result.pad_end;
  if (result.output < 1)
    return invalid_model("spatial axis {}: padding {}+{} leaves nothing of {} output elements",
                         axis, result.pad_begin, result.pad_end, full);
  return result;
}

Dim window_output(const Params& params, const WindowAxis& axis, const Dim& input) {
  if (axis.output >= 0 || input.symbol.empty()) return Dim(axis.output);
  const Result<AutoPad> mode = auto_pad(params);
  if (!mode.ok()) return Dim();
  if (*mode == AutoPad::same_upper || *mode == AutoPad::same_lower)
    return axis.stride == 1 ? Dim(input.symbol)
                            : named(fmt::format("ceil({}/{})", input.symbol, axis.stride));
  if (axis.kernel < 0) return Dim();
  const std::int64_t room = axis.pad_begin + axis.pad_end - axis.extent();  // besides the input
  if (axis.stride == 1) return scaled_symbol(input.symbol, 1, room + 1);
  if (params.integer("ceil_mode") != 0) return Dim();
  const Dim numerator = scaled_symbol(input.symbol, 1, room);
  return numerator.symbol.empty() ? Dim()
                                  : named(fmt::format("({}/{}+1)", numerator.symbol, axis.stride));
}

Dim transposed_window_output(const Params& params, const WindowAxis& axis, const Dim& input) {
  if (axis.output >= 0 || input.symbol.empty()) return Dim(axis.output);
  const Result<AutoPad> mode = auto_pad(params);
  if (!mode.ok()) return Dim();
  if (*mode == AutoPad::same_upper || *mode == AutoPad::same_lower)
    return scaled_symbol(input.symbol, axis.stride, 0);
  if (axis.kernel < 0) return Dim();
  const auto output_padding = params.integers("output_padding");
  // Which entry is this axis's is not known here; without any there is no doubt.
  if (!output_padding.empty()) return Dim();
  const std::int64_t offset = axis.extent() - axis.stride - axis.pad_begin - axis.pad_end;
  return scaled_symbol(input.symbol, axis.stride, offset);
}

bool pads_nothing(const Params& params) {
  const auto pads = params.integers("pads");
  const std::string_view mode = params.text("auto_pad", "explicit");
  return mode == "valid" ||
         (mode == "explicit" &&
          std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; }));
}

Result<Window> make_window(const Params& params, const Shape& x,
                           std::span<const std::int64_t> kernel) {
  return window_of(params, x, kernel, window_axis);
}

Result<Window> make_transposed_window(const Params& params, const Shape& x,
                                      std::span<const std::int64_t> kernel) {
  return window_of(params, x, kernel, transposed_window_axis);
}

Result<Window> pool_window(const Params& params, const Shape& x) {
  return make_window(params, x, params.integers("kernel"));
}

}  // namespace softneuro

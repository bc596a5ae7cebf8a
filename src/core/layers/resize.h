// What shape inference and routines of resize share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/graph/params.h"
#include "softneuro/shape.h"
#include "softneuro/tensor.h"

namespace softneuro {

enum class ResizeMode { nearest, linear, cubic };
// How an output index becomes a position on the input, see resize_taps.h.
enum class ResizeCoordinates {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};
enum class ResizeRounding { round_prefer_floor, round_prefer_ceil, floor, ceil };
enum class ResizePolicy { stretch, not_larger, not_smaller };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeRounding rounding = ResizeRounding::round_prefer_floor;
  ResizePolicy policy = ResizePolicy::stretch;
  double cubic_coeff_a = -0.75;
  bool exclude_outside = false;
  double extrapolation_value = 0;
  bool antialias = false;
};
SN_INTREE Result<ResizeOptions> resize_options(const Params& params);

// One axis of the input and what becomes of it.
struct ResizeAxis {
  Dim input;
  Dim output;
  double scale = 1;
  double length = 0;  // of the output before it was rounded
  double roi_start = 0, roi_end = 1;

  // The output is the input: nothing moves.
  bool is_identity() const {
    return input == output && scale == 1 && roi_start == 0 && roi_end == 1;
  }
};

// The values of inputs 1–3, as far as they are given and known.
struct ResizeRequest {
  std::optional<std::vector<double>> roi;
  std::optional<std::vector<double>> scales;
  std::optional<std::vector<std::int64_t>> sizes;
};
// `tensor` as double; nothing if it is null, empty or without elements.
SN_INTREE std::optional<std::vector<double>> reals_of(const Tensor* tensor);

// All axes of an input of dimensions `x`. Where dimensions or values are unknown, so are outputs.
SN_INTREE Result<std::vector<ResizeAxis>> resize_axes(std::span<const Dim> x, const Params& params,
                                                      const ResizeRequest& request);

}  // namespace softneuro

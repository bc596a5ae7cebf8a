// The epilogue of a layer with 8-bit weights: post-ops and the output's rounding.
#pragma once

#include "core/routine/function_routine.h"
#include "cpu/gemm/int8_tile.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/qint8/weights.h"

namespace softneuro {

// Post-ops are folded into the rounding where that gives the same: a fake_quantize, an addition of
// a qint8 tensor of the output's shape, then functions that only clamp. Otherwise kernels store
// float32 tiles, which apply() works on.
struct QuantizedEpilogue {
  bool to_bytes = false;  // the output is qint8, else float32
  bool folded = true;     // nothing is left for apply(); float32 outputs: there are no post-ops
  // Of a qint8 output: saturate(round(y · inverse) + zero_point), the rounded number in [low,
  // high].
  float inverse = 1, low = 0, high = 255;
  TensorScale scale;
  Int8Levels levels;
  Int8Addend addend;       // without data
  int addend_input = -1;   // index of the input that is to be added; −1: none
  PostOpProgram post_ops;  // if not folded

  // Whether kernels have to make tiles for apply(); float32 outputs are changed in place.
  bool needs_tiles() const noexcept { return to_bytes && !folded; }

  // with_addend: the kernel knows how to round to levels and to add.
  static Result<QuantizedEpilogue> create(const Problem& problem, bool with_addend);
  // The elements [offset, offset + count) of output 0, which are in `tile`, or in the output itself
  // (null). Precondition: not folded.
  void apply(const Context& context, float* tile, std::int64_t offset,
             std::int64_t count) const noexcept;

 private:
  bool fold(const Problem& problem, bool with_addend);
  bool fold_addend(const Problem& problem, const PostOp& op);
};

// What routines of layers with 8-bit weights have in common.
inline RoutineFunctions quantized_layer() {
  return {.formats =
              [](const Problem& problem, const RoutineDescriptor& descriptor) {
                return quantized_formats(problem, descriptor.layout);
              },
          .applicable = takes_quantized_weights,
          .supports_post_ops = PostOpProgram::supports_quantized};
}

}  // namespace softneuro

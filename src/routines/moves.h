// What layers that only move elements do, as kernels; each is defined beside the cpu/naive that it
// is, and serves cpu/direct, too. Plain and nhwc, but where another is said.
#pragma once

#include <span>

#include "core/layers/pad.h"
#include "core/routine/routine.h"
#include "cpu/tensor/strided_copy.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_channel_shuffle_move(const Problem& problem);  // plain
Result<std::unique_ptr<Kernel>> make_depth_to_space_move(const Problem& problem);
Result<std::unique_ptr<Kernel>> make_expand_move(const Problem& problem);  // plain
// The value may be of another real type than x, if it is constant.
Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem);
// The same for any layer that pads input 0 with zeros, or cuts it: `amounts` by axis of input 0.
// The output has the size that follows from them.
Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem,
                                              std::span<const PadAmount> amounts);
Result<std::unique_ptr<Kernel>> make_slice_move(const Problem& problem);
Result<std::unique_ptr<Kernel>> make_space_to_depth_move(const Problem& problem);
Result<std::unique_ptr<Kernel>> make_split_move(const Problem& problem);
Result<std::unique_ptr<Kernel>> make_tile_move(const Problem& problem);
// Walks the output in the order of its memory.
Result<StridedCopy> transpose_copy(const Problem& problem);
// Copies input 0's bytes to output 0, whatever shapes and layouts are. Plans that make the output a
// view of the input never run it.
Result<std::unique_ptr<Kernel>> make_view_copy(const Problem&);

}  // namespace softneuro

// Layers that move elements, cuda/nvrtc: each a few boxes, copied one after the other.
#include "core/base/element.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/layers/slice.h"
#include "core/layers/transpose.h"
#include "cpu/tensor/memory_order.h"
#include "plugins/cuda/generate/move.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

using Axes = std::vector<StridedCopy::Axis>;

Shape strides_of_input(const Problem& problem) {
  return layout_strides(problem.inputs[0].shape, problem.inputs[0].layout);
}
Shape strides_of_output(const Problem& problem) {
  return layout_strides(problem.outputs[0].shape, problem.outputs[0].layout);
}

// The inputs from `first` on say what is moved: they must be known.
Status check_known(const Problem& problem, std::size_t first) {
  for (std::size_t i = first; i < problem.layer_inputs; ++i)
    if (problem.has_input(i) && problem.inputs[i].value.empty() &&
        problem.inputs[i].shape.elements() > 0)
      return unsupported("which elements move is known at run time only");
  return {};
}

Result<Program> program_of(const Problem& problem, std::span<const Box> boxes) {
  Program program;
  for (const Box& box : boxes) {
    SN_ASSIGN_OR_RETURN(Launch launch, move(problem, box));
    if (launch.blocks > 0) program.launches.push_back(std::move(launch));
  }
  return program;
}

Result<Program> one_box(const Problem& problem, Axes axes, std::int64_t source_offset = 0) {
  Box box;
  box.axes = std::move(axes);
  box.source_offset = source_offset;
  return program_of(problem, {&box, 1});
}

Result<Program> transpose(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const std::vector<int> order, transpose_order(problem.params, x.rank()));
  const Shape source = strides_of_input(problem), target = strides_of_output(problem);
  Axes axes;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = order[static_cast<std::size_t>(i)];
    axes.push_back({x[axis], source[axis], target[i]});
  }
  return one_box(problem, std::move(axes));
}

Result<Program> slice(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_known(problem, 1));
  const auto optional_integers = [&](std::size_t i) {
    return problem.has_input(i) ? std::optional(problem.integers(i)) : std::nullopt;
  };
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const std::vector<SliceSpan> spans,
                      slice_spans(x.rank(), problem.integers(1), problem.integers(2),
                                  optional_integers(3), optional_integers(4)));
  const Shape source = strides_of_input(problem), target = strides_of_output(problem);
  Axes axes;
  std::int64_t offset = 0;
  for (int i = 0; i < x.rank(); ++i) {
    const SliceSpan& span = spans[static_cast<std::size_t>(i)];
    const SliceRange range = slice_range(span, x[i]);
    offset += range.first * source[i];
    // A step is only taken, and only then known to be short, where there are two indices.
    axes.push_back({range.count, range.count > 1 ? span.step * source[i] : 0, target[i]});
  }
  return one_box(problem, std::move(axes), offset);
}

// A tensor as a matrix in the order of its memory: what is before `axis`, and the rest.
struct Part {
  Part(const Shape& shape, Layout layout, int axis) {
    const Shape stored = stored_shape(shape, layout);
    const int at = stored_axis(axis, shape.rank(), layout);
    rows = stored.elements(0, at);
    columns = stored.elements(at, stored.rank());
  }
  std::int64_t rows = 1, columns = 1;
};

Result<Program> concat(const Problem& problem) {
  const TensorSpec& y = problem.outputs[0];
  SN_ASSIGN_OR_RETURN(const int axis,
                      normalize_axis(problem.params.integer("axis"), y.shape.rank()));
  const Part whole(y.shape, y.layout, axis);
  std::vector<Box> boxes;
  std::int64_t column = 0;
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    const TensorSpec& x = problem.inputs[i];
    Box box;
    box.input = i;
    box.target_offset = column;
    if (x.layout == y.layout) {
      const Part part(x.shape, x.layout, axis);
      box.axes = {{part.rows, part.columns, whole.columns}, {part.columns, 1, 1}};
      column += part.columns;
    } else {  // a constant
      const Shape source = layout_strides(x.shape, x.layout), target = strides_of_output(problem);
      for (int d = 0; d < x.shape.rank(); ++d)
        box.axes.push_back({x.shape[d], source[d], target[d]});
      column += Part(x.shape, y.layout, axis).columns;
    }
    boxes.push_back(std::move(box));
  }
  return program_of(problem, boxes);
}

Result<Program> split(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_known(problem, 1));
  const TensorSpec& x = problem.inputs[0];
  SN_ASSIGN_OR_RETURN(const int axis,
                      normalize_axis(problem.params.integer("axis"), x.shape.rank()));
  const Part whole(x.shape, x.layout, axis);
  std::vector<Box> boxes;
  std::int64_t column = 0;
  for (std::size_t o = 0; o < problem.outputs.size(); ++o) {
    const TensorSpec& y = problem.outputs[o];
    // An output that is left out has a size nevertheless.
    if (!y.present()) return unsupported("an output is left out");
    const Part part(y.shape, y.layout, axis);
    Box box;
    box.output = o;
    box.source_offset = column;
    box.axes = {{part.rows, whole.columns, part.columns}, {part.columns, 1, 1}};
    column += part.columns;
    boxes.push_back(std::move(box));
  }
  return program_of(problem, boxes);
}

Result<Program> expand(const Problem& problem) {
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  const Shape source = broadcast_strides(x, y), target = strides_of_output(problem);
  Axes axes;
  for (int i = 0; i < y.rank(); ++i) axes.push_back({y[i], source[i], target[i]});
  return one_box(problem, std::move(axes));
}

Result<Program> tile(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_known(problem, 1));
  const Shape& x = problem.inputs[0].shape;
  const Shape source = strides_of_input(problem), target = strides_of_output(problem);
  const std::vector<std::int64_t> repeats = problem.integers(1);
  if (2 * x.rank() > StridedCopy::kMaxAxes) return unsupported("so many axes are not supported");
  Axes axes;
  for (int i = 0; i < x.rank(); ++i) {
    axes.push_back({repeats[static_cast<std::size_t>(i)], 0, target[i] * x[i]});
    axes.push_back({x[i], source[i], target[i]});
  }
  return one_box(problem, std::move(axes));
}

Result<Program> channel_shuffle(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  const Shape source = strides_of_input(problem), target = strides_of_output(problem);
  const std::int64_t groups = problem.params.integer("groups"), members = x[1] / groups;
  Axes axes = {{x[0], source[0], target[0]},
               {members, source[1], groups * target[1]},
               {groups, members * source[1], target[1]}};
  for (int d = 2; d < x.rank(); ++d) axes.push_back({x[d], source[d], target[d]});
  return one_box(problem, std::move(axes));
}

Result<Program> depth_to_space(const Problem& problem) {
  const std::int64_t block = problem.params.integer("block");
  const bool crd = problem.params.text("mode") == "crd";
  const Shape& x = problem.inputs[0].shape;
  const Shape source = strides_of_input(problem), target = strides_of_output(problem);
  const std::int64_t channels = problem.outputs[0].shape[1];
  // Channels of x between neighbouring output channels, and neighbouring columns of a patch.
  const std::int64_t channel_step = crd ? block * block : 1;
  const std::int64_t patch_step = crd ? 1 : channels;
  return one_box(problem, {{x[0], source[0], target[0]},
                           {channels, channel_step * source[1], target[1]},
                           {x[2], source[2], block * target[2]},
                           {block, block * patch_step * source[1], target[2]},
                           {x[3], source[3], block * target[3]},
                           {block, patch_step * source[1], target[3]}});
}

Result<Program> space_to_depth(const Problem& problem) {
  const std::int64_t block = problem.params.integer("block");
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  const Shape source = strides_of_input(problem), target = strides_of_output(problem);
  return one_box(problem, {{x[0], source[0], target[0]},
                           {block, source[2], block * x[1] * target[1]},
                           {block, source[3], x[1] * target[1]},
                           {x[1], source[1], target[1]},
                           {y[2], block * source[2], target[2]},
                           {y[3], block * source[3], target[3]}});
}

}  // namespace

Status register_moves(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"transpose", "nvrtc", &transpose, kNoPostOps}, kAllSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"slice", "nvrtc", &slice, kNoPostOps}, kAllSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"concat", "nvrtc", &concat, kNoPostOps}, kAllSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"split", "nvrtc", &split, kNoPostOps}, kAllSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"expand", "nvrtc", &expand, kNoPostOps}, kPlainSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"tile", "nvrtc", &tile, kNoPostOps}, kAllSchemas));
  SN_RETURN_IF_ERROR(add_generated(
      registry, device, {"channel_shuffle", "nvrtc", &channel_shuffle, kNoPostOps}, kAllSchemas));
  SN_RETURN_IF_ERROR(add_generated(
      registry, device, {"depth_to_space", "nvrtc", &depth_to_space, kNoPostOps}, kAllSchemas));
  return add_generated(registry, device, {"space_to_depth", "nvrtc", &space_to_depth, kNoPostOps},
                       kAllSchemas);
}

}  // namespace softneuro::cuda

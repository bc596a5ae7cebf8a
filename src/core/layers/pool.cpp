// max_pool1/2/3, avg_pool1/2/3, lp_pool1/2/3 and max_unpool.
#include <algorithm>

#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"
#include "core/layers/window.h"

namespace softneuro {
namespace {

constexpr std::int64_t kLargestKernel = INT32_MAX;

// Kernel size along spatial axis `axis` of `axes`.
Result<std::int64_t> kernel_size(const Params& params, int axes, int axis) {
  const auto kernel = params.integers("kernel");
  if (kernel.size() != static_cast<std::size_t>(axes))
    return invalid_model("parameter kernel has {} entries, expected {}", kernel.size(), axes);
  const std::int64_t size = kernel[static_cast<std::size_t>(axis)];
  if (size < 1 || size > kLargestKernel)
    return invalid_model("parameter kernel[{}] is {}, expected 1 to {}", axis, size,
                         kLargestKernel);
  return size;
}

template <int Axes>
Result<DynamicShape> pooled_shape(const InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_rank(0, Axes + 2));
  const DynamicShape& x = context.shape(0);
  std::vector<Dim> dims(2 + Axes);
  if (x.ranked()) {
    dims[0] = x[0];
    dims[1] = x[1];
  }
  for (int i = 0; i < Axes; ++i) {
    SN_ASSIGN_OR_RETURN(const std::int64_t kernel, kernel_size(context.params(), Axes, i));
    SN_ASSIGN_OR_RETURN(
        const WindowAxis axis,
        window_axis(context.params(), Axes, i, x.ranked() ? x[i + 2].value : -1, kernel));
    dims[static_cast<std::size_t>(i + 2)] =
        window_output(context.params(), axis, x.ranked() ? x[i + 2] : Dim());
  }
  return DynamicShape(std::move(dims));
}

template <int Axes>
Status infer_max(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_ASSIGN_OR_RETURN(DynamicShape y, pooled_shape<Axes>(context));
  context.set_output(1, DataType::int64, y);
  return context.set_shape(std::move(y));
}

template <int Axes>
Status infer_mean(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  const std::int64_t p = context.params().integer("p", 2);
  if (p < 1) return invalid_model("parameter p is {}, expected at least 1", p);
  SN_ASSIGN_OR_RETURN(DynamicShape y, pooled_shape<Axes>(context));
  return context.set_shape(std::move(y));
}

Status infer_unpool(InferContext& context) {
  constexpr DataType kIndex[] = {DataType::int64};
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndex));
  const DynamicShape& x = context.shape(0);
  const DynamicShape& indices = context.shape(1);
  const int axes = static_cast<int>(context.params().integers("kernel").size());
  if (axes < 1 || axes > kMaxSpatialAxes)
    return invalid_model("parameter kernel has {} entries, expected 1 to {}", axes,
                         kMaxSpatialAxes);
  SN_RETURN_IF_ERROR(context.expect_rank(0, axes + 2));
  SN_RETURN_IF_ERROR(context.expect_rank(1, axes + 2));
  std::vector<Dim> dims(2 + static_cast<std::size_t>(axes));
  for (int i = 0; i < axes + 2 && x.ranked(); ++i) {
    if (indices.ranked() && indices[i].known() && x[i].known() && indices[i].value != x[i].value)
      return invalid_model("indices of shape {} do not fit input 0 of shape {}", indices.str(),
                           x.str());
    dims[static_cast<std::size_t>(i)] = i < 2 ? x[i] : Dim();
  }
  for (int i = 0; i < axes; ++i) {
    SN_ASSIGN_OR_RETURN(const std::int64_t kernel, kernel_size(context.params(), axes, i));
    SN_ASSIGN_OR_RETURN(const WindowAxis axis,
                        transposed_window_axis(context.params(), axes, i,
                                               x.ranked() ? x[i + 2].value : -1, kernel));
    dims[static_cast<std::size_t>(i + 2)] = Dim(axis.output);
  }
  if (context.has_input(2)) {
    // The wanted shape may be larger than the natural one, to which the indices refer.
    const auto wanted = context.integers(2);
    for (auto& dim : dims) dim = Dim();
    if (wanted) {
      if (wanted->size() != dims.size())
        return invalid_model("output_shape has {} entries, expected {}", wanted->size(),
                             dims.size());
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if ((*wanted)[i] < 0)
          return invalid_model("output_shape[{}] is {}, expected at least 0", i, (*wanted)[i]);
        dims[i] = Dim((*wanted)[i]);
      }
    }
  }
  return context.set_shape(DynamicShape(std::move(dims)));
}

std::vector<ParamSpec> window_params() {
  const std::vector<std::int64_t> none;
  return {
      {"kernel", none, "size of the window per axis", true},
      {"strides", none, "step of the window per axis, >= 1; empty: 1"},
      {"pads", none, "elements around the input: begins, then ends, >= 0; empty: 0"},
  };
}

std::vector<ParamSpec> pool_params(ParamSpec last) {
  std::vector<ParamSpec> params = window_params();
  params.push_back(
      {"dilations", std::vector<std::int64_t>(), "spacing of the window's elements; empty: 1"});
  params.push_back(
      {"auto_pad", "explicit",
       "explicit (pads count), same_upper, same_lower (output = ceil(input / stride)), valid (0)"});
  params.push_back(
      {"ceil_mode", 0,
       "1: round the output's size up; the last window may extend beyond the padding"});
  params.push_back(std::move(last));
  return params;
}

// Places under the windows.
double steps(const LayerSizes& sizes) {
  double under_window = 1;
  for (const std::int64_t k : sizes.params.integers("kernel"))
    under_window *= static_cast<double>(k);
  return sizes.input_elements() + sizes.output_elements() * under_window;
}

// Windows of one element.
int equal_input(const InferContext& context) {
  const auto all_are = [&](std::string_view param, std::int64_t expected) {
    const auto values = context.params().integers(param);
    return std::all_of(values.begin(), values.end(),
                       [expected](std::int64_t value) { return value == expected; });
  };
  const bool same = context.output_count() == 1 && all_are("kernel", 1) && all_are("strides", 1) &&
                    all_are("pads", 0);
  return same ? 0 : -1;
}

template <int Axes>
Status add_pools(LayerTypes& types) {
  const std::string axes = std::to_string(Axes);
  return types.add_all(
      {{.name = "max_pool" + axes,
        .doc = "Largest element of each window; padding does not count, NaN propagates. Input 0: "
               "x[N,C,S…]. Output 0: y[N,C,O…]. Output 1 (optional): int64, where in x, flattened, "
               "each came from.",
        .category = LayerCategory::reduction,
        .params =
            pool_params({"storage_order", 0, "1: the indices count the spatial axes column-major"}),
        .outputs = {1, 2},
        .cancellable = true,
        .elements = ElementSource::input_0,
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_max<Axes>,
        .steps = steps,
        .equal_input = equal_input},
       {.name = "avg_pool" + axes,
        .doc = "Mean of each window. Input 0: x[N,C,S…]. Output 0: y[N,C,O…].",
        .category = LayerCategory::reduction,
        .params = pool_params(
            {"count_include_pad", 0, "1: padding counts as zeros, but never what lies beyond it"}),
        .cancellable = true,
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_mean<Axes>,
        .steps = steps,
        .equal_input = equal_input},
       {.name = "lp_pool" + axes,
        .doc = "(Σ |x|^p)^(1/p) of each window. Input 0: x[N,C,S…]. Output 0: y[N,C,O…].",
        .category = LayerCategory::reduction,
        .params = pool_params({"p", 2, "the norm's exponent, >= 1"}),
        .cancellable = true,
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_mean<Axes>,
        .steps = steps}});
}

}  // namespace

Status register_layer_pool(LayerTypes& types) {
  SN_RETURN_IF_ERROR(add_pools<1>(types));
  SN_RETURN_IF_ERROR(add_pools<2>(types));
  SN_RETURN_IF_ERROR(add_pools<3>(types));
  return types.add({.name = "max_unpool",
                    .doc = "Inverse of max_pool: zeros, but x's elements at the places that the "
                           "indices name. Inputs: x[N,C,S…], indices (as x; flat, into the output "
                           "of natural size stride·(S−1)+kernel−pads), output_shape (optional: the "
                           "whole shape; what it adds lies at the end and is zero).",
                    .params = window_params(),
                    .inputs = {2, 3},
                    .value_inputs = {{2, ValueKind::size}},
                    .infer = infer_unpool});
}

}  // namespace softneuro

// softmax, layer_norm, rms_norm, instance_norm, group_norm and lp_norm cuda/nvrtc: a thread, a warp
// or blocks for each row, which is read again where it is still in a cache.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "plugins/cuda/generate/folds.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/generate/tail.h"
#include "plugins/cuda/kernels/generated_routine.h"
#include "plugins/cuda/layers/rows.h"

namespace softneuro::cuda {
namespace {

// Mean and squared deviations after Welford ("Note on a method for calculating corrected sums of
// squares and products", Technometrics 1962), joined after Chan et al. Of differences from the
// row's first element, so that a mean far from zero costs no digits.
const Fold kMoments = {
    .members = {{"float", "shift"}, {"float", "count"}, {"float", "mean"}, {"float", "squares"}},
    .clear = "shift = first; count = 0; mean = 0; squares = 0;",
    .add =
        "const float from = x - shift, by = from - mean;\n"
        "    count += 1;\n"
        "    mean += by / count;\n"
        "    squares += by * (from - mean);",
    .merge =
        "if (b.count == 0) return;\n"
        "    if (count == 0) {\n"
        "      *this = b;\n"
        "      return;\n"
        "    }\n"
        "    const float all = count + b.count, by = b.mean - mean, part = b.count / all;\n"
        "    mean += by * part;\n"
        "    squares += b.squares + by * by * count * part;\n"
        "    count = all;"};

Status check_real(const Problem& problem) {
  for (const TensorSpec* const spec : {&problem.inputs[0], &problem.outputs[0]})
    if (!is_narrow_float(spec->type))
      return unsupported("only real numbers of at most 32 bits are supported");
  return {};
}

std::uint32_t axes_from(int axis, int rank) {
  return ((1u << rank) - 1u) & ~((1u << axis) - 1u);
}

Text constant_text(std::string constant) {
  return
      [constant = std::move(constant)](KernelSource&) -> Result<std::string> { return constant; };
}

// `inverse` of the variance; of moments.
Text inverse_of_moments(const Problem& problem) {
  const auto epsilon = static_cast<float>(problem.params.real("epsilon"));
  return [epsilon](KernelSource& source) -> Result<std::string> {
    return fmt::format("const float inverse = 1 / sqrtf(s.squares / s.count + {});\n",
                       source.real(epsilon));
  };
}

// `value` as `y`, times input 1, plus input 2 where they are given; `read` gives their elements.
template <class Read>
Text scaled(const Problem& problem, const char* value, Read read) {
  return [&problem, value, read](KernelSource& source) -> Result<std::string> {
    std::string text = fmt::format("float y = {};\n", value);
    for (std::size_t input = 1; input < 3; ++input) {
      if (!problem.has_input(input)) continue;
      SN_ASSIGN_OR_RETURN(const std::string element, read(source, input));
      text += fmt::format("y {}= (float){};\n", input == 1 ? '*' : '+', element);
    }
    return text;
  };
}

Result<Program> softmax(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_real(problem));
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  const bool is_log = problem.params.integer("log") != 0;
  // Where +inf is, Σ exp(x − max) has a NaN.
  const std::string sum =
      fmt::format("const float sum = s.max == {} ? {} : s.sum;\n", kInfinity, kNan);
  return map_rows(problem, rows_of(problem.inputs[0], 1u << axis), exponential_fold(),
                  {.row = constant_text(sum + (is_log ? "const float log_sum = logf(sum);\n"
                                                      : "const float inverse = 1 / sum;\n")),
                   .element = constant_text(is_log ? "float y = x - s.max - log_sum;\n"
                                                   : "float y = expf(x - s.max) * inverse;\n"),
                   .once = {}});
}

// Scale and bias that broadcast to x.
Text scaled_by_operands(const Problem& problem, const char* value) {
  return scaled(problem, value, [&problem](KernelSource& source, std::size_t input) {
    return operand(source, problem, input);
  });
}

Result<Program> layer_norm(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_real(problem));
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  const Rows rows = rows_of(problem.inputs[0], axes_from(axis, problem.inputs[0].shape.rank()));
  const Text statistics = [&problem](KernelSource& source) -> Result<std::string> {
    std::string text;
    const auto is_given = [&](std::size_t i) {
      return problem.outputs.size() > i && problem.outputs[i].present();
    };
    if (is_given(1))
      text += fmt::format("put({}[r], s.shift + s.mean);\n", source.output(problem, 1));
    if (is_given(2)) text += fmt::format("put({}[r], inverse);\n", source.output(problem, 2));
    return text;
  };
  return map_rows(problem, rows, kMoments,
                  {.row = inverse_of_moments(problem),
                   .element = scaled_by_operands(problem, "((x - s.shift) - s.mean) * inverse"),
                   .once = problem.outputs.size() > 1 ? statistics : Text()});
}

Result<Program> rms_norm(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_real(problem));
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  const auto epsilon = static_cast<float>(problem.params.real("epsilon"));
  const Text inverse = [epsilon](KernelSource& source) -> Result<std::string> {
    return fmt::format("const float inverse = 1 / sqrtf(s.v / (float)n + {});\n",
                       source.real(epsilon));
  };
  return map_rows(
      problem, rows_of(problem.inputs[0], axes_from(axis, problem.inputs[0].shape.rank())),
      sum_fold("float", "x * x"),
      {.row = inverse, .element = scaled_by_operands(problem, "x * inverse"), .once = {}});
}

// Groups of consecutive channels of one image; `channels` of them.
Rows rows_of_groups(const TensorSpec& x, std::int64_t channels) {
  const std::vector<std::int64_t> strides = memory_strides(x.shape, x.layout);
  Rows rows;
  for (const int d : memory_order(x.shape.rank(), x.layout)) {
    const std::int64_t stride = strides[static_cast<std::size_t>(d)];
    if (d == 1) {
      rows.kept.add(channels == 0 ? 0 : x.shape[1] / channels, stride * channels);
      rows.folded.add(channels, stride);
    } else {
      (d == 0 ? rows.kept : rows.folded).add(x.shape[d], stride);
    }
  }
  return rows;
}

Result<Program> group_norm(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_real(problem));
  const TensorSpec& x = problem.inputs[0];
  const std::int64_t groups = problem.params.integer("groups");
  // Opposite element i of output 0: that of its channel.
  const auto per_channel = [&](KernelSource& source, std::size_t input) -> Result<std::string> {
    Walked walked;
    for (const int d : memory_order(x.shape.rank(), x.layout))
      walked.add(x.shape[d], d == 1 ? 1 : 0);
    const std::string data = source.input(problem, input);
    return fmt::format("get({}[at(i, {})])", data, source.walk(walked.dims, walked.strides));
  };
  return map_rows(problem, rows_of_groups(x, groups == 0 ? 1 : x.shape[1] / groups), kMoments,
                  {.row = inverse_of_moments(problem),
                   .element = scaled(problem, "((x - s.shift) - s.mean) * inverse", per_channel),
                   .once = {}});
}

Result<Program> lp_norm(const Problem& problem) {
  SN_RETURN_IF_ERROR(check_real(problem));
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  const bool is_euclidean = problem.params.integer("p") == 2;
  return map_rows(
      problem, rows_of(problem.inputs[0], 1u << axis),
      is_euclidean ? sum_fold("double", "(double)x * (double)x") : sum_fold("float", "fabsf(x)"),
      {.row = constant_text(is_euclidean ? "const float norm = (float)sqrt(s.v);\n"
                                         : "const float norm = s.v;\n"),
       .element = constant_text("float y = norm == 0 ? 0 : x / norm;\n"),
       .once = {}});
}

}  // namespace

Status register_normalizations(Registry& registry, CudaDevice& device) {
  constexpr std::pair<const char*, Generate> kLayers[] = {
      {"softmax", &softmax},          {"layer_norm", &layer_norm}, {"rms_norm", &rms_norm},
      {"instance_norm", &group_norm}, {"group_norm", &group_norm}, {"lp_norm", &lp_norm}};
  for (const auto& [layer_type, generate] : kLayers)
    SN_RETURN_IF_ERROR(
        add_generated(registry, device, {layer_type, "nvrtc", generate}, kAllSchemas));
  return {};
}

}  // namespace softneuro::cuda

// concat cpu/direct: in the order of memory, each input is a block of columns of the output, seen
// as a matrix whose rows are the dimensions before the axis; all of them in one parallel loop. Any
// data type; qint8 inputs whose quantisation is not the output's go through tables.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/transpose_tiles.h"
#include "cpu/tensor/memory_order.h"
#include "routines/add_each.h"
#include "routines/run_speed.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrainBytes = 32 * 1024;
constexpr std::int64_t kChunkBytes = 128 * 1024;  // of long rows

class DirectConcatKernel final : public Kernel {
 public:
  struct Part {
    std::size_t input = 0;
    std::int64_t begin = 0, bytes = 0;  // in a row of the output
    bool maps = false;
    Qint8Table table{};
  };

  DirectConcatKernel(std::int64_t rows, std::int64_t row_bytes, std::vector<Part> parts)
      : rows_(rows), row_bytes_(row_bytes), parts_(std::move(parts)) {
    // Long rows are partitioned into chunks, short ones put together.
    rows_per_task_ = std::clamp<std::int64_t>(kGrainBytes / std::max<std::int64_t>(row_bytes, 1), 1,
                                              std::max<std::int64_t>(rows, 1));
    chunks_ = std::max<std::int64_t>(row_bytes / kChunkBytes, 1);
  }

  Status run(Context& context) const noexcept override {
    if (rows_ * row_bytes_ == 0) return {};
    const std::int64_t groups = (rows_ + rows_per_task_ - 1) / rows_per_task_;
    parallel_for(context.pool(), groups * chunks_, [&](std::int64_t task) {
      const std::int64_t first = task / chunks_ * rows_per_task_;
      const std::int64_t rows = std::min(rows_per_task_, rows_ - first);
      const std::int64_t chunk = task % chunks_;
      const std::int64_t begin = row_bytes_ * chunk / chunks_;
      const std::int64_t end = row_bytes_ * (chunk + 1) / chunks_;
      for (const Part& part : parts_) {
        const std::int64_t from = std::max(begin, part.begin);
        const std::int64_t to = std::min(end, part.begin + part.bytes);
        if (to > from) copy(context, part, first, rows, from, to - from);
      }
    });
    return {};
  }

 private:
  // Bytes [begin, begin + count) of the output's rows [first, first + rows), all of one part.
  void copy(Context& context, const Part& part, std::int64_t first, std::int64_t rows,
            std::int64_t begin, std::int64_t count) const noexcept {
    const std::uint8_t* x =
        context.input(part.input).as<std::uint8_t>() + first * part.bytes + (begin - part.begin);
    std::uint8_t* y = context.output(0).as_mutable<std::uint8_t>() + first * row_bytes_ + begin;
    if (!part.maps) return transpose_tiles().copy(1, {x, y, part.bytes, row_bytes_, rows, count});
    for (std::int64_t r = 0; r < rows; ++r)
      qint8_rows().map(part.table, x + r * part.bytes, y + r * row_bytes_, count);
  }

  std::int64_t rows_, row_bytes_;
  std::int64_t rows_per_task_ = 1, chunks_ = 1;
  std::vector<Part> parts_;
};

Result<int> axis_of(const Problem& problem) {
  return normalize_axis(problem.params.integer("axis"), problem.outputs[0].shape.rank());
}

Applicability applicable(const Problem& problem) {
  const DataType type = problem.outputs[0].type;
  const Layout layout = problem.outputs[0].layout;
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    const TensorSpec& input = problem.inputs[i];
    if (!input.present()) return Applicability::no(fmt::format("input {} is left out", i));
    if (input.type != type || input.layout != layout)
      return Applicability::no(fmt::format("input {} has another format than the output", i));
  }
  if (type == DataType::qint8)
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
  if (block_of(layout) == 1) return Applicability::yes();
  const auto axis = axis_of(problem);
  if (!axis.ok()) return Applicability::no(axis.status().message());
  if (problem.outputs[0].shape.rank() >= kMaxRank)
    return Applicability::no("so many dimensions are not supported");
  for (std::size_t i = 0; *axis == 1 && i + 1 < problem.layer_inputs; ++i)
    if (problem.inputs[i].shape[1] % block_of(layout) != 0)
      return Applicability::no(fmt::format("the channels of input {} are not whole blocks", i));
  return Applicability::yes();
}

double speed(const Problem& problem) {
  return run_speed(problem);
}

Result<std::unique_ptr<Kernel>> make_direct_concat(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  const TensorSpec& y = problem.outputs[0];
  const int rank = y.shape.rank();
  const int stored = stored_axis(axis, rank, y.layout);
  const auto bytes = static_cast<std::int64_t>(size_of(y.type));
  std::vector<DirectConcatKernel::Part> parts;
  std::int64_t rows = 1, begin = 0;
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    const Shape x = stored_shape(problem.inputs[i].shape, y.layout);
    rows = x.elements(0, stored);
    DirectConcatKernel::Part part;
    part.input = i;
    part.begin = begin;
    part.bytes = x.elements(stored, x.rank()) * bytes;
    begin += part.bytes;
    if (y.type == DataType::qint8) {
      part.table = make_output_table(problem, i);
      part.maps = !is_identity(part.table);
    }
    if (part.bytes > 0) parts.push_back(part);
  }
  return make_kernel<DirectConcatKernel>(rows, begin, std::move(parts));
}

}  // namespace

Status register_routine_concat_cpu_direct(Registry& registry) {
  return add_routines(registry, {"concat"}, kSchemas, "direct",
                      {.facts = {.default_rank = 10},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8,
                       .speed = speed,
                       .create = make_direct_concat});
}

}  // namespace softneuro

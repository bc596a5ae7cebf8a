#include "cpu/tensor/broadcast_walk.h"

#include <vector>

#include "core/base/element.h"
#include "softneuro/tensor.h"

namespace softneuro {
namespace {

// An operand's strides over the output's logical dimensions; axis 1 counts blocks, and `lane`
// channels within one, where the output is blocked.
struct LogicalStrides {
  Shape strides;
  std::int64_t lane = 0;
};

// Of an operand in the output's own, non-plain layout; ranks are equal.
LogicalStrides same_layout_strides(const Shape& shape, Layout layout) {
  LogicalStrides result{shape};
  const std::int64_t block = block_of(layout);
  std::int64_t step = block > 1 ? block : shape[1];
  for (int i = shape.rank() - 1; i >= 2; --i) {
    result.strides[i] = shape[i] == 1 ? 0 : step;
    step *= shape[i];
  }
  if (block > 1) {
    result.strides[1] = shape[1] == 1 ? 0 : step;
    result.lane = shape[1] == 1 ? 0 : 1;
    step *= (shape[1] + block - 1) / block;
  } else {
    result.strides[1] = shape[1] == 1 ? 0 : 1;
  }
  result.strides[0] = shape[0] == 1 ? 0 : step;
  return result;
}

LogicalStrides plain_strides(const Shape& shape, const Shape& output, Layout layout) {
  LogicalStrides result{broadcast_strides(shape, output)};
  if (const std::int64_t block = block_of(layout); block > 1) {
    result.lane = result.strides[1];
    result.strides[1] *= block;
  }
  return result;
}

// The output's dimensions, and an operand's strides, in the order of memory.
using Steps = std::vector<std::int64_t>;

Steps in_memory_order(const Shape& logical, std::int64_t lane, Layout layout) {
  Steps steps;
  if (layout == Layout::plain) {
    steps.assign(logical.dims().begin(), logical.dims().end());
    return steps;
  }
  const bool blocked = block_of(layout) > 1;
  steps.push_back(logical[0]);
  if (blocked) steps.push_back(logical[1]);
  for (int i = 2; i < logical.rank(); ++i) steps.push_back(logical[i]);
  steps.push_back(blocked ? lane : logical[1]);
  return steps;
}

}  // namespace

Result<BroadcastWalk> BroadcastWalk::make(const Shape& output, Layout layout,
                                          std::span<const Operand> operands) {
  if (layout != Layout::plain && output.rank() < 2)
    return unsupported("a tensor of shape {} has no layout {}", output.str(), to_string(layout));
  const std::int64_t block = block_of(layout);
  Shape blocks = output;  // axis 1 counts blocks
  if (block > 1) blocks[1] = (output[1] + block - 1) / block;
  const Steps dims = in_memory_order(blocks, block, layout);

  std::vector<Steps> strides;
  for (const Operand& operand : operands) {
    LogicalStrides logical;
    if (operand.layout == Layout::plain)
      logical = plain_strides(operand.shape, output, layout);
    else if (operand.layout == layout && operand.shape.rank() == output.rank())
      logical = same_layout_strides(operand.shape, layout);
    else
      return unsupported("an operand of shape {} in layout {} for an output of shape {} in {}",
                         operand.shape.str(), to_string(operand.layout), output.str(),
                         to_string(layout));
    strides.push_back(in_memory_order(logical.strides, logical.lane, layout));
  }

  BroadcastWalk walk;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    bool joins = walk.rank > 0;
    for (std::size_t k = 0; k < strides.size() && joins; ++k)
      joins = walk.strides[k][walk.rank - 1] == strides[k][i] * dims[i];
    if (!joins) walk.dims[walk.rank++] = 1;
    walk.dims[walk.rank - 1] *= dims[i];
    for (std::size_t k = 0; k < strides.size(); ++k) walk.strides[k][walk.rank - 1] = strides[k][i];
  }
  // Rows of one element where an operand is neither dense nor broadcast along the last dimension.
  bool is_row = walk.rank > 0;
  for (std::size_t k = 0; k < strides.size() && is_row; ++k)
    is_row = walk.strides[k][walk.rank - 1] <= 1;
  if (!is_row) walk.dims[walk.rank++] = 1;
  return walk;
}

std::int64_t BroadcastWalk::at(int operand, std::int64_t offset) const noexcept {
  std::int64_t element = 0;
  for (int i = rank - 1; i > 0; --i) {
    element += offset % dims[i] * strides[operand][i];
    offset /= dims[i];
  }
  return element + offset * strides[operand][0];
}

std::int64_t stored_elements(const Shape& shape, Layout layout) noexcept {
  return storage_bytes(DataType::uint8, shape, layout);
}

ChannelPadding::ChannelPadding(const Shape& shape, Layout layout) noexcept {
  block_ = block_of(layout);
  if (block_ == 1 || shape.rank() < 2) return;
  used_ = shape[1] % block_;
  blocks_ = (shape[1] + block_ - 1) / block_;
  block_elements_ = block_ * shape.elements(2, shape.rank());
}

}  // namespace softneuro

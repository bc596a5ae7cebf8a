#include "plugins/cuda/chain.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "cpu/tensor/broadcast_walk.h"

namespace softneuro::cuda {
namespace {

constexpr unsigned kThreads = 256;  // of a block: several blocks fit a multiprocessor of any GPU
constexpr unsigned kBlocksPerMultiprocessor = 32;  // the most: then threads take several elements
constexpr std::int64_t kMostNarrow = std::int64_t{1} << 31;  // elements that 32 bits count

struct Form {
  ChainOperand operand;
  ChainWalk walk;
};

Result<Form> form_of(const Shape& operand, const Shape& output) {
  const BroadcastWalk::Operand walked{operand, Layout::plain};
  SN_ASSIGN_OR_RETURN(const BroadcastWalk walk,
                      BroadcastWalk::make(output, Layout::plain, {&walked, 1}));
  Form form{};
  if (walk.rank == 1) {
    form.operand.form =
        walk.is_row_constant(0) ? ChainOperand::Form::scalar : ChainOperand::Form::same;
    return form;
  }
  if (walk.rank > kMaxChainRank)
    return unsupported("an operand that broadcasts along {} dimensions", walk.rank);
  form.operand.form = ChainOperand::Form::strided;
  form.operand.rank = walk.rank;
  std::copy_n(walk.dims, walk.rank, form.walk.dims);
  std::copy_n(walk.strides[0], walk.rank, form.walk.strides);
  return form;
}

}  // namespace

Applicability Chain::supports(const Problem& problem, const std::vector<PostOp>& ops) {
  if (problem.outputs[0].type != DataType::float32)
    return Applicability::no("the output is not float32");
  const auto binary = [](const PostOp& op) { return op.kind == PostOp::Kind::binary; };
  // Two of the layer, and those of all post-ops.
  if (2 + std::ranges::count_if(problem.post_ops, binary) > kMaxChainOperands)
    return Applicability::no("so many operands are not supported");
  for (const PostOp& op : ops) {
    if (!is_chain_op(op))
      return Applicability::no("there is no function " + op.str() + " of floating-point tensors");
    if (op.kind == PostOp::Kind::unary) continue;
    const TensorSpec& operand = problem.inputs[op.input];
    if (operand.type != DataType::float32 || operand.layout != Layout::plain)
      return Applicability::no("an operand is not plain float32");
  }
  return Applicability::yes();
}

Result<std::uint32_t> Chain::add_operand(const Problem& problem, int input) {
  const Shape& output = problem.outputs[0].shape;
  const Shape& shape = input < 0 ? output : problem.inputs[static_cast<std::size_t>(input)].shape;
  SN_ASSIGN_OR_RETURN(const Form form, form_of(shape, output));
  if (form.operand.form == ChainOperand::Form::strided) walks_.push_back(form.walk);
  program_.operands.push_back(form.operand);
  inputs_.push_back(input);
  return static_cast<std::uint32_t>(inputs_.size() - 1);
}

Result<Chain> Chain::create(Gpu& gpu, const Nvrtc& compiler, const Problem& problem, int first,
                            const std::vector<PostOp>& ops) {
  Chain chain(gpu);
  chain.count_ = problem.outputs[0].shape.elements();
  chain.program_.is_wide = chain.count_ >= kMostNarrow;
  SN_RETURN_IF_ERROR(chain.add_operand(problem, first).status());
  for (PostOp op : ops) {
    if (op.kind == PostOp::Kind::binary) {
      SN_ASSIGN_OR_RETURN(op.input, chain.add_operand(problem, static_cast<int>(op.input)));
    }
    chain.program_.ops.push_back(op);
  }
  SN_ASSIGN_OR_RETURN(chain.kernel_,
                      gpu.kernel(compiler, chain_source(chain.program_), kChainKernel));
  return chain;
}

Status Chain::launch(Context& context, const PackedConstants& constants) const noexcept {
  // Laid out as chain_source.h says.
  alignas(8)
      std::byte argument[(kMaxChainOperands + 2) * 8 + kMaxChainOperands * sizeof(ChainWalk)];
  std::byte* end = argument;
  const auto put = [&](const auto& value) {
    std::memcpy(end, &value, sizeof(value));
    end += sizeof(value);
  };
  put(context.output(0).data);
  for (const int input : inputs_)
    put(input < 0 ? context.output(0).data
                  : constants.data(context, static_cast<std::size_t>(input)));
  put(count_);
  for (const ChainWalk& walk : walks_) put(walk);
  const std::int64_t most = std::int64_t{kBlocksPerMultiprocessor} * gpu_->multiprocessors();
  const auto blocks = static_cast<unsigned>(std::min((count_ + kThreads - 1) / kThreads, most));
  return static_cast<CudaStream&>(*context.stream()).launch(kernel_, blocks, kThreads, argument);
}

}  // namespace softneuro::cuda

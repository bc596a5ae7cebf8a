#include "cpu/post_ops/post_ops.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/registry.h"
#include "cpu/post_ops/unfused_post_ops.h"

namespace softneuro {
namespace {

// Where the element of a logical index stands in memory.
std::int64_t stored_at(const Shape& index, const Shape& shape, Layout layout) {
  if (layout == Layout::plain) return offset_of(index, strides_of(shape));
  const std::int64_t block = block_of(layout);
  const std::int64_t blocks = block > 1 ? (shape[1] + block - 1) / block : 1;
  std::int64_t at = index[0] * blocks + (block > 1 ? index[1] / block : 0);
  for (int d = 2; d < shape.rank(); ++d) at = at * shape[d] + index[d];
  return block > 1 ? at * block + index[1] % block : at * shape[1] + index[1];
}

TensorSpec spec_of(const Tensor& tensor, bool constant) {
  TensorSpec spec;
  spec.type = tensor.data_type();
  spec.layout = tensor.layout();
  spec.shape = tensor.shape();
  spec.constant = constant;
  if (constant) spec.value = tensor;
  return spec;
}

Tensor random_tensor(DataType type, const Shape& shape, Layout layout, std::uint32_t seed) {
  Tensor tensor = Tensor::create(type, shape, default_allocator(), layout).value();
  std::memset(tensor.mutable_data(), 0, tensor.bytes());
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> values(-6, 6);
  const TensorView view{type, layout, shape, tensor.mutable_data()};
  Shape index = shape;
  for (int d = 0; d < index.rank(); ++d) index[d] = 0;
  if (tensor.elements() > 0) do {
      store(view, stored_at(index, shape, layout), values(random));
    } while (next_index(index, shape));
  return tensor;
}

struct Operand {
  Shape shape;
  bool constant;
};

// A problem with one input (what the base makes) and a post-op per operand, unary ones between.
struct Fused {
  Problem problem;
  std::vector<Tensor> tensors;
  std::vector<TensorView> inputs;

  Fused(DataType type, const Shape& shape, Layout layout, const std::vector<Operand>& operands) {
    problem.type = builtin_layer_types().find("unary");
    problem.params.set("op", std::string("linear"));
    problem.params.set("alpha", 1.0);
    problem.params.set("beta", 0.0);
    problem.layer_inputs = 1;
    tensors.push_back(random_tensor(type, shape, layout, 1));
    problem.inputs.push_back(spec_of(tensors[0], false));
    problem.outputs.push_back(problem.inputs[0]);
    const BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::max, BinaryOp::mul};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool constant = operands[i].constant;
      tensors.push_back(random_tensor(type, operands[i].shape, constant ? Layout::plain : layout,
                                      static_cast<std::uint32_t>(i + 2)));
      problem.inputs.push_back(spec_of(tensors.back(), constant));
      PostOp op;
      op.kind = PostOp::Kind::binary;
      op.binary = ops[i % 4];
      op.input = static_cast<std::uint32_t>(i + 1);
      op.swapped = i % 2 == 1;
      problem.post_ops.push_back(op);
      PostOp clip;
      clip.unary = UnaryOp::clip;
      clip.alpha = -5;
      clip.beta = 9;
      problem.post_ops.push_back(clip);
    }
    for (const Tensor& t : tensors)
      inputs.push_back({t.data_type(), t.layout(), t.shape(), const_cast<void*>(t.data())});
  }

  // What the post-ops mean, by logical index.
  double expected(const Shape& index) const {
    const Shape& shape = problem.outputs[0].shape;
    double y = load(inputs[0], stored_at(index, shape, inputs[0].layout));
    for (const PostOp& op : problem.post_ops) {
      if (op.kind == PostOp::Kind::unary) {
        y = apply(op.unary, y, op.alpha, op.beta);
        continue;
      }
      const TensorView& x = inputs[op.input];
      Shape place;
      for (int d = 0; d < x.shape.rank(); ++d) {
        const int at = d + shape.rank() - x.shape.rank();
        place.push_back(x.shape[d] == 1 ? 0 : index[at]);
      }
      const double value = load(x, stored_at(place, x.shape, x.layout));
      y = op.swapped ? apply(op.binary, value, y) : apply(op.binary, y, value);
    }
    return y;
  }
};

void check(const Fused& fused, const TensorView& actual) {
  const Shape& shape = fused.problem.outputs[0].shape;
  const std::int64_t elements = stored_elements(shape, actual.layout);
  std::vector<bool> is_real(static_cast<std::size_t>(elements));
  Shape index = shape;
  for (int d = 0; d < index.rank(); ++d) index[d] = 0;
  int wrong = 0;
  do {
    const std::int64_t at = stored_at(index, shape, actual.layout);
    is_real[static_cast<std::size_t>(at)] = true;
    wrong += load(actual, at) != fused.expected(index);
  } while (next_index(index, shape));
  for (std::int64_t i = 0; i < elements; ++i)
    if (!is_real[static_cast<std::size_t>(i)]) wrong += load(actual, i) != 0;
  CHECK(wrong == 0);
}

// Applies the program in chunks of an awkward length.
void check_program(const Fused& fused, std::int64_t chunk) {
  const auto program = PostOpProgram::create(fused.problem);
  INFO(program.status().message());
  REQUIRE(program.ok());
  Tensor y = fused.tensors[0].clone().value();
  const TensorView view{y.data_type(), y.layout(), y.shape(), y.mutable_data()};
  const std::int64_t elements = stored_elements(y.shape(), y.layout());
  const bool fast = PostOpProgram::supports(fused.problem).ok();
  CHECK(fast == (y.data_type() == DataType::float32));
  for (std::int64_t offset = 0; offset < elements; offset += chunk) {
    const std::int64_t count = std::min(chunk, elements - offset);
    if (fast)
      program->apply(fused.inputs, view.as_mutable<float>() + offset, offset, count);
    else
      program->apply_any(fused.inputs, view, offset, count);
  }
  check(fused, view);
}

TEST_CASE("post-ops: every broadcast form in every layout", "[post_ops]") {
  const std::vector<Operand> operands = {
      {{19, 1, 1}, true},      // per channel
      {{2, 19, 5, 7}, false},  // residual
      {{1}, true},             // scalar
      {{1, 19, 1, 1}, false},
      {{7}, true},  // trailing
      {{2, 1, 5, 1}, false},
      {{19, 5, 7}, true},
      {{2, 1, 1, 1}, true},
  };
  for (const DataType type : {DataType::float32, DataType::float64, DataType::int32})
    for (const Layout layout : {Layout::plain, Layout::channels_last, Layout::nchw8c,
                                Layout::nchw16c, Layout::blocked(12)})
      for (const std::int64_t chunk : {1, 13, 64, 350, 100000}) {
        INFO(to_string(type) << " " << to_string(layout) << " in chunks of " << chunk);
        for (const Operand& operand : operands)
          check_program(Fused(type, {2, 19, 5, 7}, layout, {operand}), chunk);
        check_program(Fused(type, {2, 19, 5, 7}, layout, operands), chunk);
      }
}

TEST_CASE("post-ops: shapes with dimensions of one", "[post_ops]") {
  for (const Layout layout :
       {Layout::plain, Layout::channels_last, Layout::nchw16c, Layout::blocked(32)})
    for (const Shape& shape : {Shape{1, 16, 1, 1}, Shape{3, 1, 2, 2}, Shape{1, 33, 1, 9}}) {
      INFO(shape.str() << " " << to_string(layout));
      check_program(Fused(DataType::float32, shape, layout,
                          {{Shape{shape[1], 1, 1}, true}, {shape, false}, {Shape{}, true}}),
                    24);
    }
  check_program(Fused(DataType::float32, {6, 10}, Layout::plain, {{{10}, true}, {{6, 1}, false}}),
                7);
  check_program(Fused(DataType::float32, {}, Layout::plain, {{{}, true}}), 7);
}

// As the kernels of libraries are: it has a state, and memory that the library keeps.
class Copier final : public Kernel {
 public:
  int in_place_input() const noexcept override { return 0; }
  Result<std::unique_ptr<KernelState>> make_state() const override {
    return std::make_unique<KernelState>();
  }
  Status run(Context& context) const noexcept override {
    if (context.input_count() != 1) return Status(StatusCode::internal, "foreign inputs");
    if (context.state() == nullptr) return Status(StatusCode::internal, "no state");
    const std::int64_t count = stored_elements(context.input(0).shape, context.input(0).layout);
    for (std::int64_t i = 0; i < count; ++i)
      context.output(0).as_mutable<float>()[i] = context.input(0).as<float>()[i];
    return {};
  }
};

class InlinePool final : public ThreadPool {
 public:
  int concurrency() const noexcept override { return 1; }
  void run(std::size_t count, Task task, void* context) noexcept override {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }
};

TEST_CASE("post-ops: a tail behind any kernel", "[post_ops]") {
  const Fused fused(DataType::float32, {2, 19, 30, 40}, Layout::nchw8c,
                    {{{19, 1, 1}, true}, {{2, 19, 1, 1}, false}});
  auto tail = append_post_ops(std::make_unique<Copier>(), fused.problem);
  REQUIRE(tail.ok());
  CHECK((*tail)->in_place_input() == 0);
  Tensor y = fused.tensors[0].clone().value();
  std::memset(y.mutable_data(), 0xff, y.bytes());
  TensorView output{y.data_type(), y.layout(), y.shape(), y.mutable_data()};
  InlinePool pool;
  Context context(fused.inputs, {&output, 1}, nullptr, pool);
  const std::unique_ptr<KernelState> state = *(*tail)->make_state();
  context.set_state(state.get());
  REQUIRE((*tail)->run(context).ok());
  check(fused, output);
}

TEST_CASE("post-ops: what may be the same tensor is not overwritten", "[post_ops]") {
  const Fused residual(DataType::float32, {1, 8, 4, 4}, Layout::plain, {{{1, 8, 4, 4}, false}});
  CHECK_FALSE(post_ops_allow_in_place(residual.problem, 0));
  CHECK((*append_post_ops(std::make_unique<Copier>(), residual.problem))->in_place_input() == -1);
}

TEST_CASE("post-ops: refusals", "[post_ops]") {
  Fused fused(DataType::float32, {1, 20, 4, 4}, Layout::nchw8c, {{{1, 20, 4, 4}, false}});
  fused.problem.inputs[1].layout = Layout::channels_last;
  CHECK_FALSE(PostOpProgram::supports(fused.problem).ok());
  CHECK_FALSE(PostOpProgram::create(fused.problem).ok());
  Fused predicate(DataType::float32, {4}, Layout::plain, {{{4}, false}});
  predicate.problem.post_ops[0].binary = BinaryOp::less;
  CHECK_FALSE(PostOpProgram::supports(predicate.problem).ok());
  CHECK_FALSE(append_post_ops(std::make_unique<Copier>(), predicate.problem).ok());
}

}  // namespace
}  // namespace softneuro

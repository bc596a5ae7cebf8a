// Layouts that no built-in routine has: a convolution in blocks of 32 channels and a softmax in
// blocks of 4, of an application, in nets of built-in routines.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/base/error.h"
#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "core/routine/registry.h"
#include "cpu/tensor/element_place.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "small_net.h"
#include "softneuro/tune.h"
#include "support/simple_routine.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr const char* kConv = "cpu:float32:nchw32c/of_32";
constexpr const char* kSoftmax = "cpu:float32:nchw4c/of_4";
const Shape kImage{1, 3, 12, 12};

void copy(const TensorView& from, const TensorView& to) {
  for (std::int64_t i = 0; i < from.elements(); ++i)
    to.as_mutable<float>()[element_place(i, to.shape, to.layout)] =
        from.as<float>()[element_place(i, from.shape, from.layout)];
}

// A kernel for plain tensors, on such in blocks.
class BlockedKernel final : public Kernel {
 public:
  explicit BlockedKernel(std::unique_ptr<Kernel> work) : work_(std::move(work)) {}
  std::size_t workspace_bytes() const noexcept override { return work_->workspace_bytes(); }
  Status run(Context& context) const noexcept override {
    std::vector<std::vector<float>> memory;
    const auto plain = [&](TensorView view) {
      memory.emplace_back(static_cast<std::size_t>(view.elements()));
      view.layout = Layout::plain;
      view.data = memory.back().data();
      return view;
    };
    std::vector<TensorView> inputs(context.inputs().begin(), context.inputs().end());
    for (TensorView& input : inputs) {
      if (input.layout == Layout::plain) continue;
      const TensorView blocked = input;
      input = plain(blocked);
      copy(blocked, input);
    }
    const TensorView& y = context.output(0);
    TensorView output = plain(y);
    Context inside(inputs, {&output, 1}, context.workspace(), context.pool());
    SN_RETURN_IF_ERROR(work_->run(inside));
    std::memset(y.data, 0, static_cast<std::size_t>(storage_bytes(y.type, y.shape, y.layout)));
    copy(output, y);
    return {};
  }

 private:
  std::unique_ptr<Kernel> work_;
};

// cpu/naive in another layout.
class InBlocks final : public SimpleRoutine {
 public:
  using SimpleRoutine::SimpleRoutine;
  RoutineFacts facts() const override { return {.default_rank = 1}; }
  Applicability applicable(const Problem& problem) const override {
    return problem.inputs[0].type == DataType::float32 ? Applicability::yes()
                                                       : Applicability::no("needs float32");
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext& context) const override {
    Problem plain = problem;
    for (TensorSpec& spec : plain.inputs) spec.layout = Layout::plain;
    for (TensorSpec& spec : plain.outputs) spec.layout = Layout::plain;
    const Routine& naive = *context.registry().find(layer_type(), "cpu/naive");
    SN_ASSIGN_OR_RETURN(const ImplementationPtr made, context.implement(naive, std::move(plain)));
    SN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> work, made->create({}));
    return make_kernel<BlockedKernel>(std::move(work));
  }
};

void add_routines(const Net& net) {
  auto& registry = const_cast<Registry&>(NetAccess::registry(net));
  REQUIRE(registry.add(std::make_unique<InBlocks>("conv2", kConv)).ok());
  REQUIRE(registry.add(std::make_unique<InBlocks>("softmax", kSoftmax)).ok());
}

NetOptions one_thread() {
  NetOptions options;
  options.threads = 1;
  return options;
}

// 3 → 20 channels, neither of which are whole blocks; the softmax has an operand of a post-op.
Net make_net() {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(kImage));
  const TensorId stem = b.conv("stem", image, 3, 20, 3);
  Params axis;
  axis.set("axis", std::int64_t{1});
  const TensorId soft = b.layer("softmax", "soft", {stem}, axis);
  b.graph.outputs = {b.conv("last", soft, 20, 20, 3)};
  PostOp mul;
  mul.kind = PostOp::Kind::binary;
  mul.binary = BinaryOp::mul;
  mul.input = 1;
  Layer& layer = b.graph.layers()[1];
  layer.post_ops = {mul};
  layer.inputs.push_back(stem);
  return NetAccess::from_graph(std::move(b.graph), one_thread()).value();
}

Tensor run(const Net& net) {
  NamedTensors outputs = net.run({{"image", random_image(3)}}).value();
  return outputs.begin()->second.clone().value();
}

}  // namespace

TEST_CASE("open layout: routines in blocks of 32 and 4 channels run in a plan that is not tuned") {
  const Tensor expected = run(make_net());
  const Net net = make_net();
  add_routines(net);
  CHECK(relative_error(expected, run(net)) == 0);  // default plans take no blocks
  const auto& runtime = NetAccess::runtime(net);
  const auto graph = std::make_shared<const Graph>(NetAccess::graph(net));
  RoutinePath path;
  for (const LayerProblem& layer : infer_problems(runtime, graph, {&kImage, 1}).value().layers) {
    const std::string& type = layer.problem.type->name;
    const Routine* const routine =
        runtime->registry().find(type, type == "conv2" ? kConv : kSoftmax);
    REQUIRE(routine != nullptr);
    const FormatTuple formats = routine->formats(layer.problem).at(0);
    const auto made =
        runtime->routine_context().implement(*routine, with_formats(layer.problem, formats));
    INFO(made.status().message());
    REQUIRE(made.ok());
    path.layers[layer.layer->id] = {routine->descriptor().str(), (*made)->default_params(), formats,
                                    0};
  }
  ReplacedChoices replaced;
  const auto plan = build_plan(runtime, graph, {&kImage, 1}, path, &replaced).value();
  CHECK(replaced.layers.empty());
  std::size_t blocked = 0;
  for (const PlannedTensor& tensor : impl_of(*plan).tensors) {
    const std::int64_t block = block_of(tensor.format.layout);
    if (block == 1) continue;
    ++blocked;
    const std::int64_t channels = (tensor.shape[1] + block - 1) / block * block;
    CHECK(tensor.bytes == static_cast<std::size_t>(channels) * 12 * 12 * sizeof(float));
  }
  CHECK(blocked == 6);  // two of each layer: 32 → 32 | 4 → 4 | 32 → 32
  Session session = Session::create(plan).value();
  const Tensor input = random_image(3);
  std::vector<Tensor> outputs(1);
  REQUIRE(session.run({&input, 1}, outputs).ok());
  CHECK(relative_error(expected, outputs[0]) < 1e-5);
}

TEST_CASE("open layout: a net is tuned to such routines, saved, and loaded to the same plan") {
  const TemporaryFolder folder;
  Net net = make_net();
  const Tensor expected = run(net);
  add_routines(net);
  TuneOptions options;
  options.cache.disabled = true;
  options.selection.pin = {{"stem", kConv}, {"soft", kSoftmax}, {"last", kConv}};
  const auto report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  const std::string tuned = net.plan().value()->describe();
  for (const char* const routine : {kConv, kSoftmax}) CHECK_THAT(tuned, Catch::Contains(routine));
  const Tensor output = run(net);
  CHECK(relative_error(expected, output) < 1e-5);
  REQUIRE(net.save(folder.file("tuned.dnn")).ok());

  const Net loaded = Net::load(folder.file("tuned.dnn"), one_thread()).value();
  add_routines(loaded);
  CHECK(loaded.plan().value()->describe() == tuned);
  CHECK(relative_error(output, run(loaded)) == 0);

  // Without the application's routines it runs on others.
  const Net elsewhere = Net::load(folder.file("tuned.dnn"), one_thread()).value();
  CHECK_THAT(elsewhere.plan().value()->describe(), !Catch::Contains("nchw32c"));
  CHECK(relative_error(expected, run(elsewhere)) < 1e-5);
}

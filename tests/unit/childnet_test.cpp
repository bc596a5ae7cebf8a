// Childnets: what is inside, how it is named, what is packed, and nets within nets.
#include "core/childnet/childnet.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "core/childnet/childnet_kernel.h"
#include "core/childnet/childnet_text.h"
#include "core/routine/evaluate.h"
#include "routines/builtin.h"
#include "support/one_layer.h"
#include "support/tensor_difference.h"
#include "support/wrapped_conv.h"

namespace softneuro {
namespace {

using test::params;
using test::Wrapped;

const Registry& registry() {
  static const Registry built_in = make_builtin_registry().value();
  return built_in;
}

Tensor filled(const Shape& shape, Layout layout = Layout::plain) {
  Tensor tensor = Tensor::create(DataType::float32, shape, default_allocator(), layout).value();
  int i = 0;
  for (float& value : tensor.mutable_values<float>())
    value = static_cast<float>((i++ * 37) % 23 - 11) / 8;
  return tensor;
}

// A 3x3 convolution of 16 channels to 32 on 9x10, in nhwc, with bias, an add and a relu behind it.
struct Convolution {
  Problem problem;
  std::vector<Tensor> inputs;

  Convolution() {
    Layer layer;
    layer.type = registry().layer_types().find("conv2");
    layer.name = "tested";
    layer.layer_inputs = 3;
    layer.outputs = {0};
    layer.params = params({{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    PostOp add, relu;
    add.kind = PostOp::Kind::binary;
    add.input = 3;
    layer.post_ops = {add, relu};
    inputs = {filled({1, 16, 9, 10}, Layout::channels_last), filled({32, 16, 3, 3}), filled({32}),
              filled({1, 32, 9, 10}, Layout::channels_last)};
    std::vector<TensorSpec> specs;
    for (const Tensor& input : inputs) {
      TensorSpec spec;
      spec.type = DataType::float32;
      spec.shape = input.shape();
      spec.layout = input.layout();
      spec.constant = &input == &inputs[1] || &input == &inputs[2];
      if (spec.constant) spec.value = input;
      specs.push_back(std::move(spec));
    }
    problem = make_problem(layer, std::move(specs)).value();
    problem.outputs[0].layout = Layout::channels_last;
  }

  std::shared_ptr<const ChildnetImplementation> implement(const Routine& routine) const {
    const ImplementationPtr made = RoutineContext(registry()).implement(routine, problem).value();
    REQUIRE(made->as_childnet() != nullptr);
    return {made, made->as_childnet()};
  }

  // Runs twice on poisoned memory, each with a state of its own; both must give the same.
  std::vector<float> run(const Implementation& implementation, const RoutineParams& chosen) const {
    const PackedWeights packed = implementation.pack_weights(chosen, default_allocator()).value();
    const auto kernel = implementation.create(chosen, packed).value();
    const auto pool = create_thread_pool(2).value();
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(view_of(input));
    std::vector<float> results[2];
    for (std::vector<float>& result : results) {
      Tensor y = Tensor::create(DataType::float32, problem.outputs[0].shape, default_allocator(),
                                Layout::channels_last)
                     .value();
      Tensor workspace =
          Tensor::create(DataType::uint8,
                         Shape{static_cast<std::int64_t>(kernel->workspace_bytes()) + 1})
              .value();
      std::memset(y.mutable_data(), 0xff, y.bytes());
      std::memset(workspace.mutable_data(), 0xff, workspace.bytes());
      std::vector<TensorView> outputs = {view_of(y)};
      Context context(views, outputs, static_cast<std::byte*>(workspace.mutable_data()), *pool);
      const auto state = kernel->make_state().value();
      context.set_state(state.get());
      REQUIRE(kernel->run(context).ok());
      result.assign(y.values<float>().begin(), y.values<float>().end());
    }
    CHECK(results[0] == results[1]);
    return results[0];
  }
};

const Routine& winograd() {
  const Routine* routine = registry().find("conv2", "cpu:float32:nhwc/wgnet");
  REQUIRE(routine != nullptr);
  return *routine;
}

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  float largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  CHECK(largest > 1);  // of a result of zeros this would say nothing
  CHECK(difference <= 1e-4f * largest);
}

}  // namespace

TEST_CASE("childnet: its layers, with what depends on constants alone folded away") {
  const Convolution c;
  const auto net = c.implement(winograd());
  const RoutineParams usual = net->default_params();
  const ExpandedChildnet& expanded = *net->expand(usual).value();
  REQUIRE(expanded.folded.size() == 1);
  CHECK(expanded.graph.layers()[expanded.folded[0]].type->name == "wgweights");
  REQUIRE(expanded.layers.size() == 3);
  const char* const types[] = {"wgenc", "wgconv", "wgdec"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(expanded.layers[i].problem.type->name == types[i]);
    REQUIRE(expanded.layers[i].implementation != nullptr);
    CHECK(expanded.layers[i].problem.outputs[0].layout == Layout::channels_last);
  }
  // Post-ops have joined the last layer, with their operand as an input from outside.
  const Problem& last = expanded.layers[2].problem;
  REQUIRE(last.post_ops.size() == 2);
  CHECK(expanded.outer_inputs[expanded.graph.layers().back().inputs[last.post_ops[0].input]] == 3);
  // Weights that are known later cannot be folded, and nothing transforms them in this layout.
  Convolution variable;
  variable.problem.inputs[1].constant = false;
  variable.problem.inputs[1].value = Tensor();
  const auto variant = winograd().implement(std::make_shared<const Problem>(variable.problem),
                                            RoutineContext(registry()));
  REQUIRE(variant.ok());
  CHECK((*variant)->applicable().reason().find("wgweights") != std::string::npos);
}

TEST_CASE("childnet: what is chosen inside is named by a text that reads back") {
  const Convolution c;
  const auto net = c.implement(winograd());
  RoutineParams chosen = net->default_params();
  chosen.set("inner", std::string("{wgconv=cpu:float32:nhwc/gemm{rows=24};wgdec="
                                  "cpu:float32:nhwc/direct{tiles=16}}"));
  const auto expanded = net->expand(chosen).value();
  CHECK(expanded->layers[1].params.integer("rows") == 24);
  CHECK(expanded->layers[2].params.integer("tiles") == 16);
  std::vector<InnerChoice> choices;
  for (const ChildnetLayer& layer : expanded->layers)
    choices.push_back({layer.problem.layer_name, layer.implementation->routine().descriptor().str(),
                       print_params(layer.params)});
  chosen.set("inner", print_inner(choices));
  const auto again = net->expand(chosen).value();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(&again->layers[i].implementation->routine() ==
          &expanded->layers[i].implementation->routine());
    CHECK(again->layers[i].params == expanded->layers[i].params);
  }
}

TEST_CASE("childnet: a malformed choice is refused, and says what is wrong") {
  const Convolution c;
  const char* const wrong[] = {"wgconv=cpu/gemm",
                               "{wgconv}",
                               "{=cpu/gemm}",
                               "{wgconv=}",
                               "{wgconv=cpu:float32:nhwc/gemm{rows=24}",
                               "{wgconv=cpu:float32:nhwc/gemm}}",
                               "{wgconv=cpu:float32:nhwc/gemm{rows=23}}",
                               "{wgconv=cpu:float32:nhwc/gemm{columns=24}}",
                               "{wgconv=cpu:float32:nhwc/gemm{rows=24}x}",
                               "{wgconv=cpu/gemm}",
                               "{wgconv=cpu/none}",
                               "{wgweights=cpu/naive}",
                               "{nobody=cpu/naive}",
                               "{wgconv=cpu/naive{{{{{{{{{{}}}}}}}}}}}"};
  for (const char* const text : wrong) {
    INFO(text);
    const auto net = c.implement(winograd());
    RoutineParams chosen = net->default_params();
    chosen.set("inner", std::string(text));
    const auto expanded = net->expand(chosen);
    CHECK(expanded.status().code() == StatusCode::invalid_argument);
    CHECK_FALSE(expanded.status().message().empty());
    CHECK_FALSE(net->pack_weights(chosen, default_allocator()).ok());
  }
}

TEST_CASE("childnet: a net in a net gives what the net gives") {
  const Convolution c;
  const auto net = c.implement(winograd());
  const std::vector<float> expected = c.run(*net, net->default_params());
  const Wrapped routine;
  const auto wrapped = c.implement(routine);
  RoutineParams chosen = wrapped->default_params();
  CHECK(chosen.text("inner").empty());
  check_close(expected, c.run(*wrapped, chosen));  // by the best routine for conv2 itself
  chosen.set("inner",
             std::string("{conv=cpu:float32:nhwc/wgnet{inner={wgconv=cpu:float32:nhwc/gemm{rows="
                         "384}},tile_size=6}}"));
  const ExpandedChildnet& expanded = *wrapped->expand(chosen).value();
  REQUIRE(expanded.layers.size() == 1);
  CHECK(expanded.layers[0].implementation->routine().descriptor().str() ==
        "cpu:float32:nhwc/wgnet");
  CHECK(expanded.layers[0].params.text("inner") == "{wgconv=cpu:float32:nhwc/gemm{rows=384}}");
  CHECK(c.run(*wrapped, chosen) == expected);
}

TEST_CASE("childnet: tensors inside share one workspace") {
  const Convolution c;
  const auto net = c.implement(winograd());
  const RoutineParams usual = net->default_params();
  const ExpandedChildnet& expanded = *net->expand(usual).value();
  const PackedWeights packed = net->pack_weights(usual, default_allocator()).value();
  const auto kernel = net->create(usual, packed).value();
  const auto bytes = [&](std::size_t layer) {
    return static_cast<std::size_t>(expanded.layers[layer].problem.outputs[0].shape.elements()) * 4;
  };
  // v and the products at once, and the packed copy of v that wgconv makes; never the output.
  CHECK(kernel->workspace_bytes() >= bytes(0) + bytes(1));
  CHECK(kernel->workspace_bytes() <= 3 * bytes(0) + bytes(1));
}

TEST_CASE("childnet: transformed weights are kept once, and of a size that is known") {
  const Convolution c;
  const auto net = c.implement(winograd());
  const RoutineParams usual = net->default_params();
  const PackedWeights packed = net->pack_weights(usual, default_allocator()).value();
  CHECK(net->packing(usual).value().bytes == packed.bytes.bytes());
  const std::int64_t tile = usual.integer("tile_size");
  CHECK(packed.bytes.bytes() < static_cast<std::size_t>(tile * tile * 16 * 32 * 4 * 5 / 4));
  CHECK(net->create(usual, packed).ok());
  const auto bytes = static_cast<std::int64_t>(packed.bytes.bytes());
  for (const std::int64_t size : {std::int64_t{0}, bytes - 64, bytes + 64}) {
    INFO(size << " bytes instead of " << bytes);
    const PackedWeights wrong{Tensor::create(DataType::uint8, Shape{size}).value()};
    CHECK_FALSE(net->create(usual, wrong).ok());
  }
}

}  // namespace softneuro

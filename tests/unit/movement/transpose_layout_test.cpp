// Transposes that change the layout on their way.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "core/routine/format.h"
#include "cpu/tensor/element_place.h"
#include "routines/builtin.h"
#include "support/one_layer.h"

namespace softneuro::test {
namespace {

Problem transpose_problem(const Shape& shape, const std::vector<std::int64_t>& perm) {
  Layer layer;
  layer.type = builtin_layer_types().find("transpose");
  layer.name = "tested";
  layer.params.set("perm", perm);
  layer.layer_inputs = 1;
  layer.outputs = {0};
  TensorSpec x;
  x.type = DataType::float32;
  x.shape = shape;
  return make_problem(layer, std::vector<TensorSpec>{x}).value();
}

// Element i, counted row-major in the logical order, is i.
Tensor numbered(const Shape& shape, Layout layout) {
  Tensor tensor = Tensor::create(DataType::float32, shape, default_allocator(), layout).value();
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    static_cast<float*>(tensor.mutable_data())[element_place(i, shape, layout)] =
        static_cast<float>(i);
  return tensor;
}

}  // namespace

TEST_CASE("transposes between nhwc and plain give the same tensor, at no cost where they can") {
  const Registry registry = make_builtin_registry().value();
  const Routine* routine = registry.find("transpose", "cpu:float32:nhwc/direct");
  REQUIRE(routine != nullptr);
  const auto pool = create_thread_pool(1).value();
  const Shape shape = {2, 5, 6, 7};
  int free_ones = 0, tuples = 0;
  for (const std::vector<std::int64_t>& perm :
       {std::vector<std::int64_t>{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {3, 2, 1, 0}}) {
    const Problem model = transpose_problem(shape, perm);
    for (const FormatTuple& formats : routine->formats(model)) {
      const Problem problem = with_formats(model, formats);
      INFO(problem.str() << " " << formats.str());
      const auto implementation = RoutineContext(registry).implement(*routine, problem);
      REQUIRE(implementation.ok());
      const auto kernel = (*implementation)->create({}).value();
      const Tensor x = numbered(shape, formats.inputs[0].layout);
      Tensor y = Tensor::create(DataType::float32, problem.outputs[0].shape, default_allocator(),
                                formats.outputs[0].layout)
                     .value();
      const TensorView input = view_of(x);
      TensorView output = view_of(y);
      Context context({&input, 1}, {&output, 1}, nullptr, *pool);
      REQUIRE(kernel->run(context).ok());
      const std::vector<double> expected =
          values_of(run({"transpose", model.params, {numbered(shape, Layout::plain)}})[0]);
      for (std::size_t i = 0; i < expected.size(); ++i)
        REQUIRE(static_cast<double>(output.as<float>()[element_place(
                    static_cast<std::int64_t>(i), y.shape(), y.layout())]) == expected[i]);
      free_ones += kernel->in_place_input() == 0;
      ++tuples;
    }
  }
  CHECK(tuples == 12);
  CHECK(free_ones == 2);  // nhwc to plain {0, 2, 3, 1}, and plain to nhwc {0, 3, 1, 2}
}

}  // namespace softneuro::test

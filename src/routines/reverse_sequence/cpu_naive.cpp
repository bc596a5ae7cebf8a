// reverse_sequence cpu/naive: y[t] = x[len − 1 − t] for t < len, else x[t]; per sequence.
#include <cstring>

#include "cpu/tensor/indexing.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_reverse_sequence(const Problem& problem) {
  const int batch_axis = static_cast<int>(problem.params.integer("batch_axis"));
  return make_function_kernel([=](Context& context) -> Status {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const IndexReader lens(context.input(1));
    const std::int64_t steps = x.shape[1 - batch_axis];
    const std::int64_t batch = x.shape[batch_axis];
    const std::int64_t run =
        x.shape.elements(2, x.shape.rank()) * static_cast<std::int64_t>(size_of(x.type));
    const auto place = [&](std::int64_t b, std::int64_t t) {
      return (batch_axis == 0 ? b * steps + t : t * batch + b) * run;
    };
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t len = lens[b];
      if (len < 0 || len > steps)
        return invalid_argument("sequence_lens[{}] is {}, but there are {} steps", b, len, steps);
      for (std::int64_t t = 0; t < steps; ++t)
        std::memcpy(y.as_mutable<std::byte>() + place(b, t),
                    x.as<std::byte>() + place(b, t < len ? len - 1 - t : t),
                    static_cast<std::size_t>(run));
    }
    return {};
  });
}

}  // namespace

Status register_routine_reverse_sequence_cpu_naive(Registry& registry) {
  return add_naive(registry, {"reverse_sequence"}, make_naive_reverse_sequence);
}

}  // namespace softneuro

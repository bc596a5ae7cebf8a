// avg_pool1, avg_pool2, avg_pool3 cpu/direct: row by row, vectorised along the width. float32 only.
#include "core/registry.h"
#include "routines/max_pool2/direct_pool.h"

namespace softneuro {
namespace {

class DirectAvgPool final : public Routine {
 public:
  explicit DirectAvgPool(const char* layer_type) : Routine(layer_type, "cpu/direct") {}
  int default_rank() const override { return 20; }

  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("only float32");
    return Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports(problem).ok();
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    SN_ASSIGN_OR_RETURN(const Window window,
                        make_window(problem.params, x, problem.params.integers("kernel")));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return std::unique_ptr<Kernel>(std::make_unique<DirectPoolKernel>(
        window, x.elements(0, 2), problem.params.integer("count_include_pad") != 0,
        pool_functions().mean, std::move(post_ops)));
  }
};

}  // namespace

Status register_routine_avg_pool2_cpu_direct(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<DirectAvgPool>("avg_pool1")));
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<DirectAvgPool>("avg_pool2")));
  return registry.add(std::make_unique<DirectAvgPool>("avg_pool3"));
}

}  // namespace softneuro

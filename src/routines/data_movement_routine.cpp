#include "routines/data_movement_routine.h"

#include <string>

#include "cpu/post_ops/qint8_post_ops.h"
#include "routines/run_speed.h"

namespace softneuro {
namespace {

class DataMovementRoutine final : public FusesPostOps<if_qint8> {
 public:
  DataMovementRoutine(const char* layer_type, const std::string& descriptor, MakeKernel make,
                      bool mixed)
      : FusesPostOps(layer_type, descriptor), make_(make), mixed_(mixed) {}
  RoutineFacts facts() const override { return {.default_rank = 10}; }
  double default_speed(const Problem& problem) const override { return run_speed(problem); }

  std::vector<FormatTuple> formats(const Problem& problem) const override {
    std::vector<FormatTuple> tuples = Routine::formats(problem);
    if (!mixed_ || descriptor().layout == Layout::plain || tuples.empty()) return tuples;
    const FormatTuple uniform = tuples[0];
    tuples.push_back(uniform);
    tuples.back().inputs[0].layout = Layout::plain;
    tuples.push_back(uniform);
    tuples.back().outputs[0].layout = Layout::plain;
    return tuples;
  }

  Applicability applicable(const Problem& problem) const override {
    const DataType type = problem.inputs[0].type;
    for (const TensorSpec& output : problem.outputs)
      if (output.present() && output.type != type)
        return Applicability::no("input and output differ in type");
    if (type == DataType::qint8)
      if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
    if (const auto kernel = make_(problem); !kernel.ok())
      return Applicability::no(kernel.status().message());
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    SN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, make_(problem));
    if (problem.outputs[0].type != DataType::qint8) return kernel;
    return make_requantized_move(std::move(kernel), problem);
  }

 private:
  MakeKernel make_;
  bool mixed_;
};

}  // namespace

Status register_moves(Registry& registry, const char* layer_type, MakeKernel make,
                      const MoveSchemas& schemas) {
  const auto add = [&](const char* schema) {
    return registry.add(std::make_unique<DataMovementRoutine>(
        layer_type, std::string(schema) + "/direct", make, schemas.mixed));
  };
  for (const char* schema : {"cpu", "cpu:float16", "cpu:bfloat16", "cpu:qint8"})
    SN_RETURN_IF_ERROR(add(schema));
  if (!schemas.nhwc) return {};
  for (const char* schema :
       {"cpu:float32:nhwc", "cpu:float16:nhwc", "cpu:bfloat16:nhwc", "cpu:qint8:nhwc"})
    SN_RETURN_IF_ERROR(add(schema));
  return {};
}

}  // namespace softneuro

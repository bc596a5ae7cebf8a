#include "plugins/onednn/plain_layer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/routine/format.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "plugins/onednn/answer_cache.h"
#include "plugins/onednn/implementations.h"

namespace softneuro::onednn {
namespace {

using Names = std::vector<std::string>;

// Those that all parts have.
Names names_of(const std::vector<PlainPart>& parts) {
  const dnnl::primitive_attr attributes = attributes_of({});
  Names names = implementation_names(parts.front().operation, attributes);
  std::erase_if(names, [&](const std::string& name) {
    return !std::all_of(parts.begin(), parts.end(), [&](const PlainPart& part) {
      return find_implementation(part.operation, attributes, name).has_value();
    });
  });
  return names;
}

class PlainImplementation final : public Implementation {
 public:
  PlainImplementation(ProblemPtr problem, const RoutineContext& context, const PlainLayer& layer,
                      std::shared_ptr<const Names> names)
      : Implementation(std::move(problem), context), layer_(layer), names_(std::move(names)) {}

  RoutineParams default_params() const override { return impl_params(*names_); }
  ParamSpace param_space() const override { return impl_space(*names_); }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights&) const override {
    const std::string impl(params.text("impl"));
    if (std::find(names_->begin(), names_->end(), impl) == names_->end())
      return invalid_argument("oneDNN: no implementation for parameters {}", params.str());
    SN_ASSIGN_OR_RETURN(PartitionedWork work, guarded([&] { return work_of(impl); }));
    if (routine().descriptor().type == DataType::qint8)
      return make_requantized_move(make_partitioned_kernel(std::move(work)), problem());
    SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem()));
    if (layer_.in_place_input != nullptr) work.in_place_input = layer_.in_place_input(problem());
    if (!post_ops_allow_in_place(problem(), work.in_place_input)) work.in_place_input = -1;
    return make_partitioned_kernel(std::move(work));
  }

 private:
  Result<PartitionedWork> work_of(const std::string& impl) const {
    const OneThread one;
    PartitionedWork work;
    for (PlainPart& part : layer_.parts(problem(), context().threads())) {
      const auto desc = find_implementation(part.operation, attributes_of({}), impl);
      if (!desc) return unsupported("oneDNN has no implementation '{}' of this problem here", impl);
      part.chunk.primitive = dnnl::primitive(desc->get());
      work.add_scratchpad(part.chunk, *desc);
      work.chunks.push_back(std::move(part.chunk));
    }
    return work;
  }

  const PlainLayer& layer_;  // the routine's
  std::shared_ptr<const Names> names_;
};

class PlainRoutine final : public Routine {
 public:
  PlainRoutine(const PlainLayer& layer, const char* descriptor)
      : Routine(layer.layer_type, descriptor), layer_(layer) {}

  RoutineFacts facts() const override { return {.library = library_name()}; }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return descriptor().type == DataType::qint8 || PostOpProgram::supports(problem).ok();
  }

  Applicability applicable(const Problem& problem) const override {
    if (Applicability work = has_work(problem); !work) return work;
    return layer_.applicable(problem);
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    const int threads = context.threads();
    auto names = names_.get(fmt::format("{} {}", threads, problem->str()), [&] {
      return std::make_shared<const Names>(
          or_none<Names>([&] { return names_of(layer_.parts(*problem, threads)); }));
    });
    if (names->empty()) return unsupported("the library has only reference code for it");
    return make_implementation_of<PlainImplementation>(std::move(problem), context, layer_,
                                                       std::move(names));
  }

 private:
  PlainLayer layer_;
  mutable AnswerCache<Names> names_;  // empty if there is none, or if the library fails
};

}  // namespace

Status add_plain_routines(Registry& registry, const PlainLayer& layer,
                          std::initializer_list<const char*> descriptors) {
  for (const char* descriptor : descriptors)
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<PlainRoutine>(layer, descriptor)));
  return {};
}

Applicability takes_float32(const Problem& problem) {
  const auto is_other = [](const TensorSpec& spec) {
    return spec.present() && is_real(spec.type) && spec.type != DataType::float32;
  };
  const auto end = problem.inputs.begin() + problem.layer_inputs;
  if (std::any_of(problem.inputs.begin(), end, is_other) || is_other(problem.outputs[0]) ||
      problem.inputs[0].type != DataType::float32)
    return Applicability::no("needs float32");
  return Applicability::yes();
}

Applicability fills_blocks(const TensorSpec& spec) {
  const std::int64_t block = block_of(spec.layout);
  if (block == 1 || spec.shape[1] % block == 0) return Applicability::yes();
  return Applicability::no(
      "channels are not a multiple of the block: padding channels would not stay zero");
}

PlainPart plain_part(Operation operation, std::vector<Argument> arguments, std::int64_t first,
                     std::int64_t count) {
  PlainPart part{std::move(operation), {}};
  part.chunk.arguments = std::move(arguments);
  part.chunk.first = first;
  part.chunk.count = count;
  return part;
}

Argument input_argument(int id, std::size_t input, std::int64_t at,
                        const dnnl::memory::desc& desc) {
  return {id, Argument::From::input, input, static_cast<std::size_t>(at) * sizeof(float), desc};
}

Argument output_argument(std::int64_t at, const dnnl::memory::desc& desc) {
  return {DNNL_ARG_DST, Argument::From::output, 0, static_cast<std::size_t>(at) * sizeof(float),
          desc};
}

dnnl::memory::desc matrix_desc(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab};
}

}  // namespace softneuro::onednn

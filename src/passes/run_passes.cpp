#include <algorithm>
#include <chrono>

#include "core/base/error.h"
#include "passes/pass.h"

namespace softneuro {
namespace {

// One pass makes work for another (a folded constant shows a batch norm to the convolution before
// it), but chains of that are short. The bound only keeps a defect from looping for ever.
constexpr int kMaxRounds = 10;

Status check_names(const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    if (name == "all") continue;
    const auto passes = all_passes();
    if (std::any_of(passes.begin(), passes.end(), [&](const Pass& p) { return name == p.name; }))
      continue;
    std::string known;
    for (const Pass& pass : passes) known += std::string(known.empty() ? "" : ", ") + pass.name;
    return invalid_argument("there is no pass called '{}'; known are: all, {}", name, known);
  }
  return {};
}

bool is_disabled(const PassOptions& options, std::string_view name) {
  return std::any_of(options.disabled.begin(), options.disabled.end(),
                     [&](const std::string& d) { return d == name || d == "all"; });
}

Status run_one(const Pass& pass, Graph& graph, PassContext& context, PassReport& report) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  context.changes = 0;
  Status status = pass.run(graph, context);
#if !defined(NDEBUG)
  if (status.ok()) status = graph.verify(context.registry.layer_types());
#endif
  report.microseconds +=
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  report.changes += context.changes;
  report.layers_after = graph.layers().size();
  return std::move(status).with_context(fmt::format("pass '{}'", pass.name));
}

Status run_all(Graph& graph, const Registry& registry, const PassOptions& options,
               std::vector<PassReport>* reports) {
  SN_RETURN_IF_ERROR(check_names(options.disabled));
  SN_RETURN_IF_ERROR(graph.sort());
  // While passes run, every unknown dimension has a name: they prove shapes equal by those.
  std::vector<DynamicShape> input_shapes;
  for (const TensorId id : graph.inputs) input_shapes.push_back(graph.tensor(id).shape);
  SN_RETURN_IF_ERROR(graph.infer_shapes(/*name_unknown=*/true));

  std::vector<const Pass*> passes;
  std::vector<PassReport> made;
  const auto take = [&](const Pass& pass) {
    passes.push_back(&pass);
    made.push_back({pass.name});
    const std::string mark = fmt::format("{}/{}", pass.name, pass.version);
    if (std::find(graph.applied_passes.begin(), graph.applied_passes.end(), mark) ==
        graph.applied_passes.end())
      graph.applied_passes.push_back(mark);
  };
  for (const Pass& pass : all_passes())
    if (!is_disabled(options, pass.name)) take(pass);
  for (const Pass& pass : options.added) take(pass);

  PassContext context{registry, options};
  for (int round = 0; round < kMaxRounds; ++round) {
    std::int64_t changes = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (round == 0) made[i].layers_before = graph.layers().size();
      if (passes[i]->when_settled && changes > 0 && round + 1 < kMaxRounds) continue;
      SN_RETURN_IF_ERROR(check_cancelled(options.cancel));
      SN_RETURN_IF_ERROR(run_one(*passes[i], graph, context, made[i]));
      changes += context.changes;
      if (context.changes > 0 && options.on_change) options.on_change(*passes[i], graph);
    }
    if (changes == 0) break;
  }
  for (std::size_t i = 0; i < input_shapes.size(); ++i)
    graph.tensor(graph.inputs[i]).shape = std::move(input_shapes[i]);
  SN_RETURN_IF_ERROR(graph.infer_shapes());
  if (reports != nullptr) *reports = std::move(made);
  return {};
}

}  // namespace

Status run_passes(Graph& graph, const Registry& registry, const PassOptions& options,
                  std::vector<PassReport>* reports) {
  return guarded([&] { return run_all(graph, registry, options, reports); });
}

}  // namespace softneuro

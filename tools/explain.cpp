// softneuro explain: for each layer, every routine there is, and why it does not apply.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "command.h"
#include "core/base/machine.h"
#include "core/base/physical_cores.h"
#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "core/routine/registry.h"
#include "json_text.h"
#include "net/net_access.h"
#include "output.h"
#include "profiler/cache/profile_cache.h"
#include "profiler/select/candidates.h"

namespace softneuro::tool {
namespace {

struct ExplainArguments : NetArguments {
  std::string layer;
  std::string cache;
};

// What tuning has measured on this machine, by problem's layer, routine and formats.
class KnownTimes {
 public:
  // Childnets are left out: what is inside of them is decided while tuning.
  KnownTimes(const ExplainArguments& arguments, const RoutineContext& context,
             const NetProblems& problems) {
    ProfileCache cache;
    const int threads = arguments.threads == 0 ? physical_cores() : arguments.threads;
    cache.open(arguments.cache, machine_name(threads), threads, {});
    constexpr std::size_t kAllParams = 1000;
    CandidateRules rules;
    rules.schemas = schemas_of(context.registry());
    rules.max_params = kAllParams;
    rules.childnets = false;
    rules.include_pruned = true;
    auto layers = list_candidates(context, problems, rules);
    if (!layers.ok()) return;
    for (LayerCandidates& layer : *layers)
      for (std::size_t c = 0; c < layer.candidates.size(); ++c) {
        Candidate& candidate = layer.candidates[c];
        const Profile* row = candidate.key.empty() ? nullptr : cache.find(candidate.key);
        if (row == nullptr) continue;
        candidate.isolated_us = row->time_us;
        candidate.wrong = row->wrong;
        if (!row->wrong) {
          const Place place{layer.layer.layer->id, candidate.routine->descriptor().str(),
                            candidate.formats.str()};
          const auto [known, is_new] = times_.emplace(place, row->time_us);
          if (!is_new) known->second = std::min(known->second, row->time_us);
        }
        propose_after(context, layer.layer.problem, rules, c, layer.candidates);
      }
  }

  // Microseconds, with the fastest parameters; 0: not measured.
  double find(LayerId layer, const std::string& routine, const std::string& formats) const {
    const auto known = times_.find(Place{layer, routine, formats});
    return known == times_.end() ? 0 : known->second;
  }

 private:
  using Place = std::tuple<LayerId, std::string, std::string>;

  static std::vector<std::string> schemas_of(const Registry& registry) {
    std::vector<std::string> schemas = {"cpu"};
    for (const Device* device : registry.devices()) schemas.emplace_back(device->id().c_str());
    return schemas;
  }

  std::map<Place, double> times_;
};

// Why a routine does not count in these formats; empty: it does.
std::string refusal(const RoutineContext& context, const Routine& routine, const Problem& problem,
                    std::span<const std::string> schemas) {
  const Applicability applicable = context.check(routine, problem);
  if (!applicable) return applicable.reason();
  const bool allowed = schemas.empty() || matches_any_schema(routine.descriptor(), schemas);
  return allowed ? "" : "not in the schemas";
}

nlohmann::json explain_step(const Net& net, const ExplainArguments& arguments,
                            const KnownTimes& times, const Problem* model, const Step& step,
                            const Problem& chosen) {
  const RoutineContext context = NetAccess::runtime(net)->routine_context();
  const Problem& problem = model == nullptr ? chosen : *model;
  nlohmann::json row = {{"layer", step.layer->name},
                        {"type", step.layer->type->name},
                        {"sources", step.layer->sources},
                        {"chosen", step.routine_name},
                        {"chosen_formats", formats_of(chosen).str()},
                        {"problem", problem.str()},
                        {"routines", nlohmann::json::array()}};
  for (const Routine* routine : context.registry().routines(problem.type->name)) {
    const std::string name = routine->descriptor().str();
    // A layer of the model may change its formats; an adapt is what it is.
    const std::vector<FormatTuple> tuples =
        model == nullptr ? std::vector<FormatTuple>{formats_of(chosen)} : routine->formats(problem);
    if (tuples.empty())
      row["routines"].push_back({{"routine", name},
                                 {"applicable", false},
                                 {"reason", no_format_reason(routine->descriptor())}});
    for (const FormatTuple& formats : tuples) {
      nlohmann::json entry = {{"routine", name}, {"formats", formats.str()}};
      const std::string reason =
          refusal(context, *routine, with_formats(problem, formats), arguments.schemas);
      entry["applicable"] = reason.empty();
      if (!reason.empty()) entry["reason"] = reason;
      if (const double us = times.find(step.layer->id, name, formats.str()); us > 0)
        entry["time_us"] = us;
      row["routines"].push_back(std::move(entry));
    }
  }
  return row;
}

void print_step(const nlohmann::json& row) {
  print_out("{} ({})\n", row["layer"].get<std::string>(), row["type"].get<std::string>());
  if (row.contains("note")) print_out("  {}\n", row["note"].get<std::string>());
  if (!row.contains("problem")) return;
  print_out("  {}\n", row["problem"].get<std::string>());
  for (const auto& entry : row["routines"]) {
    const bool applicable = entry["applicable"].get<bool>();
    const std::string routine = entry["routine"].get<std::string>();
    const std::string formats = entry.value("formats", "");
    const bool chosen = routine == row["chosen"].get<std::string>() &&
                        formats == row["chosen_formats"].get<std::string>();
    const double us = entry.value("time_us", 0.0);
    print_out("  {} {}{}{}{}\n",
              chosen       ? "*"
              : applicable ? "+"
                           : "-",
              routine, formats.empty() ? "" : "  " + formats,
              us > 0 ? fmt::format("  {:.1f} µs", us) : "",
              applicable ? "" : ": " + entry["reason"].get<std::string>());
  }
}

// A row for each step of the plan that is asked for.
Result<nlohmann::json> explain_steps(const Net& net, const ExplainArguments& arguments,
                                     const Plan& plan) {
  std::vector<Shape> inputs;
  for (const TensorInfo& input : plan.inputs()) inputs.push_back(input.shape.to_shape());
  const PlanImpl& impl = impl_of(plan);
  auto problems =
      infer_problems(impl.runtime, std::make_shared<const Graph>(NetAccess::graph(net)), inputs);
  if (!problems.ok()) return problems.status();
  const KnownTimes times(arguments, impl.runtime->routine_context(), *problems);
  std::map<LayerId, const Problem*> models;
  for (const LayerProblem& layer : problems->layers) models[layer.layer->id] = &layer.problem;

  nlohmann::json rows = nlohmann::json::array();
  for (const Step& step : impl.steps) {
    if (!arguments.layer.empty() && step.layer->name != arguments.layer) continue;
    const auto chosen = problem_of(impl, *step.layer);
    if (!chosen.ok()) {
      rows.push_back({{"layer", step.layer->name},
                      {"type", step.layer->type->name},
                      {"sources", step.layer->sources},
                      {"chosen", step.routine_name},
                      {"routines", nlohmann::json::array()},
                      {"note", chosen.status().message()}});
      continue;
    }
    const auto model = models.find(step.layer->id);
    rows.push_back(explain_step(net, arguments, times,
                                model == models.end() ? nullptr : model->second, step, *chosen));
  }
  return rows;
}

Status not_found(const Net& net, const std::string& name) {
  const auto& layers = NetAccess::graph(net).layers();
  const bool exists =
      std::ranges::any_of(layers, [&](const Layer& layer) { return layer.name == name; });
  return {StatusCode::not_found,
          exists ? fmt::format("the layer '{}' has no routine: it is a view, or was computed when "
                               "the plan was made",
                               name)
                 : fmt::format("no layer is named '{}': inspect lists the layers", name)};
}

int explain_net(const ExplainArguments& arguments) {
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  if (const std::string missing = settle_shapes(*net, arguments, *shapes); !missing.empty())
    return wrong_usage(missing);
  auto plan = net->plan(*shapes);
  if (!plan.ok()) return fail(plan.status());
  const auto rows = explain_steps(*net, arguments, **plan);
  if (!rows.ok()) return fail(rows.status());
  if (rows->empty() && !arguments.layer.empty()) return fail(not_found(*net, arguments.layer));
  if (arguments.json) {
    print_lines(json_text(nlohmann::json{{"layers", *rows}}));
    return kDone;
  }
  for (const auto& row : *rows) print_step(row);
  print_out("(* chosen, + applicable, - refused; times from the profile cache)\n");
  return kDone;
}

}  // namespace

Command add_explain(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "list every routine for each layer, with the reasons of refusals");
  add_net_option(*command, *arguments);
  command->add_option("LAYER", arguments->layer, "one layer only");
  add_shape_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  add_cache_option(*command, arguments->cache);
  return {command, [arguments] { return explain_net(*arguments); }};
}

}  // namespace softneuro::tool

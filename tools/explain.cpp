// softneuro explain: for each layer, every routine there is, and why it does not apply.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "core/plan/plan_impl.h"
#include "core/routine/registry.h"
#include "json_text.h"
#include "net/net_access.h"
#include "output.h"

namespace softneuro::tool {
namespace {

struct ExplainArguments : NetArguments {
  std::string layer;
};

nlohmann::json explain_step(const Net& net, const Plan& plan, const Step& step) {
  nlohmann::json row = {{"layer", step.layer->name},
                        {"type", step.layer->type->name},
                        {"sources", step.layer->sources},
                        {"chosen", step.routine_name},
                        {"routines", nlohmann::json::array()}};
  auto problem = problem_of(impl_of(plan), *step.layer);
  if (!problem.ok()) {
    row["note"] = problem.status().message();
    return row;
  }
  row["problem"] = problem->str();
  for (const Registry::RoutineCheck& candidate : NetAccess::registry(net).explain(*problem)) {
    nlohmann::json entry = {{"routine", candidate.routine->descriptor().str()},
                            {"applicable", candidate.applicability.ok()}};
    if (!candidate.applicability) entry["reason"] = candidate.applicability.reason();
    row["routines"].push_back(std::move(entry));
  }
  return row;
}

void print_step(const nlohmann::json& row) {
  say("{} ({})\n", row["layer"].get<std::string>(), row["type"].get<std::string>());
  if (row.contains("note")) say("  {}\n", row["note"].get<std::string>());
  if (row.contains("problem")) say("  {}\n", row["problem"].get<std::string>());
  for (const auto& entry : row["routines"]) {
    const bool applicable = entry["applicable"].get<bool>();
    const std::string routine = entry["routine"].get<std::string>();
    const char* mark = routine == row["chosen"].get<std::string>() ? "*" : applicable ? "+" : "-";
    say("  {} {}{}\n", mark, routine, applicable ? "" : ": " + entry["reason"].get<std::string>());
  }
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
  nlohmann::json rows = nlohmann::json::array();
  for (const Step& step : impl_of(**plan).steps)
    if (arguments.layer.empty() || step.layer->name == arguments.layer)
      rows.push_back(explain_step(*net, **plan, step));
  if (rows.empty())
    return fail(Status(StatusCode::not_found,
                       fmt::format("no layer of the plan is named '{}': inspect lists the layers",
                                   arguments.layer)));
  if (arguments.json) {
    say_lines(json_text(nlohmann::json{{"layers", rows}}));
    return kDone;
  }
  for (const auto& row : rows) print_step(row);
  say("(* chosen, + applicable, - refused)\n");
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
  return {command, [arguments] { return explain_net(*arguments); }};
}

}  // namespace softneuro::tool

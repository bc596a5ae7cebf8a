// softneuro tune: measures the routines on this machine and saves the net with the fastest path.
#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "json_text.h"
#include "output.h"
#include "progress.h"
#include "samples.h"
#include "table.h"

namespace softneuro::tool {
namespace {

struct TuneArguments : NetArguments {
  std::string output;
  std::vector<std::string> tune_schemas;
  bool strict = false;
  double time_limit = 0;
  std::string calibration;
  std::string validation;
  std::string range;
  std::vector<std::string> avoid;
  std::vector<std::string> pins;  // LAYER=ROUTINE
  double max_error = 0;
  std::string metric = "rms";
  std::optional<double> limit;
  std::string cache;
  bool no_cache = false;
  bool exhaustive = false;
  bool packed = false;
};

// Ctrl-C ends tuning between two measurements; what was measured is kept.
std::atomic<bool> interrupted = false;
void on_interrupt(int) {
  interrupted = true;
}

void print_report(const TuneReport& report) {
  if (report.layers.empty()) {
    say("The net has no layers: nothing to tune.\n");
    return;
  }
  Table table({"layer", "type", "routine", "parameters", "formats", ">µs"});
  for (const TunedLayer& row : report.layers)
    table.add({row.layer, row.type, row.routine + (row.fallback ? " (fallback)" : ""), row.params,
               row.formats, fmt::format("{:.1f}", row.time_us)});
  say_lines(table.str() + '\n');
  for (const auto& [schema, us] : report.time_by_schema_us)
    say("{:<24} {:>10.1f} µs\n", schema, us);
  say("untuned {:.3f} ms → tuned {:.3f} ms ({:.2f}x), {} threads, {}\n", report.untuned_us * 1e-3,
      report.tuned_us * 1e-3, report.tuned_us > 0 ? report.untuned_us / report.tuned_us : 0,
      report.threads, report.machine);
  say("tuned in {:.2f} s: {} measured, {} from the cache, {} dropped for wrong results{}\n",
      report.seconds, report.measured, report.from_cache, report.rejected,
      report.complete ? "" : "; stopped at the time limit, not everything was measured");
  if (report.gap > 0) say("the path is within {:.2f} % of the optimum\n", 100 * report.gap);
  if (report.error > 0)
    say("error {:.4g} (RMS, relative to float32), same answer on {:.1f} % of the samples\n",
        report.error, 100 * report.agreement);
  if (report.proof_inputs > 0)
    say("answers as the model on {} {}: largest difference {:.3g} (RMS, relative)\n",
        report.proof_inputs, report.proved_on_samples ? "samples" : "synthetic inputs",
        report.difference);
  if (report.qint8_share > 0)
    say("{:.1f} % of the multiply-accumulates in qint8\n", 100 * report.qint8_share);
}

nlohmann::json report_json(const TuneReport& report, const std::string& output) {
  nlohmann::json layers = nlohmann::json::array();
  for (const TunedLayer& row : report.layers)
    layers.push_back({{"layer", row.layer},
                      {"type", row.type},
                      {"routine", row.routine},
                      {"params", row.params},
                      {"formats", row.formats},
                      {"sources", row.sources},
                      {"time_us", row.time_us},
                      {"unit_us", row.unit_us},
                      {"candidates", row.candidates},
                      {"fallback", row.fallback}});
  return {{"file", output},
          {"untuned_ms", report.untuned_us * 1e-3},
          {"tuned_ms", report.tuned_us * 1e-3},
          {"seconds", report.seconds},
          {"measured", report.measured},
          {"from_cache", report.from_cache},
          {"rejected", report.rejected},
          {"gap", report.gap},
          {"error", report.error},
          {"agreement", report.agreement},
          {"difference", report.difference},
          {"proof_inputs", report.proof_inputs},
          {"proved_on_samples", report.proved_on_samples},
          {"qint8_share", report.qint8_share},
          {"complete", report.complete},
          {"machine", report.machine},
          {"threads", report.threads},
          {"time_by_schema_us", report.time_by_schema_us},
          {"warnings", report.warnings},
          {"layers", std::move(layers)}};
}

const std::map<std::string, RangeChoice>& ranges() {
  static const std::map<std::string, RangeChoice> known = {{"mse", RangeChoice::mse},
                                                           {"percentile", RangeChoice::percentile},
                                                           {"minmax", RangeChoice::min_max}};
  return known;
}

// --max-error, or --limit in the unit of --metric. A signal-to-noise ratio of V decibels is
// RMS(ref) / RMS(out − ref) = 10^(V / 20).
double error_limit(const TuneArguments& arguments) {
  if (!arguments.limit) return arguments.max_error;
  return arguments.metric == "snr" ? std::pow(10.0, -*arguments.limit / 20) : *arguments.limit;
}

int tune_net(const TuneArguments& arguments) {
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());

  TuneOptions options;
  if (!arguments.tune_schemas.empty()) options.schemas = arguments.tune_schemas;
  options.strict = arguments.strict;
  options.max_error = error_limit(arguments);
  options.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(arguments.time_limit * 1e3));
  options.cache = arguments.cache;
  options.use_cache = !arguments.no_cache;
  options.exhaustive = arguments.exhaustive;
  if (!arguments.range.empty()) options.range = ranges().at(arguments.range);
  options.avoid = arguments.avoid;
  for (const std::string& text : arguments.pins) {
    auto pin = split_assignment(text);
    if (!pin.ok()) return wrong_usage(pin.status().message());
    options.pin[pin->first] = pin->second;
  }
  for (const auto& [folder, samples] : {std::pair(&arguments.calibration, &options.calibration),
                                        std::pair(&arguments.validation, &options.validation)}) {
    if (folder->empty()) continue;
    auto read = read_samples(*folder, *net);
    if (!read.ok()) return fail(read.status());
    *samples = *std::move(read);
    for (const auto& [name, tensor] : samples->front()) shapes->emplace(name, tensor.shape());
  }
  if (const std::string missing = settle_shapes(*net, arguments, *shapes); !missing.empty())
    return wrong_usage(missing);
  options.shapes = *shapes;

  options.cancel = &interrupted;
  std::signal(SIGINT, on_interrupt);
  ProgressPrinter progress;
  if (!arguments.quiet) options.progress = std::ref(progress);
  const Result<TuneReport> report = net->tune(options);
  progress.finish();
  if (!report.ok()) return fail(report.status());
  if (!arguments.output.empty())
    if (Status status = net->save(arguments.output, {.packed_weights = arguments.packed});
        !status.ok())
      return fail(status);
  if (arguments.json)
    say_lines(json_text(report_json(*report, arguments.output)));
  else
    print_report(*report);
  return kDone;
}

}  // namespace

Command add_tune(CLI::App& app) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command =
      app.add_subcommand("tune", "find the fastest routines on this machine and save them");
  add_net_option(*command, *arguments);
  add_shape_option(*command, *arguments);
  command->add_option("-o,--output", arguments->output, "the tuned .dnn file to write");
  command
      ->add_option("--schemas", arguments->tune_schemas,
                   "allowed schemas: cpu:float32,cpu:float16,cpu:qint8, or cpu for all "
                   "(default cpu:float32)")
      ->delimiter(',');
  command->add_flag("--strict", arguments->strict,
                    "a layer without a routine in the schemas is an error");
  command
      ->add_option("--threads", arguments->threads,
                   "threads to tune for (0: one per physical core)")
      ->check(CLI::Range(0, 1024));
  command->add_option("--plugin", arguments->plugins,
                      "a shared library with routines (repeatable)");
  command
      ->add_option("--time-limit", arguments->time_limit,
                   "seconds of measuring, after calibration; 0: none")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--calibration", arguments->calibration,
                      "folder of samples: input_J.npy or NAME.npy, or subfolders of these");
  command->add_option("--validation", arguments->validation,
                      "folder of samples to measure the error on (default: every fifth one of "
                      "--calibration is held back)");
  command
      ->add_option("--range", arguments->range,
                   "how calibration chooses ranges: mse (default), percentile or minmax")
      ->check(CLI::IsMember(ranges()));
  command->add_option("--pin", arguments->pins,
                      "LAYER=ROUTINE: the routine that a layer must have (repeatable)");
  command->add_option("--avoid", arguments->avoid,
                      "routines that no layer may have, * for anything: '*/onednn' (repeatable)");
  command
      ->add_option("--max-error", arguments->max_error,
                   "RMS(out - ref) / RMS(ref) against float32 on the validation samples")
      ->check(CLI::Range(0.0, 1e6));
  CLI::Option* limit = command->add_option("--limit", arguments->limit,
                                           "the same as --max-error, in the unit of --metric");
  limit->excludes("--max-error")->check(CLI::Range(0.0, 1e6));
  command->add_option("--metric", arguments->metric, "rms (default), or snr: decibels, at least")
      ->needs(limit)
      ->check(CLI::IsMember({"rms", "snr"}));
  command->add_option("--cache", arguments->cache,
                      "folder of the profile cache (default ~/.cache/softneuro)");
  command->add_flag("--no-cache", arguments->no_cache, "neither read nor write the profile cache");
  command->add_flag("--exhaustive", arguments->exhaustive,
                    "measure everything fully: to judge the quick way");
  command->add_flag("--packed", arguments->packed,
                    "also save the weights in the kernels' order: larger file, quicker loading");
  command->add_flag_callback(
      "--keep-rounding", [] {},
      "8-bit models: every routine keeps the model's rounding (always so)");
  return {command, [arguments] { return tune_net(*arguments); }};
}

}  // namespace softneuro::tool

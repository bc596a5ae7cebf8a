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
#include "output_files.h"
#include "pictures.h"
#include "progress.h"
#include "samples.h"
#include "score_command.h"
#include "tune_report.h"

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
  std::vector<std::string> pins;         // LAYER=ROUTINE
  std::optional<std::string> max_error;  // a number, or "none"
  std::string metric = "rms";
  std::optional<double> limit;
  bool sensitivity = false;
  std::uint64_t max_memory = 0;
  PictureOptions pictures;
  bool has_picture_numbers = false;  // --picture-mean or --picture-scale
  std::string cache;
  bool no_cache = false;
  bool exhaustive = false;
  std::string packed;  // "", "also" or "only"
};

// Ctrl-C ends tuning between two measurements; what was measured is kept.
std::atomic<bool> interrupted = false;
void on_interrupt(int) {
  interrupted = true;
}

const std::map<std::string, RangeChoice>& ranges() {
  static const std::map<std::string, RangeChoice> known = {{"mse", RangeChoice::mse},
                                                           {"percentile", RangeChoice::percentile},
                                                           {"minmax", RangeChoice::min_max}};
  return known;
}

// What is limited: --max-error, or --limit in the unit of --metric. The reason if that is wrong
// usage.
std::string set_limit(const TuneArguments& arguments, TuneOptions& options) {
  if (arguments.max_error == "none") {
    options.max_error = INFINITY;
    return {};
  }
  if (arguments.max_error) {
    double value = 0;
    if (!CLI::detail::lexical_cast(*arguments.max_error, value) || !(value >= 0))
      return fmt::format("--max-error is a number that is not negative, or none, not '{}'",
                         *arguments.max_error);
    options.max_error = value;
    return {};
  }
  if (!arguments.limit) return {};
  const double limit = *arguments.limit;
  if (arguments.metric == "rms") {
    options.max_error = limit;
  } else if (arguments.metric == "snr") {  // RMS(ref) / RMS(out − ref) = 10^(dB / 20)
    options.max_error = std::pow(10.0, -limit / 20);
  } else if (arguments.metric == "cosine" || arguments.metric == "top1") {
    if (!(limit <= 1))
      return fmt::format("--limit is {}: with --metric {} it is the least agreement, at most 1",
                         limit, arguments.metric);
    options.criteria.metric = arguments.metric == "top1" ? ErrorMetric::top1 : ErrorMetric::cosine;
    options.max_error = 1 - limit;
  } else if (!is_command(arguments.metric)) {
    return fmt::format("the metric '{}' is neither rms, snr, cosine, top1 nor a command",
                       arguments.metric);
  } else {
    options.criteria.score = [command =
                                  arguments.metric](const std::vector<NamedTensors>& outputs) {
      return score_by_command(command, outputs);
    };
    options.max_error = limit;
  }
  return {};
}

std::string name_of_error(const TuneArguments& arguments) {
  if (arguments.metric == "rms" || arguments.metric == "snr") return "RMS, relative to float32";
  if (arguments.metric == "cosine") return "1 − cosine";
  if (arguments.metric == "top1") return "1 − top-1 agreement";
  return "loss of score";
}

// --device: the one that layers may run on beside the processor, whose schemas all are then. The
// reason if --schemas contradicts it.
std::string set_device(const std::string& device, std::vector<std::string>& schemas) {
  const std::string name = device.substr(0, device.find('='));
  if (schemas.empty()) {
    schemas = {"cpu:float32"};
    if (name != "cpu") schemas.push_back(name + ":float32");
    return {};
  }
  bool has_any = false;
  for (const std::string& schema : schemas) {
    const std::string of = schema.substr(0, schema.find(':'));
    if (of != name && of != "cpu")
      return fmt::format("--device {} leaves out the schema {}", device, schema);
    has_any = has_any || of == name;
  }
  return has_any ? "" : fmt::format("--device {}: none of the schemas is one of {}", device, name);
}

// All but samples and shapes. The reason if something is wrong usage.
std::string set_options(const TuneArguments& arguments, TuneOptions& options) {
  std::vector<std::string> schemas = arguments.tune_schemas;
  if (!arguments.device.empty())
    if (std::string wrong = set_device(arguments.device, schemas); !wrong.empty()) return wrong;
  if (!schemas.empty()) options.schemas = std::move(schemas);
  options.selection.strict = arguments.strict;
  if (std::string wrong = set_limit(arguments, options); !wrong.empty()) return wrong;
  options.criteria.measure_sensitivity = arguments.sensitivity;
  options.criteria.max_memory = static_cast<std::size_t>(arguments.max_memory);
  options.effort.pin_threads = true;  // this process is there for nothing else
  options.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(arguments.time_limit * 1e3));
  options.cache.folder = arguments.cache;
  options.cache.disabled = arguments.no_cache;
  options.effort.exhaustive = arguments.exhaustive;
  if (!arguments.range.empty()) options.data.range = ranges().at(arguments.range);
  options.selection.avoid = arguments.avoid;
  for (const std::string& text : arguments.pins) {
    auto pin = split_assignment(text);
    if (!pin.ok()) return pin.status().message();
    options.selection.pin[pin->first] = pin->second;
  }
  options.cancel = &interrupted;
  return {};
}

// The samples of both folders; adds their shapes to `shapes`.
Status add_samples(const TuneArguments& arguments, const Net& net, TuneOptions& options,
                   NamedShapes& shapes) {
  for (const auto& [folder, samples] :
       {std::pair(&arguments.calibration, &options.calibration),
        std::pair(&arguments.validation, &options.data.validation)}) {
    if (folder->empty()) continue;
    const std::vector<std::string> pictures = pictures_in(*folder);
    auto read = pictures.empty() ? read_samples(*folder, net)
                                 : read_pictures(pictures, net, shapes, arguments.pictures);
    if (!read.ok())
      return pictures.empty() && net.inputs().size() == 1
                 ? Status(read.status().code(),
                          fmt::format("{}, nor pictures (JPEG, PNG, BMP)", read.status().message()))
                 : read.status();
    if (!pictures.empty() && !arguments.has_picture_numbers && !arguments.quiet &&
        net.inputs()[0].type == DataType::float32)
      print_error(
          "softneuro: warning: input '{}' gets the bytes of the pictures, 0 to 255: if the net "
          "expects other numbers, as most do, give --picture-mean and --picture-scale\n",
          net.inputs()[0].name);
    *samples = *std::move(read);
    for (const auto& [name, tensor] : samples->front()) shapes.emplace(name, tensor.shape());
  }
  return Status();
}

// The net, with samples and shapes as add_samples() says. An import is verified on the samples.
Result<Net> open_with_samples(const TuneArguments& arguments, TuneOptions& options,
                              NamedShapes& shapes) {
  const auto have_samples = [&] {
    return !options.calibration.empty() || !options.data.validation.empty();
  };
  auto net = open_net(arguments, {}, [&](const Net& imported) -> Result<std::vector<NamedTensors>> {
    if (Status status = add_samples(arguments, imported, options, shapes); !status.ok())
      return status;
    std::vector<NamedTensors> samples = options.calibration;
    samples.insert(samples.end(), options.data.validation.begin(), options.data.validation.end());
    return samples;
  });
  if (net.ok() && !have_samples())  // there was no import to verify
    if (Status status = add_samples(arguments, *net, options, shapes); !status.ok()) return status;
  return net;
}

std::string text_of(const NamedShapes& shapes) {
  std::string text;
  for (const auto& [name, shape] : shapes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape.str());
  return text;
}

void print_reports(const TuneArguments& arguments, const std::vector<NamedShapes>& sets,
                   const std::vector<TuneReport>& reports) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t s = 0; s < reports.size(); ++s) {
    if (arguments.json) {
      rows.push_back(tune_report_json(reports[s], arguments.output));
      for (const auto& [name, shape] : sets[s]) rows.back()["shapes"][name] = shape.dims();
      continue;
    }
    if (reports.size() > 1) print_out("{}{}\n", s > 0 ? "\n" : "", text_of(sets[s]));
    print_tune_report(reports[s], name_of_error(arguments));
  }
  if (arguments.json) print_lines(json_text(reports.size() > 1 ? rows : rows[0]));
}

// What Net::tune gives for a net that failed on all synthetic inputs: it was not tuned, and the
// report's only content is the warning.
bool is_left_alone(const TuneReport& report) {
  return !report.complete && report.layers.empty() && !report.warnings.empty();
}

// The log has shown the reason, as a warning.
Status not_tuned(const TuneArguments& arguments) {
  return {
      StatusCode::unsupported,
      fmt::format(
          "'{}' is not tuned{}: it fails on all synthetic inputs; give samples with "
          "--calibration",
          arguments.path,
          arguments.output.empty() ? "" : fmt::format(", and '{}' not written", arguments.output))};
}

int tune_net(const TuneArguments& arguments) {
  auto sets = given_shape_sets(arguments);
  if (!sets.ok()) return wrong_usage(sets.status().message());
  TuneOptions options;
  if (const std::string wrong = set_options(arguments, options); !wrong.empty())
    return wrong_usage(wrong);
  if (sets->size() > 1 && !(arguments.calibration.empty() && arguments.validation.empty()))
    return wrong_usage("samples have one shape: tune for one --shape at a time with them");
  if (!arguments.output.empty())
    if (const Status status = check_place(arguments.output); !status.ok()) return fail(status);
  auto net = open_with_samples(arguments, options, sets->front());
  if (!net.ok()) return fail(net.status());
  for (NamedShapes& shapes : *sets)
    if (const std::string missing = settle_shapes(*net, arguments, shapes); !missing.empty())
      return wrong_usage(missing);

  std::signal(SIGINT, on_interrupt);
  ProgressPrinter progress;
  if (!arguments.quiet) options.progress = std::ref(progress);
  std::vector<TuneReport> reports;
  for (const NamedShapes& shapes : *sets) {
    options.shapes = shapes;
    Result<TuneReport> report = net->tune(options);
    progress.finish();
    if (!report.ok()) return fail(report.status());
    if (is_left_alone(*report)) return fail(not_tuned(arguments));
    reports.push_back(*std::move(report));
  }
  if (!arguments.output.empty())
    if (Status status = net->save(arguments.output, {.packed_weights = arguments.packed == "also",
                                                     .packed_only = arguments.packed == "only"});
        !status.ok())
      return fail(status);
  print_reports(arguments, *sets, reports);
  return kDone;
}

// How pictures in the folders of samples become inputs.
void add_picture_options(CLI::App& command, PictureOptions& pictures) {
  command
      .add_option("--picture-mean", pictures.mean,
                  "pictures: (byte - mean) * scale; one number, or one each for red,green,blue")
      ->delimiter(',')
      ->expected(1, 3);
  command.add_option("--picture-scale", pictures.scale, "see --picture-mean (default 1)")
      ->delimiter(',')
      ->expected(1, 3);
  command.add_flag("--picture-bgr", pictures.is_bgr, "pictures: blue comes first");
  command.add_flag("--picture-crop", pictures.is_crop,
                   "pictures: cut off what does not fit the input's proportions, do not squeeze");
}

}  // namespace

Command add_tune(CLI::App& app) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command =
      app.add_subcommand("tune", "find the fastest routines on this machine and save them");
  add_net_option(*command, *arguments);
  add_verify_option(*command, *arguments);
  add_shape_option(*command, *arguments);
  command->add_option("-o,--output", arguments->output, "the tuned .dnn file to write");
  command
      ->add_option(
          "--schemas", arguments->tune_schemas,
          "allowed schemas: cpu:float32,cpu:float16,cpu:bfloat16,cpu:qint8, or cpu for all "
          "(default cpu:float32)")
      ->delimiter(',');
  add_device_option(*command, *arguments,
                    "cpu, or a device that layers may run on beside it, as cuda or cuda=1 (the "
                    "second): without --schemas, float32 on both");
  command->add_flag("--strict", arguments->strict,
                    "a layer without a routine in the schemas is an error");
  command
      ->add_option("--threads", arguments->threads,
                   "threads to tune for (0: one per physical core that the process may use)")
      ->check(CLI::Range(0, 1024));
  command->add_option(
      "--plugin", arguments->plugins,
      "a shared library with routines (repeatable); none: do not load the library plugins");
  command
      ->add_option("--time-limit", arguments->time_limit,
                   "seconds of measuring, after calibration; 0: no limit")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--calibration", arguments->calibration,
                      "folder of samples: input_J.npy or NAME.npy, or subfolders of these; or of "
                      "pictures (JPEG, PNG, BMP)");
  command->add_option("--validation", arguments->validation,
                      "folder of samples to measure the error on (default: every fifth one of "
                      "--calibration is held back)");
  add_picture_options(*command, arguments->pictures);
  command
      ->add_option("--range", arguments->range,
                   "how calibration chooses ranges: mse (default), percentile or minmax")
      ->check(CLI::IsMember(ranges()));
  command->add_option("--pin", arguments->pins,
                      "LAYER=ROUTINE: the routine that a layer must have (repeatable)");
  command->add_option("--avoid", arguments->avoid,
                      "routines that no layer may have, * for anything: '*/onednn' (repeatable)");
  command->add_option(
      "--max-error", arguments->max_error,
      "RMS(out - ref) / RMS(ref) against float32 on the validation samples, or none "
      "(default: 0.1 where a path meets it)");
  CLI::Option* limit = command->add_option("--limit", arguments->limit,
                                           "the same as --max-error, in the unit of --metric");
  limit->excludes("--max-error")->check(CLI::Range(0.0, 1e6));
  command
      ->add_option("--metric", arguments->metric,
                   "rms (default); snr (decibels), cosine, top1 (top-1 agreement): at least "
                   "--limit; or a command that gets a folder of outputs, K/NAME.npy, and prints a "
                   "score, of which at most --limit may be lost")
      ->needs(limit);
  command->add_flag(
      "--sensitivity", arguments->sensitivity,
      "quantisation sensitivity: also measure what the rounding error of each layer does "
      "to the outputs");
  command
      ->add_option("--max-memory", arguments->max_memory,
                   "bytes that the arena of a session and packed weights may take together, as "
                   "800000, 512kb or 6mb (kb: 1024 bytes, mb: 1024 kb)")
      ->transform(CLI::AsSizeValue(false));
  add_cache_option(*command, arguments->cache);
  command->add_flag("--no-cache", arguments->no_cache, "neither read nor write the profile cache");
  command->add_flag(
      "--exhaustive", arguments->exhaustive,
      "measure every candidate fully and more parameters of each routine; naive routines are left "
      "out all the same. Slow, to evaluate the tuner");
  command
      ->add_option(
          "--packed", arguments->packed,
          "--packed, or --packed also: save the packed weights as well (larger file, faster "
          "loading); --packed only: packed weights alone, for this kind of machine, these "
          "shapes and thread counts. Default: the model's weights alone")
      ->expected(0, 1)
      ->default_str("also")
      ->check(CLI::IsMember({"also", "only"}));
  command->add_flag_callback(
      "--keep-rounding", [] {}, "no effect: quantised models always keep the model's rounding");
  return {command, [arguments, command] {
            arguments->has_picture_numbers =
                command->count("--picture-mean") > 0 || command->count("--picture-scale") > 0;
            return tune_net(*arguments);
          }};
}

}  // namespace softneuro::tool

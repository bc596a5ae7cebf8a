// Tuning: which routine computes each layer fastest on this machine (the SoftNeuro paper, sections
// III to V). Net::tune (net.h) measures and decides; Net::save carries the result.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softneuro/status.h"
#include "softneuro/tensor.h"

namespace softneuro {

// What the progress callback gets, on the thread that called tune(), a few times per layer. The
// texts are valid during the call.
struct TuneProgress {
  // In this order; later versions may add stages. Where no path within the schemas meets max_error,
  // tuning runs again with float32 added, from "unit" on. In parentheses: what is counted.
  //   "calibrate"    (samples) ranges of 8-bit tensors; reported once, at its start
  //   "unit"         (layers that differ) the candidates of each are measured in isolation
  //   "net"          (rounds, at most) paths run in turns, and layers are measured inside the net
  //   "final"        (paths) the best paths are timed end to end
  //   "sensitivity"  (layers, or data types of layers) sensitivity analysis, where the fastest path
  //                  exceeds max_error; "final" may follow once more
  //   "verify"       (sets of inputs) the tuned net is compared with the model
  // What the cache has is not measured again: its stages are short or left out.
  const char* stage = "";
  std::size_t done = 0;  // of `total`, in this stage
  std::size_t total = 0;
  const char* layer = "";      // what is being measured; may be ""
  const char* candidate = "";  // its routine and parameters; may be ""
  double best_us = 0;          // the layer's best so far, in µs; 0: none yet
  // At most, of the tuning: from the pace so far, and what is left of a time limit. Rounds of the
  // search mostly end earlier. 0: not known yet.
  double seconds_left = 0;
};

// How calibration chooses a tensor's range from its values in the samples.
enum class RangeChoice {
  mse,         // least mean squared error of the 256 levels, saturation included
  percentile,  // without the most extreme 0.01 % of the values on each side
  min_max,     // from the least to the largest value
};

// Error of the tuned net's outputs on the validation samples against float32's; 0: equal. Booleans
// and integers of 32 and 64 bits are taken for classes: each element for a one-hot vector. Outputs
// whose shape differs from float32's are not compared, but for top1; a warning counts the samples.
enum class ErrorMetric {
  relative_rms,  // RMS(out − ref) / RMS(ref) over all samples, of the worst output
  cosine,        // 1 − cos(out, ref), the mean over the samples, of the worst output
  // 1 − top-1 agreement: share of samples whose argmax over the first output differs, or any of its
  // elements where it has integers or booleans. invalid_argument where the first output is of reals
  // and holds no scores of classes, that is, has more than one dimension above 1 besides the first.
  top1,
};

// The limit of `relative_rms` where the caller sets none: a signal-to-noise ratio of 20 dB.
inline constexpr double kDefaultMaxError = 0.1;

// Samples that are made when they are needed, where they do not fit into memory all at once. The
// outputs for all validation samples are kept in memory (with TuneCriteria::score twice).
struct SampleSource {
  std::size_t count = 0;  // of samples
  // Makes sample `index`, from 0 to count − 1, the same one each time that it is asked for it.
  // Called on the thread of tune(). An error ends tuning with it. Must not throw.
  std::function<Result<NamedTensors>(std::size_t index)> make = {};
};

// Which routines layers may have, besides `schemas`. Patterns are of whole names, in which * stands
// for anything: "cpu:float32:nhwc/wg", "*/onednn". Names leave out float32 and plain: "cpu/direct".
struct TuneSelection {
  // A layer without a routine in `schemas` is an error (unsupported, naming every one).
  bool strict = false;
  // Routines that no layer may have, as patterns. One that no routine matches gives a warning; a
  // layer whose routines are all excluded is an error (unsupported).
  std::vector<std::string> avoid = {};
  // Layer → the routine that it must have, by name or pattern, whatever `schemas` and `avoid` say.
  // Errors: invalid_argument (no such layer, or a view), unsupported (no such routine applies).
  std::map<std::string, std::string, std::less<>> pin = {};
};

// Samples besides `calibration`, and what calibration does with them.
struct TuneData {
  // More samples for calibration, counted after those in memory.
  SampleSource calibration_source = {};
  // How calibration chooses the range of an 8-bit tensor.
  RangeChoice range = RangeChoice::mse;
  // Samples that the error is measured on, and calibration does not see. None: every fifth one of
  // those for calibration (of two to four, the last) is held back; a single one serves for both.
  std::vector<NamedTensors> validation = {};
  // More samples for validation, counted after those in memory.
  SampleSource validation_source = {};
};

// What counts as good, besides time.
struct TuneCriteria {
  // The error that `max_error` limits.
  ErrorMetric metric = ErrorMetric::relative_rms;
  // A score of your own instead of `metric`, which grows with quality (accuracy, mAP), of the net's
  // outputs for all validation samples in their order. The error is what the tuned net loses of
  // float32's score, or 0. Called on the thread of tune(), some ten times; an error ends tuning, a
  // score that is not finite is invalid_argument. May call const members of the net. Must not
  // throw.
  std::function<Result<double>(const std::vector<NamedTensors>&)> score = {};
  // The most bytes that the arenas of one session (on all devices) and packed weights may take
  // together; 0: no limit. The model's constants, and what libraries keep for each session, are not
  // counted. An error (unsupported) if no plan that was found takes so little.
  std::size_t max_memory = 0;
  // Sensitivity analysis (TuneReport::sensitivity) even where the fastest path meets `max_error`.
  bool measure_sensitivity = false;
};

// How hard tuning tries.
struct TuneEffort {
  // Most profiling rounds over the whole net, of up to eight paths each, for the mixture of data
  // types and devices, and again for each alone; at least 1. Those of earlier tunings with the same
  // cache count. They end where no path is left that might be better.
  int rounds = 6;
  // Number of the solver's best paths that are timed end to end, at least 1. The best path of each
  // data type and device alone, the smallest one (with `max_memory`) and default plans are timed as
  // well. All are in memory at once.
  int finalists = 1;
  // Stop no candidate early, try up to 32 combinations of a routine's parameters instead of 8, and
  // blocks of 8 channels beside those of 16; four times as many rounds and finalists. Naive
  // routines are left out where there is any other. Slow; to evaluate the default method.
  bool exhaustive = false;
  // Pin each thread of the net, the calling one included, to a processor while tuning lasts: a
  // loaded machine disturbs less. Without effect where there are fewer processors than threads.
  bool pin_threads = false;
};

// The profile cache: what tunings have measured.
struct TuneCache {
  // Empty: $XDG_CACHE_HOME/softneuro, else $HOME/.cache/softneuro, of absolute paths; where there
  // is neither, nothing is kept. If the folder cannot be made or written, a warning says so.
  std::string folder = {};
  // Read and keep nothing, and verify everything.
  bool disabled = false;
};

// Options of Net::tune.
struct TuneOptions {
  // Which schemas (device:type:layout of kernels) routines may have: "cpu" (any data type),
  // "cpu:float32" (any layout), "cpu:qint8:nhwc"; tf32 stands for a type where products of float32
  // tensors are computed in TF32 ("cuda:tf32"). invalid_argument for a pattern that no routine here
  // matches. A layer that has no routine in them takes a float32 one, and is listed.
  std::vector<std::string> schemas = {"cpu:float32"};
  // Input shapes to tune for. May be left out: inputs of static shape, those that samples give,
  // those of the first tuned path.
  NamedShapes shapes = {};
  // Threads to tune for, at most 1024; 0: as many as the net has. Another number counts after
  // save(), for nets loaded with so many, and tuning uses a pool of the library's own.
  int threads = 0;
  // Samples: input name → tensor for exactly the net's inputs, with their data types, and the same
  // shapes in all. Needed for 8 bits, unless the model is quantised, and for a limit on the error;
  // times and verification take some, too, else synthetic inputs. Tuned paths with 8-bit layers are
  // dropped, with a warning, where their ranges change.
  std::vector<NamedTensors> calibration = {};
  // The largest error on the validation samples; INFINITY: any. The fastest path found within it is
  // taken, with float32 layers where that is needed, whatever `schemas` says; unsupported if there
  // is none. nullopt: kDefaultMaxError where a path meets it, else a warning. invalid_argument:
  // nullopt with another metric or a score; finite without validation or two calibration samples.
  std::optional<double> max_error = std::nullopt;
  // Time limit; 0 or negative: none. It begins with tune(); with samples, once calibration and
  // float32's runs are done. Each layer gets its part; those not measured take default routines.
  // One verification of the result is made even if it ends after the limit.
  std::chrono::milliseconds time_limit{0};
  // Called a few times per layer. May call const members of the net: no lock is held, and nothing
  // is being measured. Must not throw.
  std::function<void(const TuneProgress&)> progress = {};
  // True ends tuning with the status `cancelled`, between two measurements; what was measured is in
  // the cache, and the net is as before. Must stay valid until tune() returns.
  const std::atomic<bool>* cancel = nullptr;
  TuneSelection selection = {};
  TuneData data = {};
  TuneCriteria criteria = {};
  TuneEffort effort = {};
  TuneCache cache = {};
};

// Why a layer does not use a (device, data type) pair for which some layer of the net has
// candidates.
struct NotChosen {
  enum class Reason {
    no_routine,     // none of this kind in the allowed schemas computes the layer
    wrong_results,  // all of them are beyond the tolerance of the data type, or failed
    not_measured,   // the time limit was reached
    error_limit,    // reduced precision of this layer was given up to meet max_error
    slower,         // than the layer's routine
    // Not slower by itself, but conversions to and from it make the net slower, or the net would
    // exceed max_memory.
    whole_net,
  };
  std::string kind;  // device and data type: "cpu:qint8"
  Reason reason = Reason::no_routine;
  std::string routine;  // the fastest of this kind, with its parameters; "": none
  double time_us = 0;   // its time, inside the net if it was measured there; 0: not known
};
SN_API const char* to_string(NotChosen::Reason reason) noexcept;

// One row per layer or adapt (a conversion of format: reorder, reformat) of the tuned net, in order
// of execution (the paper's Table III).
struct TunedLayer {
  std::string layer;                 // name
  std::string type;                  // layer type; "adapt" for adapts
  std::string routine;               // descriptor: "cpu:float32:nhwc/wg"
  std::string params;                // "tile_size=6"
  std::string formats;               // "float32:nhwc -> float32:nhwc"
  std::vector<std::string> sources;  // nodes of the imported model
  double time_us = 0;                // inside the tuned net
  double unit_us = 0;                // unit time: of the candidate in isolation; 0: not measured
  bool is_measured = true;           // false: the default routine, since the time limit was reached
  std::size_t candidates = 0;        // that were considered
  bool fallback = false;             // no routine in the allowed schemas
  std::vector<NotChosen> not_chosen;  // by kind; empty for adapts, where there is one kind
                                      // only, and for default routines that are no candidates
};

// A layer's quantisation sensitivity: the effect of this layer in reduced precision, alone in a
// float32 net, on the validation samples that reduced precision affects most in the fastest path.
struct LayerSensitivity {
  std::string layer;     // name
  std::string routine;   // in reduced precision, of the fastest path: "cpu:qint8:nhwc/direct"
  double own_error = 0;  // RMS of the layer's error over its output's, on random inputs
  double net_error = 0;  // the same at the net's worst output, on the samples
  double saved_us = 0;   // against the layer's float32 routine; conversions not counted
  bool is_kept = false;  // the layer still has this data type in the tuned net
};

// What Net::tune returns.
struct TuneReport {
  std::vector<TunedLayer> layers;
  // A run of the default plan, and beside it of the chosen path: the median; on a disturbed machine
  // the sum of the steps' times. 0: not measured. Equal: the default plan was kept.
  double untuned_us = 0;
  double tuned_us = 0;
  double seconds = 0;          // of tuning, calibration included
  std::size_t measured = 0;    // measurements made
  std::size_t from_cache = 0;  // measurements taken from the cache instead
  std::size_t rejected = 0;    // candidates dropped: wrong results, or an error of the kernel
  // Optimality gap of the solver's best path: (cost − lower bound) / cost, by the sum of measured
  // times of layers and adapts. 0: proven optimal; 1: no bound, not everything was measured. The
  // chosen path may be another one, faster end to end or within the error limit.
  double gap = 0;
  double error = 0;  // on the validation samples, by TuneCriteria; 0: not measured
  // 95 % confidence interval of it; `error` where that is not known (a score, a single sample).
  double error_low = 0, error_high = 0;
  std::size_t validation_samples = 0;
  std::size_t memory = 0;    // bytes of the tuned plan, as TuneCriteria::max_memory counts them
  bool within_limit = true;  // false only where the caller set no limit
  std::vector<LayerSensitivity> sensitivity;  // the greatest first; empty: not measured
  // Of the verification: RMS(out − ref) / RMS(ref) of the worst output against the model as it was
  // imported, in its own types; from the cache where net, path, inputs and code are the same.
  double difference = 0;
  std::size_t verification_inputs = 0;  // sets; 0: nothing was tuned
  bool verified_on_samples = false;     // else on synthetic inputs
  // Top-1 agreement on the validation samples; 1 without any. NaN where the first output holds no
  // scores of classes.
  double agreement = 1;
  double qint8_share = 0;  // share of multiply-accumulates done in qint8
  // false: the time limit was reached before everything was measured, or nothing was tuned.
  bool complete = true;
  std::string machine;  // as TunedPathInfo::machine
  int threads = 1;      // that the path is for
  // Inside the tuned net, by schema as in descriptors ("cpu": float32, plain); "adapt": adapts.
  std::map<std::string, double> time_by_schema_us;
  std::vector<std::string> warnings;  // and errors; the net's log has them, too
};

// A path that a net carries (Net::tuned_paths).
struct TunedPathInfo {
  std::string machine;  // processor, features, caches; devices that the path uses
  int threads = 1;
  NamedShapes shapes;
  std::vector<std::string> schemas;  // patterns that were allowed
  double time_us = 0;                // of one run; 0: not measured
  double untuned_us = 0;             // of one run of the default plan, measured beside it
  double error = 0;                  // RMS(out − ref) / RMS(ref) against float32; 0: not measured
};

}  // namespace softneuro

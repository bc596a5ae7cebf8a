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
  //   "calibrate"  (samples) the samples run, for ranges of 8-bit tensors (where 8-bit schemas are
  //                allowed); reported once, at its start
  //   "unit"       (layers that differ) the candidates of each layer are measured in isolation
  //   "net"        (rounds, at most) the best path and paths that might be better run in turns, and
  //                their layers are measured inside the net
  //   "final"      (paths) the best paths are timed end to end
  //   "sensitivity"  (layers, or data types of layers) sensitivity analysis, where the fastest path
  //                exceeds max_error: what reduced precision of each layer does to the outputs;
  //                "final" may follow once more
  //   "verify"     (sets of inputs) the tuned net is compared with the model, within tolerances
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
// outputs for all validation samples are kept in memory (with TuneOptions::score twice).
struct SampleSource {
  std::size_t count = 0;
  // Sample `index`, from 0 to count − 1: input name → tensor. Called on the thread of tune(),
  // several times for one index, which gives the same sample each time. An error ends tuning with
  // it. Must not throw.
  std::function<Result<std::map<std::string, Tensor, std::less<>>>(std::size_t index)> make = {};
};

// Options of Net::tune.
struct TuneOptions {
  // Which schemas (device:type:layout of kernels) routines may have: "cpu" (any data type),
  // "cpu:float32" (any layout), "cpu:qint8:nhwc"; invalid_argument for a pattern that no routine
  // here matches. A layer that has no routine in them takes a float32 one, and is listed. float32
  // is added if no path within the schemas meets max_error.
  std::vector<std::string> schemas = {"cpu:float32"};
  // true: such a layer is an error (unsupported, naming every one).
  bool strict = false;
  // Routines that no layer may have, as patterns of whole names in which * stands for anything:
  // "cpu:float32:nhwc/wg", "*/onednn". Names leave out float32 and the plain layout: "cpu/direct".
  // A pattern that no routine matches gives a warning. A layer whose routines are all excluded is
  // an error (unsupported).
  std::vector<std::string> avoid = {};
  // Layer → the routine that it must have, by name or pattern, whatever the schemas and `avoid`
  // say. Errors: invalid_argument (no such layer, or it is a view), unsupported (no such routine
  // applies, with the reasons).
  std::map<std::string, std::string, std::less<>> pin = {};
  // Input shapes to tune for. May be left out: inputs of static shape, those that samples give,
  // those of the first tuned path.
  std::map<std::string, Shape, std::less<>> shapes = {};
  // Samples: input name → tensor for exactly the net's inputs, with their data types and shapes,
  // the same shapes in all samples. Needed for qint8, unless the model is already quantised, and
  // for max_error. Without `validation`, every fifth one (of two to four, the last) is held back
  // from calibration, and the error is measured on these; a single one serves for both, but then a
  // finite max_error is invalid_argument. The ranges that calibration finds replace those of an
  // earlier one; tuned paths with 8-bit layers that were for others are dropped, with a warning.
  std::vector<std::map<std::string, Tensor, std::less<>>> calibration = {};
  SampleSource calibration_source = {};  // more of them, appended to those
  RangeChoice range = RangeChoice::mse;
  // Samples that the error is measured on; calibration does not see them. Times and the
  // verification are of calibration samples; where there are none, of synthetic inputs.
  std::vector<std::map<std::string, Tensor, std::less<>>> validation = {};
  SampleSource validation_source = {};  // more of them, appended to those
  ErrorMetric metric = ErrorMetric::relative_rms;
  // A score of your own instead of `metric`: gets the net's outputs for the validation samples, in
  // their order, and gives a number that grows with their quality (accuracy, mAP); invalid_argument
  // if it is not finite. The error is what the tuned net loses of float32's score; 0 if it loses
  // nothing. Called on the thread of tune(), some ten times; an error ends tuning. Must not throw;
  // may call const members of the net, as `progress` may.
  std::function<Result<double>(const std::vector<std::map<std::string, Tensor, std::less<>>>&)>
      score = {};
  // The largest error that the tuned net may have on the validation samples, as measured by
  // `metric` or `score`; INFINITY: any. The fastest path that was found to meet it is taken, with
  // fewer layers in 8 and 16 bits where that is needed, all of them in float32 at the latest, even
  // if `schemas` leaves float32 out. An error (unsupported) if float32 does not meet it either.
  // nullopt: kDefaultMaxError where a path meets it, else a warning.
  // invalid_argument: nullopt with another metric than relative_rms or with `score`; finite without
  // validation samples and with fewer than two calibration samples.
  std::optional<double> max_error = std::nullopt;
  // The most bytes that the tuned net may take: the arenas of one session (MemoryReport::arena and
  // device_arenas) and packed weights, together; 0: no limit. The model's own constants, and what
  // libraries keep for each session (MemoryReport), are not counted. An error (unsupported) if no
  // plan that was found takes so little.
  std::size_t max_memory = 0;
  // Time limit for tuning; 0 or negative: no limit. It begins with tune(), or, where
  // there are samples, when calibration and float32's runs over the validation samples are done.
  // Each layer gets its part of it; layers that were not measured take default routines. Time is
  // kept free for one verification of the result, which is made even if it ends after the limit.
  std::chrono::milliseconds time_limit{0};
  // Threads to tune for, at most 1024; 0: as many as the net has. Any other number than the net's
  // has an effect only after save(): the path is for nets that are loaded with that number of
  // threads. Then tuning uses a pool of the library's own, not NetOptions::thread_pool.
  int threads = 0;
  // Folder of the profile cache; empty: $XDG_CACHE_HOME/softneuro, else $HOME/.cache/softneuro; a
  // variable counts if it is an absolute path, and where neither does, there is no cache (in C, ""
  // means no cache). If the folder cannot be made or written, a warning says so.
  std::string cache = {};
  bool use_cache = true;  // false: nothing is read or kept, and everything is verified
  // Checked between measurements: true ends tuning with the status `cancelled`; what was measured
  // is in the cache, and the net is as before. Must stay valid until tune() returns.
  const std::atomic<bool>* cancel = nullptr;
  // Must not throw. May call const members of the net: no lock is held, nothing is being measured.
  std::function<void(const TuneProgress&)> progress = {};
  // Maximum number of profiling rounds over the whole net, of up to eight paths each: for the
  // mixture of data types and devices, and again for each of these alone. They end earlier where no
  // path is left that might be better. Those of earlier tunings with the same cache count. Less
  // than 1 counts as 1. With `exhaustive` four times as many.
  int rounds = 6;
  // Number of the solver's best paths that are timed end to end in the last stage; less than 1
  // counts as 1; with `exhaustive` four times as many. The best path of each data type and device
  // alone, the smallest path (with max_memory) and default plans are timed as well. All are in
  // memory at once.
  int finalists = 1;
  // Measure candidates fully: none is stopped early, up to 32 combinations of a routine's
  // parameters are tried instead of 8, and blocks of 8 channels beside those of 16. Naive routines
  // are left out where there is any other. Slow; to evaluate the default method.
  bool exhaustive = false;
  // Sensitivity analysis (TuneReport::sensitivity: each layer's quantisation sensitivity) even
  // where the fastest path meets the limit.
  bool measure_sensitivity = false;
  // Pins each thread of the net, the calling one included, to a processor of its own while tuning
  // lasts: measurements are steadier on a loaded machine, where two of them may share a processor
  // otherwise. Without effect where there are fewer processors than threads.
  bool pin_threads = false;
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
  // Relative optimality gap of the solver's best path: (cost − lower bound) / cost, where a cost is
  // the sum of the measured times of layers and adapts. 0: proven optimal by that sum; 1: not
  // everything was measured, and no bound is known. The chosen path may be another one, which was
  // faster end to end or meets the error limit.
  double gap = 0;
  double error = 0;  // on the validation samples, by `metric` or `score`; 0: not measured
  // 95 % confidence interval of it for samples like these; both are `error` where that is not
  // known (a score, a single sample).
  double error_low = 0, error_high = 0;
  std::size_t validation_samples = 0;
  // Bytes of the tuned plan's arenas (of one session: MemoryReport::arena and device_arenas) and of
  // its packed weights, without what libraries keep for each session.
  std::size_t memory = 0;
  bool within_limit = true;                   // false only where the caller set no limit
  std::vector<LayerSensitivity> sensitivity;  // the greatest first; empty: not measured
  // RMS(out − ref) / RMS(ref) of the worst output against the model as it was imported, in its own
  // types and with its own rounding: the result of the verification at the end of tuning, or of an
  // earlier one of the same net, path, inputs and code (profile cache). It takes
  // `verification_inputs` sets of inputs: samples (`verified_on_samples`), or synthetic ones.
  double difference = 0;
  std::size_t verification_inputs = 0;
  bool verified_on_samples = false;
  // Top-1 agreement: share of the validation samples whose argmax of the first output is
  // float32's; 1 without validation samples. NaN where that output holds no scores of classes.
  double agreement = 1;
  double qint8_share = 0;  // share of multiply-accumulates done in qint8
  // false: the time limit was reached before everything was measured, or nothing was tuned.
  bool complete = true;
  std::string machine;  // as TunedPathInfo::machine
  int threads = 1;      // that the path is for
  // Inside the tuned net, by the routines' schemas, as in descriptors ("cpu": float32, plain);
  // "adapt": adapts.
  std::map<std::string, double> time_by_schema_us;
  std::vector<std::string> warnings;  // and errors; the net's log has them, too
};

// A path that a net carries (Net::tuned_paths).
struct TunedPathInfo {
  std::string machine;  // processor, features, caches; devices that the path uses
  int threads = 1;
  std::map<std::string, Shape, std::less<>> shapes;
  std::vector<std::string> schemas;  // patterns that were allowed
  double time_us = 0;                // of one run; 0: not measured
  double untuned_us = 0;             // of one run of the default plan, measured beside it
  double error = 0;                  // RMS(out − ref) / RMS(ref) against float32; 0: not measured
};

}  // namespace softneuro

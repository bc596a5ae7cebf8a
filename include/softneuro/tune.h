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

#include "softneuro/tensor.h"

namespace softneuro {

// What the progress callback gets, from the tuning thread, a few times per layer.
struct TuneProgress {
  const char* stage = "";  // "calibrate", "unit", "net", "compare", "confirm", "final", "noise",
                           // "proof"
  std::size_t done = 0;    // of this stage
  std::size_t total = 0;
  const char* layer = "";      // what is being measured; may be ""
  const char* candidate = "";  // its routine and parameters; may be ""
  double best_us = 0;          // the layer's best so far; 0: none yet
  double seconds_left = 0;     // of the time limit; 0: there is none
};

struct TuneOptions {
  // Which schemas routines may have: "cpu" (any data type), "cpu:float32" (any layout),
  // "cpu:qint8:nhwc". A layer that has no routine in them takes a float32 one, and is listed. The
  // net's default choices, where they are outside of them, are taken only if nothing else keeps
  // max_error.
  std::vector<std::string> schemas = {"cpu:float32"};
  // true: such a layer is an error (unsupported, naming every one).
  bool strict = false;
  // Input shapes to tune for; inputs of static shape may be left out, those that samples give too.
  std::map<std::string, Shape, std::less<>> shapes = {};
  // Samples: input name → tensor. Needed for qint8, unless the model brings its own ranges, and for
  // max_error. Every fifth one (at least one, if there are two) is held back from calibration: the
  // report's error is measured on these.
  std::vector<std::map<std::string, Tensor, std::less<>>> calibration = {};
  // RMS(out − ref) / RMS(ref) of the worst output against float32 that the tuned net may have on
  // samples like those given; 0: no limit. Held against what as many others should not exceed in 39
  // of 40 cases, which is more than what is measured, the more so the fewer samples carry the error
  // (docs/tuning.md).
  double max_error = 0;
  // Of measuring, which begins when calibration is done; 0: none. What was measured by then
  // decides; layers that were not reached take default choices.
  std::chrono::milliseconds time_limit{0};
  // Threads to tune for; 0: as many as the net has. Another number than the net's is only for
  // saving: the path serves nets that are loaded with that many.
  int threads = 0;
  // Folder of the profile cache; empty: $XDG_CACHE_HOME/softneuro, else ~/.cache/softneuro.
  std::string cache = {};
  bool use_cache = true;
  // Read between measurements: true ends tuning with the status `cancelled`; what was measured is
  // in the cache, and the net is as before.
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const TuneProgress&)> progress = {};
  // Whole-net passes at most, and best paths that are run end to end at last.
  int passes = 6;
  int finalists = 4;
  // Measure every candidate fully: no early stop, no filter. Slow; to judge the quick way.
  bool exhaustive = false;
};

// One row per layer or adapt of the tuned net, in order of execution (the paper's Table III).
struct TunedLayer {
  std::string layer;                 // name
  std::string type;                  // layer type; "adapt" for adapts
  std::string routine;               // descriptor: "cpu:float32:nhwc/wg"
  std::string params;                // "tile_size=6"
  std::string formats;               // "float32:nhwc -> float32:nhwc"
  std::vector<std::string> sources;  // nodes of the imported model
  double time_us = 0;                // inside the tuned net
  double unit_us = 0;                // the candidate alone
  std::size_t candidates = 0;        // that were considered
  bool fallback = false;             // no routine in the allowed schemas
};

struct TuneReport {
  std::vector<TunedLayer> layers;
  double untuned_us = 0;     // median of a run with default choices, measured beside the tuned one
  double tuned_us = 0;       // median of a run on the chosen path
  double seconds = 0;        // of tuning, calibration included
  std::size_t measured = 0;  // measurements made
  std::size_t from_cache = 0;  // measurements that the cache spared
  std::size_t rejected = 0;    // candidates dropped for wrong results
  double gap = 0;              // of the path that the solver gave; 0: proven optimal
  double error = 0;            // on the samples held back; 0: not measured
  // RMS(out − ref) / RMS(ref) of the worst output against the model as it was imported, in its own
  // types and with its own rounding, over `proof_inputs` sets of inputs: samples, or made ones.
  double difference = 0;
  std::size_t proof_inputs = 0;
  bool proved_on_samples = false;
  double agreement = 1;    // share of those samples whose largest output is at the same place
  double qint8_share = 0;  // share of multiply-accumulates done in qint8
  bool complete = true;    // false: the time limit came first
  std::string machine;
  int threads = 1;
  std::map<std::string, double> time_by_schema_us;
  std::vector<std::string> warnings;  // and errors; the net's log has them, too
};

// A path that a net carries (Net::tuned_paths).
struct TunedPathInfo {
  std::string machine;  // processor and instruction set
  int threads = 1;
  std::map<std::string, Shape, std::less<>> shapes;
  std::vector<std::string> schemas;
  double time_us = 0;
  double untuned_us = 0;
  double error = 0;
};

}  // namespace softneuro

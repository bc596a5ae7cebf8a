// Net: a model, ready to be planned, run and saved.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softneuro/session.h"
#include "softneuro/thread_pool.h"
#include "softneuro/tune.h"

namespace softneuro {

enum class LogLevel : int {
  debug = 0,
  info = 1,
  warning = 2,  // the work goes on, but slower, less exact or otherwise than asked
  error = 3,    // something is broken: a library, a routine, a file; the work goes on without it
};
// Called with one printable line by any thread that uses the net, also by several at once, and
// already while the net is loaded or imported. No lock is held: once the net has been returned, it
// may call const members of it. Must not throw. What it refers to must outlive the net and
// everything that comes from it.
using LogCallback = std::function<void(LogLevel, std::string_view message)>;

// Which checksums of a .dnn file are compared before it is used: `full` those of the weights, too,
// which reads them all once. Structure (indices, sizes, cycles…) is always checked.
enum class Verify : int { full = 0, structure = 1 };

// How a net runs, wherever it comes from. Intended for designated initialisers:
//   Net::load("a.dnn", {.threads = 2})
//   Net::import("a.onnx", {.threads = 2}, {.shapes = {{"x", {1, 3, 224, 224}}}})
// Options that only imports need are in ImportOptions. Plans and sessions that outlive the net keep
// its pool, allocator, log, plugins and schemas.
struct NetOptions {
  // Maximum number of threads that work for one caller, the calling thread included; at most 1024.
  // 0: one for each physical core that this process may use (processor affinity, the quota of its
  // cgroup).
  // A net has threads − 1 workers of its own in total, however many callers there are. Several
  // callers at once work on their own threads and share the workers: C callers keep at most C +
  // threads − 1 cores busy. Workers help with at most 8 layers at a time; further callers compute
  // theirs alone. Other nets have workers of their own; a thread_pool is how nets share them.
  int threads = 0;
  // The application's pool instead (then `threads` is ignored). Must outlive the net and everything
  // that comes from it.
  ThreadPool* thread_pool = nullptr;
  // For tensors that the net makes, weights that are not mapped from a file, packed weights and
  // arenas; nullptr: default_allocator(). Not for mapped files, graph and plans, constants that an
  // import makes of attributes, nor for what import and calibration need while they last. Two
  // requests are freed before the call returns: load() takes a copy of a mapped file's graph part,
  // and plan() asks for the bytes of the largest tensor, if it has 64 MiB or more, to see whether
  // it fits. Must outlive the net and everything that comes from it.
  Allocator* allocator = nullptr;
  LogCallback log = {};
  Verify verify = Verify::full;  // checksums of .dnn files
  // Shared libraries with routines (plugin.h), by path, loaded in order; if one cannot be loaded,
  // creating the net fails. Before them, softneuro's own in softneuro/plugins beside libsoftneuro,
  // unless "none" is in the list; if one of these cannot be loaded, the log says so. An empty list:
  // the colon-separated SOFTNEURO_PLUGINS of the environment, if set (not in set-uid programs); any
  // other list, {"none"} too, replaces it. A path without a slash is in the current folder.
  // Unsupported in edge builds.
  std::vector<std::string> plugins = {};
  // Schemas (device:type:layout of kernels) that layers without a tuned choice take their routines
  // from ("cpu", "cpu:float32"); empty: all. A pattern that no routine here matches is an error
  // (invalid_argument) that lists the schemas there are. A layer that has no routine in them takes
  // a float32 one. Schemas restrict and do not convert: an untuned net is computed in the model's
  // data types, and not in TF32 unless a pattern names it ("cuda:tf32"). To compute a float32 model
  // in 16 or 8 bits, tune it. Tuned paths are used whatever this says: TuneOptions::schemas limits
  // those.
  std::vector<std::string> schemas = {};
  // Where layers without a tuned choice run as far as there are routines for them: the name of a
  // plugin's device ("cuda"), which of them if there are several behind the name ("cuda=1": the
  // second; a name alone is the first); "" or "cpu": this processor. Other layers run on the
  // processor, in the same plan. It also says which one of several tuned choices use: these name
  // "cuda", never a number. not_found if it is not here, or cannot be used.
  std::string device = {};
  // Maximum number of plans that the net caches (one per set of input shapes and extra outputs),
  // least recently used evicted first; >= 1.
  std::size_t max_plans = 8;
  // The most bytes that the net may take on each device but the host, for arenas, packed weights
  // and what tuning measures; 0: as many as there are. What is beyond gives out_of_memory.
  std::size_t device_memory = 0;
};

class Net;

// How a model becomes a net.
struct ImportOptions {
  // Shapes to fix for inputs with dynamic dimensions, so that passes can rely on them: all
  // dimensions of each input that is named. The size of a symbol also holds in the other inputs
  // that name it (not so in Net::plan). One that contradicts the model, or another one, is
  // invalid_argument.
  NamedShapes shapes = {};
  // Inputs that always have the same value, by name: the net does not have them, and what follows
  // from them is settled at import, branches among it (a sampling rate, a switch). Of the input's
  // type and a shape that fits; one number is taken for any shape of one element and from any
  // numeric type: rounded for a floating-point input, else it must be the same. Copied. What does
  // not fit is invalid_argument.
  NamedTensors constants = {};
  // Passes to disable, by name; "all": every one. `softneuro inspect --passes` lists them.
  std::vector<std::string> disabled_passes = {};
  // Where external data of a model in memory is looked for; empty: refused. Files have their own
  // folder, and this is not read.
  std::string folder = {};
  // Compare the graph after the passes with the model as it is written, layer by layer, on inputs
  // that are made to show what passes may get wrong. Where a pass changes more than rounding
  // explains, the import is an error (internal) that names the pass and the nodes. Takes a few
  // tenths of a second, or about as long as one run of the model without passes where that is more,
  // and about as much memory. Where it cannot be done (the model runs on no synthetic inputs, and
  // there are no samples), the log says so (level info).
  bool verify = false;
  // Makes samples, inputs of the model as it gets them in use, that `verify` compares on before it
  // makes inputs: the first sample, and more as long as that is quick. Called once where `verify`
  // is set, on the calling thread, with the imported net, whose inputs() a sample names: each one,
  // with its type and a shape that fits, else the import is invalid_argument. An error that it
  // returns is the import's.
  std::function<Result<std::vector<NamedTensors>>(const Net& net)> samples = {};
  // Once it is true, the import returns cancelled. Checked between nodes, between passes and
  // between layers that are computed beforehand. Must stay valid until the call returns.
  const std::atomic<bool>* cancel = nullptr;
};

struct SaveOptions {
  // Also write the weights pre-packed in the memory layout of each kernel of this machine's tuned
  // paths: loading then packs and copies nothing. The file grows by about the size of the weights.
  bool packed_weights = false;
  // A deployment file: packed weights, and of the model's own only those that a kernel of these
  // paths reads. It runs where each kernel finds its packed weights: on processors with the same
  // best instruction set (avx512, avx2 or neither, which 64-bit ARM always is here:
  // TunedPathInfo::machine names it), with other shapes or numbers of threads only if the routines
  // pack the same. Elsewhere plan() and run() are unsupported and name the layer, and so is tuning
  // what is loaded from it. Paths of other machines are left out. The net itself stays as it is.
  bool packed_only = false;
};

// A handle: copies share one net; one that was moved from may only be assigned to or destroyed.
// Thread safe: all const members may be called at once.
class SN_API Net {
 public:
  // --- where nets come from ----------------------------------------------------------------------
  // From a model file (.onnx). In the library softneuro::import, not needed at run time. Files with
  // external data are mapped: for them holds what load() says of its file.
  // Errors: not_found and io_error (the file, or one with external data), invalid_model,
  // unsupported (an operator, or a use of one), invalid_argument (options, unknown schemas, a .dnn
  // file), out_of_memory, cancelled; not_found also for a shape or constant for a name that is not
  // an input. A plugin that cannot be loaded: not_found, io_error, invalid_argument (not a plugin,
  // or a malformed one), incompatible (another version), unsupported or device_failed (not usable
  // here).
  static Result<Net> import(const std::string& path, const NetOptions& options = {},
                            const ImportOptions& import_options = {}) noexcept;
  // From a model in memory, which is not needed afterwards. Errors: as for import().
  static Result<Net> import_memory(const void* data, std::size_t bytes,
                                   const NetOptions& options = {},
                                   const ImportOptions& import_options = {}) noexcept;
  // From a .dnn file, mapped into memory: weights are not copied. Until the net and everything that
  // comes from it is gone, the file may be replaced (renamed over, as save() does, also of this
  // net) or removed, but neither written in place nor truncated: weights would change, or SIGBUS
  // end the process.
  // Errors: not_found and io_error (the file), corrupt_file (it is no .dnn file, bytes are
  // missing, or do not match their checksum), incompatible (a newer SoftNeuro wrote it),
  // unsupported (a layer type or post-op that this library lacks), invalid_model (the contents are
  // malformed or inconsistent), invalid_argument (options, unknown schemas), out_of_memory; for
  // plugins as import().
  static Result<Net> load(const std::string& path, const NetOptions& options = {}) noexcept;
  // From the bytes of a .dnn file. The bytes must stay alive and unchanged until the net and
  // everything that comes from it is gone. They are used in place if aligned to 64 bytes, else
  // copied once. Errors: as for load().
  static Result<Net> load_memory(const void* data, std::size_t bytes,
                                 const NetOptions& options = {}) noexcept;
  // Writes a .dnn file: to a temporary file beside it, synced, then renamed, so that the file is
  // replaced as a whole or not at all. Allowed during a tune(), and then writes the state before
  // it. Only files can be written, not memory. After an io_error whose message begins with
  // "written, but" it was replaced, and may not survive a power failure. Errors: io_error,
  // unsupported (the graph takes more than the format can hold), out_of_memory; invalid_argument
  // (packed_only without a tuned path for this machine; a net that was loaded from such a file,
  // saved otherwise); with packed weights also those of plan().
  Status save(const std::string& path, const SaveOptions& options = {}) const noexcept;

  // --- tuning ---------------------------------------------------------------------------------
  // Measures which routine computes each layer fastest here, in isolation and inside the net, and
  // keeps the fastest path for these shapes and threads; run() and plans made from now on use it,
  // save() writes it. Takes seconds to minutes (docs/results/performance.md, table IV);
  // TuneOptions::time_limit bounds it. The caller must not run two tune() calls on one net at a
  // time; all const members may be called meanwhile, but disturb the measuring. Not in edge builds.
  // Errors: invalid_argument (options, samples; qint8 without ranges), unsupported (strict, an
  // error or memory limit that nothing meets, or a net from a packed_only file), not_found (a shape
  // for a name that is not an input), cancelled, internal (the tuned net differs from the model:
  // please report it), out_of_memory, device_failed, what a callback returned. The net is then as
  // before. A net that fails on all synthetic inputs is not tuned without samples, which is no
  // error: the report has no layers, and a warning.
  Result<TuneReport> tune(const TuneOptions& options = {}) noexcept;

  // The tuned paths that the net carries, one per machine, thread count and set of shapes, in the
  // order in which they were made; one that replaces another has its place. Where none fits
  // exactly, the best-matching one (same machine before same shapes before same thread count) is
  // used as far as its choices apply, and the log says so (level info; a warning for each choice
  // that is replaced). May throw std::bad_alloc.
  std::vector<TunedPathInfo> tuned_paths() const;

  // --- what it is -----------------------------------------------------------------------------
  // Valid until the last copy of the net is gone.
  std::span<const TensorInfo> inputs() const noexcept;
  std::span<const TensorInfo> outputs() const noexcept;
  MemoryReport memory_report() const;  // may throw std::bad_alloc
  // Frees what nobody uses: idle sessions that run() keeps, and memory of devices that was given
  // back and waits for its next use. Plans and packed weights stay.
  void trim() const noexcept;

  // --- running --------------------------------------------------------------------------------
  // In one call: name → tensor in, name → tensor out: newly allocated from
  // NetOptions::allocator for each call, owned by the returned tensors. Plans the shapes of
  // `inputs` if they were not planned before. With `outputs`, only those are returned: any names of
  // graph outputs or intermediate tensors; the net's own outputs are computed as well. Inputs may
  // be on a device (plan()); outputs are on the host. `options.cancel` stops the planning, too.
  // Errors: those of plan(); invalid_argument (an input is missing or has another data type; values
  // that a layer cannot take, such as an index out of range), what a plugin's kernel returns.
  Result<NamedTensors> run(const NamedTensors& inputs, std::span<const std::string> outputs = {},
                           const RunOptions& options = {}) const noexcept;
  // Plans ahead, so that run() on these shapes is quick from the first time on. Returns cancelled
  // once `*cancel` is true, which is checked between layers; `cancel` must stay valid until the
  // call returns. Other errors: those of plan().
  Status prepare(const NamedShapes& shapes = {},
                 const std::atomic<bool>* cancel = nullptr) const noexcept;
  // The plan for given input shapes, kept for later calls; it may outlive the net. May be left out:
  // inputs of static shape, and, once the net has a tuned path, all others: they take the shape of
  // its first one (tuned_paths()[0]). `extra_outputs`: intermediate tensors, by name, to be
  // appended to the net's own outputs; a name that is an output already adds none. `cancel` as for
  // prepare(). `devices`: inputs and outputs, by name, that the caller has on a device of a plugin
  // (Tensor::borrow_device); others are on the host. Their bytes are in the plain layout and the
  // model's data type, aligned to 16, in memory that the device's own library gave for the GPU of
  // the net; inputs are there when a run begins, outputs when it has ended. An output that is an
  // input, a constant or the same as another one, or whose shape depends on data, is unsupported
  // there. Errors: not_found (no such input or tensor), invalid_argument (a shape does not fit
  // the model or another input, or is missing), invalid_model (a layer cannot take these shapes),
  // unsupported (no routine for a layer here), out_of_memory, cancelled, device_failed.
  Result<std::shared_ptr<const Plan>> plan(const NamedShapes& shapes = {},
                                           std::span<const std::string> extra_outputs = {},
                                           const std::atomic<bool>* cancel = nullptr,
                                           const NamedDevices& devices = {}) const noexcept;

 private:
  struct Impl;
  friend struct NetAccess;
  explicit Net(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace softneuro

// The inside of a Net: the graph, and the plans and idle sessions that it keeps.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/dnn/file.h"
#include "core/graph/graph.h"
#include "core/plan/runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "softneuro/net.h"

namespace softneuro {

struct TuneJob;

struct Net::Impl {
  // A plan for one set of input shapes and outputs, with the sessions that wait for work.
  struct Planned {
    std::string key;
    std::shared_ptr<const Plan> plan;
    std::vector<Session> idle;
  };

  std::shared_ptr<Runtime> runtime;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::size_t max_plans = 8;
  NetOptions net_options;  // tuning makes pools of other sizes

  mutable std::mutex mutex;            // guards what follows; never held while planning
  std::shared_ptr<const Graph> graph;  // tuning may replace it
  std::vector<RoutinePath> paths;      // tuned ones, at most one per machine, threads and shapes
  std::size_t revision = 0;            // of graph and paths
  std::list<Planned> plans;            // most recently used first

  // The net in a file that was read. What of it is left out is logged.
  static Result<Net> of(DnnContents contents, const NetOptions& options);
  // Shapes that the net was tuned for; empty if it was not.
  NamedShapes tuned_shapes() const;
  // One shape per graph input, checked against what the model says of it.
  Result<std::vector<Shape>> resolve_shapes(const NamedShapes& shapes) const;
  Result<std::shared_ptr<const Plan>> plan_for(std::span<const Shape> shapes,
                                               std::span<const std::string> extra_outputs,
                                               const NamedDevices& devices,
                                               const std::atomic<bool>* cancel);
  std::shared_ptr<const Graph> current_graph() const;
  // The tuned path that fits best: the same machine counts before the same shapes, and these before
  // the same thread count. Null if there is no path. Precondition: the caller holds the mutex.
  std::shared_ptr<const RoutinePath> path_for(std::span<const Shape> shapes) const;
  bool has_shapes(const RoutinePath& path, std::span<const Shape> shapes) const;
  // A runtime of so many threads: that of the net, or another one with its options. 0: the net's.
  Result<std::shared_ptr<Runtime>> runtime_of(int threads) const;
  bool is_of_this_machine(const RoutinePath& path) const {
    return path.machine == machine_of(path, runtime->registry(), path.threads);
  }
  // Those of this machine's paths among `tuned`.
  Result<std::vector<std::shared_ptr<const Plan>>> plans_for_saving(
      const std::shared_ptr<const Graph>& saved, std::span<const RoutinePath> tuned);
  // What the kernels of this machine's tuned paths have packed.
  Result<PackedByKey> packed_for_saving(const std::shared_ptr<const Graph>& saved,
                                        std::span<const RoutinePath> tuned);
  // The same for SaveOptions::packed_only: `saved` without the weights that these kernels read in
  // that order alone, `tuned` without the paths of other machines.
  Result<PackedByKey> leave_out_weights(std::shared_ptr<const Graph>& saved,
                                        std::vector<RoutinePath>& tuned);
  void log_path_match(const RoutinePath& path, std::span<const Shape> shapes,
                      const ReplacedChoices& replaced) const;
  Result<TuneReport> tune(const TuneOptions& options);
  // Runs the model on the samples, and calibrates. The options outlive the job. Without
  // verification_inputs, as a warning says, where the model fails on all that can be made.
  Result<TuneJob> prepare_tuning(const TuneOptions& options) const;
  // The one for this machine, the threads of `tuning_runtime` and exactly these shapes.
  std::optional<RoutinePath> tuned_path(const Runtime& tuning_runtime,
                                        std::span<const Shape> shapes) const;
  // Replaces the path for the same machine, threads and shapes; plans are made anew. Where the
  // graph differs in quantisation alone (`same_layers`), paths without 8-bit layers stay; returns
  // how many were dropped.
  std::size_t keep_path(RoutinePath path, std::shared_ptr<const Graph> tuned_graph,
                        bool same_layers);
  // An idle session over `plan`, or a new one; give it back when done.
  Result<Session> take_session(const std::shared_ptr<const Plan>& plan);
  void give_back(const std::shared_ptr<const Plan>& plan, Session session);
  void trim();
};

}  // namespace softneuro

// The inside of a Net: the graph, and the plans and idle sessions that it keeps.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/net_core.h"
#include "softneuro/net.h"

namespace softneuro {

struct Net::Impl {
  // A plan for one set of input shapes and outputs, with the sessions that wait for work.
  struct Planned {
    std::string key;
    std::shared_ptr<const Plan> plan;
    std::vector<Session> idle;
  };

  std::shared_ptr<NetCore> core;
  std::shared_ptr<const Graph> graph;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::size_t max_plans = 8;

  std::mutex mutex;          // guards `plans` and what is in them; never held while planning
  std::list<Planned> plans;  // most recently used first

  // One shape per graph input, checked against what the model says of it.
  Result<std::vector<Shape>> resolve_shapes(const NamedShapes& shapes) const;
  Result<std::shared_ptr<const Plan>> plan_for(std::span<const Shape> shapes,
                                               std::span<const std::string> extra_outputs);
  // An idle session over `plan`, or a new one; give it back when done.
  Result<Session> take_session(const std::shared_ptr<const Plan>& plan);
  void give_back(const std::shared_ptr<const Plan>& plan, Session session);
};

}  // namespace softneuro

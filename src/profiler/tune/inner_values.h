// Values of inner tensors of a graph, as runs with default choices give them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan_impl.h"
#include "softneuro/session.h"

namespace softneuro {

// Runs a graph (verified, sorted) with default choices.
class InnerValues {
 public:
  InnerValues(std::shared_ptr<Runtime> core, std::shared_ptr<const Graph> graph,
              std::span<const Shape> shapes);

  // Hands the tensors `wanted` to `see` in their order, plain and in the model's data types, as a
  // run on `inputs` gives them, which are in the order of the graph's inputs; each is valid during
  // the call only. Runs several times, for some of the tensors at a time, where all together are
  // large. The plan of the last run is kept: the same tensors on other inputs need no other one.
  Status read(std::span<const Tensor> inputs, std::span<const TensorId> wanted,
              const std::function<Status(TensorId, const Tensor&)>& see);

 private:
  Status read_part(std::span<const Tensor> inputs, std::span<const TensorId> part,
                   const std::function<Status(TensorId, const Tensor&)>& see);
  Status prepare(std::span<const TensorId> part);

  std::shared_ptr<Runtime> core_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Shape> shapes_;
  std::unique_ptr<const PlanImpl> outline_;  // for sizes
  std::vector<TensorId> part_;               // what the session is for
  std::vector<std::size_t> places_;          // of its tensors among the outputs
  std::optional<Session> session_;
};

}  // namespace softneuro

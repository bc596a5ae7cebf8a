// What the targets of this source tree do with a Net beyond its public API.
#pragma once

#include "softneuro/net.h"

namespace softneuro {

class Graph;
class Registry;
class Runtime;

struct NetAccess {
  // From a graph of verified or unverified layers: what every import and load ends with.
  // Errors: invalid_model, invalid_argument (options).
  SN_INTREE static Result<Net> from_graph(Graph graph, const NetOptions& options = {}) noexcept;
  // Valid until the net is tuned or gone.
  SN_INTREE static const Graph& graph(const Net& net) noexcept;
  SN_INTREE static const Registry& registry(const Net& net) noexcept;
  SN_INTREE static const std::shared_ptr<Runtime>& runtime(const Net& net) noexcept;
  // The shape of each input, as Net::plan() takes them, with its errors.
  SN_INTREE static Result<std::vector<Shape>> resolve_shapes(const Net& net,
                                                             const NamedShapes& shapes);
};

}  // namespace softneuro

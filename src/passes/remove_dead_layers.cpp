// remove_dead_layers: what no output of the graph needs.
//
// Layers whose outputs are unused go, backwards along the graph; so do optional outputs that are
// unused (a dropout mask, the indices of a pooling), which lets routines skip that work.
#include "passes/rewriter.h"

namespace softneuro {
namespace {

bool is_needed(const Rewriter& rewriter, TensorId id) {
  return id != kNoTensor && (rewriter.is_output(id) || rewriter.uses().first(id) != nullptr);
}

// Optional outputs are those behind the first outputs.min; lists of outputs have none.
void drop_unread_outputs(Rewriter& rewriter, int i) {
  const LayerType& type = *rewriter.layer(i).type;
  if (type.outputs.max == -1) return;
  std::size_t count = rewriter.layer(i).outputs.size();
  for (std::size_t k = static_cast<std::size_t>(type.outputs.min); k < count; ++k) {
    const TensorId id = rewriter.layer(i).outputs[k];
    if (id == kNoTensor || is_needed(rewriter, id)) continue;
    rewriter.set_output(i, k, kNoTensor);
    ++rewriter.context().changes;
  }
  while (count > static_cast<std::size_t>(type.outputs.min) &&
         rewriter.layer(i).outputs[count - 1] == kNoTensor)
    --count;
  rewriter.layer(i).outputs.resize(count);
}

}  // namespace

Status remove_dead_layers(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = rewriter.count() - 1; i >= 0; --i) {
    bool needed = false;
    for (const TensorId id : rewriter.layer(i).outputs) needed |= is_needed(rewriter, id);
    if (needed) {
      drop_unread_outputs(rewriter, i);
    } else {
      rewriter.remove(i);
      ++rewriter.context().changes;
    }
  }
  SN_RETURN_IF_ERROR(rewriter.finish());
  graph.compact_tensors();  // constants that the importer left behind
  return {};
}

}  // namespace softneuro

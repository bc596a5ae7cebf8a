// merge_duplicates: equal constants become one, and so do layers that compute the same.
//
// Exporters write the same scalar, the same Shape and the same mask once per use; patterns that
// read a value twice (x − mean(x) in a layer norm) are found more easily when it is one tensor.
#include <cstring>
#include <unordered_map>

#include "passes/rewriter.h"

namespace softneuro {
namespace {

// Larger constants are weights: equal ones are rare, and comparing them costs time.
constexpr std::size_t kMaxCompared = std::size_t{1} << 16;

void merge_constants(Rewriter& rewriter) {
  std::unordered_map<std::string, TensorId> seen;
  const auto count = static_cast<TensorId>(rewriter.graph().tensor_count());
  for (TensorId id = 0; id < count; ++id) {
    const TensorDef& def = rewriter.tensor(id);
    if (!def.is_constant() || def.quantization || rewriter.is_output(id) ||
        def.constant.bytes() > kMaxCompared || rewriter.uses().first(id) == nullptr)
      continue;
    std::string key = fmt::format("{} {} ", to_string(def.type), def.constant.shape().str());
    if (def.constant.bytes() > 0)
      key.append(static_cast<const char*>(def.constant.data()), def.constant.bytes());
    const auto [it, is_new] = seen.emplace(std::move(key), id);
    if (is_new) continue;
    rewriter.redirect(id, it->second);
    ++rewriter.context().changes;
  }
}

// All that decides a layer's results, but for the number of outputs that are asked for.
std::string key_of(const Layer& layer) {
  std::string key = layer.type->name + "{" + layer.params.str() + "}";
  for (const PostOp& op : layer.post_ops) {
    key += ';' + op.str();
    // str() prints floats for people; here their bits count.
    key.append(reinterpret_cast<const char*>(&op.alpha), sizeof op.alpha);
    key.append(reinterpret_cast<const char*>(&op.beta), sizeof op.beta);
  }
  for (const TensorId id : layer.inputs) key += fmt::format(" {}", id);
  return key;
}

bool has_output_of_graph(const Rewriter& rewriter, int i) {
  for (const TensorId id : rewriter.layer(i).outputs)
    if (id != kNoTensor && rewriter.is_output(id)) return true;
  return false;
}

// Whether everything that `gone` makes can be taken from `kept`.
bool covers(const Rewriter& rewriter, int kept, int gone) {
  const std::vector<TensorId>& k = rewriter.layer(kept).outputs;
  const std::vector<TensorId>& g = rewriter.layer(gone).outputs;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (g[i] == kNoTensor) continue;
    if (i >= k.size() || k[i] == kNoTensor || rewriter.tensor(g[i]).quantization ||
        rewriter.tensor(k[i]).quantization)
      return false;
  }
  return true;
}

void merge(Rewriter& rewriter, int kept, int gone) {
  const std::vector<TensorId> from = rewriter.layer(gone).outputs;
  const std::vector<TensorId> to = rewriter.layer(kept).outputs;
  rewriter.add_sources(kept, gone);
  rewriter.remove(gone);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != kNoTensor) rewriter.redirect(from[i], to[i]);
  ++rewriter.context().changes;
}

}  // namespace

Status merge_duplicates(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  merge_constants(rewriter);
  std::unordered_map<std::string, int> seen;
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.layer(i).subgraphs.empty()) continue;
    const auto [it, is_new] = seen.emplace(key_of(rewriter.layer(i)), i);
    if (is_new) continue;
    // A layer that makes an output of the graph stays, for that tensor's name.
    if (!has_output_of_graph(rewriter, i)) {
      if (covers(rewriter, it->second, i)) merge(rewriter, it->second, i);
    } else if (!has_output_of_graph(rewriter, it->second) && covers(rewriter, i, it->second)) {
      // Layers in between may read what the earlier one makes: finish() sorts again.
      merge(rewriter, i, it->second);
      it->second = i;
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro

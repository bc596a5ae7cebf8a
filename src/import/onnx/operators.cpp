#include "import/onnx/operators.h"

#include <map>

namespace softneuro::onnx {
namespace {

using Table = std::multimap<std::string_view, const Operator*>;

Table make_table() {
  Table table;
  for (const OperatorList list : operator_lists())
    for (const Operator& op : list()) table.emplace(op.name, &op);
  return table;
}

}  // namespace

const Operator* find_operator(std::string_view name, std::int64_t opset) {
  static const Table table = make_table();
  const Operator* best = nullptr;
  const auto [first, last] = table.equal_range(name);
  for (auto it = first; it != last; ++it)
    if (it->second->since <= opset && (best == nullptr || it->second->since > best->since))
      best = it->second;
  return best;
}

}  // namespace softneuro::onnx

#include "import/onnx/node_order.h"

#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <unordered_map>

namespace softneuro::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

// Calls visit(name) for each value that the node, or a graph inside of it, may take from outside.
void for_each_use(const NodeProto& node, const std::function<void(std::string_view)>& visit) {
  for (const std::string& input : node.input()) visit(input);
  for (const AttributeProto& attribute : node.attribute()) {
    for (const NodeProto& inner : attribute.g().node()) for_each_use(inner, visit);
    for (const ValueInfoProto& output : attribute.g().output()) visit(output.name());
  }
}

}  // namespace

std::vector<int> order_of(const Nodes& nodes) {
  std::vector<int> in_file(static_cast<std::size_t>(nodes.size()));
  std::iota(in_file.begin(), in_file.end(), 0);
  std::unordered_map<std::string_view, int> makers;  // by value; of two, the first
  for (const int i : in_file)
    for (const std::string& output : nodes[i].output())
      if (!output.empty()) makers.emplace(output, i);
  std::vector<std::vector<int>> users(in_file.size());
  std::vector<int> waits_for(in_file.size(), 0);
  bool is_ordered = true;
  for (const int i : in_file)
    for_each_use(nodes[i], [&](std::string_view name) {
      const auto maker = makers.find(name);
      if (maker == makers.end() || maker->second == i) return;
      users[static_cast<std::size_t>(maker->second)].push_back(i);
      ++waits_for[static_cast<std::size_t>(i)];
      is_ordered = is_ordered && maker->second < i;
    });
  if (is_ordered) return in_file;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (const int i : in_file)
    if (waits_for[static_cast<std::size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int user : users[static_cast<std::size_t>(next)])
      if (--waits_for[static_cast<std::size_t>(user)] == 0) ready.push(user);
  }
  return order.size() == in_file.size() ? order : in_file;
}

}  // namespace softneuro::onnx

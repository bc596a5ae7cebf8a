// build_model: layers here, tensors in hubs.cpp.
#include "dprs/model.h"

#include <algorithm>

#include "dprs/hubs.h"

namespace softneuro::dprs {
namespace {

// Tables of separate variables beyond this many cells become one variable over signatures.
constexpr std::size_t kLayerCells = 4096;

// A set of a layer's ports that have the same format in every candidate.
struct Column {
  std::vector<int> formats;  // per active signature
  std::vector<int> domain;   // the distinct ones, ascending
  int value_of(std::size_t signature) const {
    return static_cast<int>(std::lower_bound(domain.begin(), domain.end(), formats[signature]) -
                            domain.begin());
  }
};

class LayerBuilder {
 public:
  LayerBuilder(const Net& net, const Weights& weights, int ranks, int layer, Model& model)
      : signatures_(net.layers[at(layer)]),
        times_(weights.time[at(layer)]),
        ranks_(ranks),
        layer_(layer),
        model_(model) {}

  // The ports' views, in the order of Signatures::ports; empty if no candidate is left.
  bool run(std::vector<PortView>& views) {
    find_active();
    if (active_.empty()) return false;
    find_columns();
    make_variables(views);
    fill_table();
    return true;
  }

 private:
  // Candidates per signature, the fastest first; only `ranks_` of them can matter.
  void find_active() {
    std::vector<std::vector<int>> members(signatures_.formats.size());
    for (std::size_t c = 0; c < times_.size(); ++c)
      if (times_[c] < kInfinity)
        members[at(signatures_.of_candidate[c])].push_back(static_cast<int>(c));
    for (std::size_t s = 0; s < members.size(); ++s) {
      if (members[s].empty()) continue;
      std::stable_sort(members[s].begin(), members[s].end(),
                       [&](int a, int b) { return times_[at(a)] < times_[at(b)]; });
      if (members[s].size() > at(ranks_)) members[s].resize(at(ranks_));
      most_ranks_ = std::max(most_ranks_, static_cast<int>(members[s].size()));
      active_.push_back(s);
      members_.push_back(std::move(members[s]));
    }
  }

  void find_columns() {
    column_of_port_.assign(signatures_.ports.size(), -1);
    for (std::size_t p = 0; p < signatures_.ports.size(); ++p) {
      Column column;
      for (const std::size_t s : active_) column.formats.push_back(signatures_.formats[s][p]);
      column.domain = column.formats;
      std::sort(column.domain.begin(), column.domain.end());
      column.domain.erase(std::unique(column.domain.begin(), column.domain.end()),
                          column.domain.end());
      if (column.domain.size() == 1) continue;  // a constant
      const auto same = std::find_if(columns_.begin(), columns_.end(), [&](const Column& other) {
        return other.formats == column.formats;
      });
      column_of_port_[p] = static_cast<int>(same - columns_.begin());
      if (same == columns_.end()) columns_.push_back(std::move(column));
    }
  }

  // One variable over signatures is better where there are hardly more of them than formats, and
  // needed where the table over separate columns would be large.
  bool is_joint() const {
    std::size_t cells = 1;
    std::size_t largest = 1;
    for (const Column& column : columns_) {
      if (cells <= kLayerCells) cells *= column.domain.size();
      largest = std::max(largest, column.domain.size());
    }
    return columns_.size() > 1 && (cells > kLayerCells || 2 * active_.size() <= 3 * largest);
  }

  int add_variable(std::size_t size) {
    model_.variables.push_back({static_cast<int>(size), true});
    table().variables.push_back(static_cast<int>(model_.variables.size()) - 1);
    return table().variables.back();
  }
  Model::LayerTable& table() { return model_.layers[at(layer_)]; }

  void make_variables(std::vector<PortView>& views) {
    joint_ = is_joint();
    if (joint_) {
      add_variable(active_.size());
    } else {
      for (const Column& column : columns_) add_variable(column.domain.size());
    }
    for (std::size_t p = 0; p < signatures_.ports.size(); ++p) {
      const int column = column_of_port_[p];
      PortView view;
      if (column == -1) {
        view.formats = {signatures_.formats[active_[0]][p]};
      } else {
        view.variable = joint_ ? table().variables[0] : table().variables[at(column)];
        view.formats = joint_ ? columns_[at(column)].formats : columns_[at(column)].domain;
      }
      views.push_back(std::move(view));
    }
    if (most_ranks_ > 1) add_variable(at(most_ranks_));
  }

  void fill_table() {
    std::size_t cells = 1;
    for (const int variable : table().variables) cells *= at(model_.variables[at(variable)].size);
    table().candidates.assign(cells, -1);
    std::vector<Cost> costs(cells, kInfinity);
    for (std::size_t s = 0; s < active_.size(); ++s) {
      std::size_t cell = 0;
      if (joint_) {
        cell = s;
      } else {
        for (const Column& column : columns_)
          cell = cell * column.domain.size() + at(column.value_of(s));
      }
      for (std::size_t rank = 0; rank < members_[s].size(); ++rank) {
        const std::size_t ranked = cell * at(most_ranks_) + rank;
        table().candidates[ranked] = members_[s][rank];
        costs[ranked] = times_[at(members_[s][rank])];
      }
    }
    if (table().variables.empty())
      model_.constant += costs[0];
    else
      model_.factors.push_back({table().variables, std::move(costs)});
  }

  const Net::Signatures& signatures_;
  const std::vector<Cost>& times_;
  int ranks_;
  int layer_;
  Model& model_;
  std::vector<std::size_t> active_;        // signatures
  std::vector<std::vector<int>> members_;  // per active signature, candidates
  int most_ranks_ = 1;
  std::vector<Column> columns_;
  std::vector<int> column_of_port_;
  bool joint_ = false;
};

}  // namespace

std::vector<int> Model::choice(const std::vector<int>& values) const {
  std::vector<int> result;
  result.reserve(layers.size());
  for (const LayerTable& table : layers) {
    std::size_t cell = 0;
    for (const int variable : table.variables)
      cell = cell * at(variables[at(variable)].size) + at(values[at(variable)]);
    result.push_back(table.candidates[cell]);
  }
  return result;
}

Model build_model(const Net& net, const Weights& weights, const Encoding& encoding) {
  Model model;
  model.layers.resize(net.layers.size());
  std::vector<TensorPorts> tensors(net.problem.tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t)
    tensors[t].maker = {-1, {net.problem.tensors[t].fixed_format}};
  for (std::size_t l = 0; l < net.layers.size(); ++l) {
    std::vector<PortView> views;
    LayerBuilder layer(net, weights, encoding.ranks, static_cast<int>(l), model);
    if (!layer.run(views)) {
      model.constant = kInfinity;
      return model;
    }
    for (std::size_t p = 0; p < views.size(); ++p) {
      const Net::Port& port = net.layers[l].ports[p];
      TensorPorts& tensor = tensors[at(port.tensor)];
      if (port.is_input)
        tensor.consumers.push_back(std::move(views[p]));
      else
        tensor.maker = std::move(views[p]);
    }
  }
  add_tensors(net.problem, weights, encoding, tensors, model);
  return model;
}

}  // namespace softneuro::dprs

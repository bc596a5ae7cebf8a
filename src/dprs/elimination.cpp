#include "dprs/elimination.h"

#include <algorithm>

namespace softneuro::dprs {
namespace {

// Cells of a message that are computed together: enough to amortise the walk over the others.
constexpr std::size_t kBlockCells = 256;

// A function of the bucket as seen from a block of the message's last dimensions.
struct BlockSource {
  enum class Kind { constant, contiguous, gathered };
  Kind kind = Kind::constant;
  std::vector<std::uint32_t> index;  // gathered: offset per cell of the block
};

}  // namespace

Elimination::Elimination(const Model& model, const Order& order)
    : model_(model),
      sequence_(order.sequence),
      position_(model.variables.size()),
      buckets_(model.variables.size()) {
  for (std::size_t p = 0; p < sequence_.size(); ++p)
    position_[at(sequence_[p])] = static_cast<int>(p);
  auto first = [&](const std::vector<int>& scope) {
    return *std::min_element(scope.begin(), scope.end(),
                             [&](int a, int b) { return position_[at(a)] < position_[at(b)]; });
  };
  // Contexts first: a variable's is everything that its bucket speaks of, but itself.
  std::vector<std::vector<const Factor*>> factors(buckets_.size());
  for (const Factor& factor : model.factors) {
    const int variable = first(factor.scope);
    factors[at(variable)].push_back(&factor);
    std::vector<int>& context = buckets_[at(variable)].context;
    for (const int other : factor.scope)
      if (other != variable) context.push_back(other);
  }
  for (const int variable : sequence_) {
    link(variable);
    for (const Factor* factor : factors[at(variable)])
      add_function(variable, factor->scope, factor->table.data());
  }
}

// The context is complete: orders it and hands it on to the parent.
void Elimination::link(int variable) {
  std::vector<int>& context = buckets_[at(variable)].context;
  std::sort(context.begin(), context.end(),
            [&](int a, int b) { return position_[at(a)] < position_[at(b)]; });
  context.erase(std::unique(context.begin(), context.end()), context.end());
  if (context.empty()) return;
  Bucket& above = buckets_[at(context[0])];
  above.context.insert(above.context.end(), context.begin() + 1, context.end());
  above.children.push_back(variable);
}

void Elimination::add_function(int variable, const std::vector<int>& scope, const Cost* table) {
  Bucket& bucket = buckets_[at(variable)];
  Function function;
  function.table = table;
  function.strides.assign(bucket.context.size(), 0);
  std::size_t stride = 1;
  for (std::size_t d = scope.size(); d-- > 0;) {
    if (scope[d] == variable) {
      function.stride = stride;
    } else {
      const auto place = std::find(bucket.context.begin(), bucket.context.end(), scope[d]);
      function.strides[at(static_cast<int>(place - bucket.context.begin()))] = stride;
    }
    stride *= at(model_.variables[at(scope[d])].size);
  }
  bucket.functions.push_back(std::move(function));
}

void Elimination::run() {
  for (const int variable : sequence_) {
    for (const int child : buckets_[at(variable)].children)
      add_function(variable, buckets_[at(child)].context, buckets_[at(child)].message.data());
    fill_message(variable);
  }
}

namespace {

// The message's last dimensions that make up a block, and each function's view of it.
struct Blocking {
  std::size_t outer = 0;  // dimensions before the block
  std::size_t cells = 1;  // of the block
  std::vector<BlockSource> sources;
};

Blocking make_blocks(const Elimination::Bucket& bucket, const std::vector<std::size_t>& sizes) {
  Blocking blocking;
  blocking.outer = sizes.size();
  while (blocking.outer > 0 && blocking.cells < kBlockCells)
    blocking.cells *= sizes[--blocking.outer];
  for (const Elimination::Function& function : bucket.functions) {
    BlockSource& source = blocking.sources.emplace_back();
    source.index = {0};
    bool constant = true;
    for (std::size_t d = blocking.outer; d < sizes.size(); ++d) {
      std::vector<std::uint32_t> longer;
      longer.reserve(source.index.size() * sizes[d]);
      for (const std::uint32_t offset : source.index)
        for (std::size_t v = 0; v < sizes[d]; ++v)
          longer.push_back(offset + static_cast<std::uint32_t>(v * function.strides[d]));
      source.index = std::move(longer);
      constant = constant && function.strides[d] == 0;
    }
    if (constant) continue;
    bool contiguous = true;
    for (std::size_t i = 0; i < source.index.size(); ++i) contiguous &= source.index[i] == i;
    source.kind = contiguous ? BlockSource::Kind::contiguous : BlockSource::Kind::gathered;
  }
  return blocking;
}

// row += the function at one value of the bucket's variable.
void add_row(const BlockSource& source, const Cost* table, std::size_t cells, Cost* row) {
  switch (source.kind) {
    case BlockSource::Kind::constant:
      for (std::size_t i = 0; i < cells; ++i) row[i] += *table;
      break;
    case BlockSource::Kind::contiguous:
      for (std::size_t i = 0; i < cells; ++i) row[i] += table[i];
      break;
    case BlockSource::Kind::gathered:
      for (std::size_t i = 0; i < cells; ++i) row[i] += table[source.index[i]];
      break;
  }
}

}  // namespace

void Elimination::fill_message(int variable) {
  Bucket& bucket = buckets_[at(variable)];
  std::vector<std::size_t> sizes;
  std::size_t cells = 1;
  for (const int other : bucket.context) {
    sizes.push_back(at(model_.variables[at(other)].size));
    cells *= sizes.back();
  }
  bucket.message.assign(cells, kInfinity);
  const Blocking blocking = make_blocks(bucket, sizes);
  const std::size_t values = at(model_.variables[at(variable)].size);
  std::vector<std::size_t> offsets(bucket.functions.size(), 0);
  std::vector<std::size_t> counter(blocking.outer, 0);
  std::vector<Cost> row(blocking.cells);
  for (std::size_t block = 0; block < cells; block += blocking.cells) {
    Cost* const best = bucket.message.data() + block;
    for (std::size_t v = 0; v < values; ++v) {
      std::fill(row.begin(), row.end(), 0);
      for (std::size_t f = 0; f < bucket.functions.size(); ++f) {
        const Function& function = bucket.functions[f];
        add_row(blocking.sources[f], function.table + offsets[f] + v * function.stride,
                blocking.cells, row.data());
      }
      for (std::size_t i = 0; i < blocking.cells; ++i) best[i] = std::min(best[i], row[i]);
    }
    for (std::size_t d = blocking.outer; d-- > 0;) {
      const bool carry = ++counter[d] == sizes[d];
      for (std::size_t f = 0; f < offsets.size(); ++f) {
        const std::size_t stride = bucket.functions[f].strides[d];
        offsets[f] = carry ? offsets[f] - stride * (sizes[d] - 1) : offsets[f] + stride;
      }
      if (!carry) break;
      counter[d] = 0;
    }
  }
}

Cost Elimination::minimum() const {
  Cost sum = model_.constant;
  for (const Bucket& bucket : buckets_)
    if (bucket.context.empty()) sum += bucket.message[0];
  return sum;
}

std::vector<Cost> Elimination::row(int variable, const std::vector<int>& values) const {
  const Bucket& bucket = buckets_[at(variable)];
  std::vector<Cost> sums(at(model_.variables[at(variable)].size), 0);
  for (const Function& function : bucket.functions) {
    std::size_t cell = 0;
    for (std::size_t d = 0; d < bucket.context.size(); ++d)
      cell += function.strides[d] * at(values[at(bucket.context[d])]);
    for (Cost& sum : sums) {
      sum += function.table[cell];
      cell += function.stride;
    }
  }
  return sums;
}

std::vector<int> Elimination::best_values() const {
  std::vector<int> values(model_.variables.size(), 0);
  for (std::size_t p = sequence_.size(); p-- > 0;) {
    const std::vector<Cost> costs = row(sequence_[p], values);
    values[at(sequence_[p])] =
        static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }
  return values;
}

}  // namespace softneuro::dprs

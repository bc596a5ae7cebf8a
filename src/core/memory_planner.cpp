// Which bytes of the arena each tensor gets: views and in-place results share their source's,
// tensors that are never alive at the same time share the same.
//
// Placement is greedy by size: the largest first, each at the lowest offset where it collides with
// no tensor placed before whose life overlaps. On real nets this comes within a few percent of the
// lower bound (arena_minimum), which is reported beside it.
#include <algorithm>

#include "core/plan_impl.h"

namespace softneuro {
namespace {

constexpr std::size_t kAlignment = kTensorAlignment;
std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Something that needs `bytes` from step `first` to step `last`, both included.
struct Block {
  std::size_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t* offset = nullptr;
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(Plan::Impl& plan) : plan_(plan), last_use_(plan.slots.size(), -1) {}

  void run() {
    find_last_uses();
    for (std::uint32_t id = 0; id < plan_.slots.size(); ++id) plan_.slots[id].root = id;
    assign_output_homes();
    share_views();
    share_in_place();
    drop_view_steps();
    place_blocks();
    place_outputs();
  }

 private:
  void find_last_uses() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const TensorId id : plan_.steps[s].inputs)
        if (id != kNoTensor) last_use_[id] = static_cast<std::int64_t>(s);
    for (const TensorId id : plan_.graph->outputs)
      last_use_[id] = static_cast<std::int64_t>(plan_.steps.size());
  }

  // An output that a kernel makes is written straight to where the caller wants it. Through
  // views the maker's tensor is meant; one tensor can be one output's home only.
  void assign_output_homes() {
    const std::vector<TensorId> source = view_sources();
    for (std::uint32_t o = 0; o < plan_.graph->outputs.size(); ++o) {
      const TensorId id = plan_.graph->outputs[o];
      if (plan_.slots[id].home == Home::dynamic) {
        plan_.slots[id].io = o;
        plan_.copies.push_back({id, o});
        continue;
      }
      Slot& maker = plan_.slots[source[id]];
      if (maker.home == Home::arena) {
        maker.home = Home::output;
        maker.io = o;
      } else {
        plan_.copies.push_back({id, o});
      }
    }
  }

  // For each tensor, the tensor at the start of its chain of views.
  std::vector<TensorId> view_sources() const {
    std::vector<TensorId> source(plan_.slots.size());
    for (TensorId id = 0; id < source.size(); ++id) source[id] = id;
    for (const Step& step : plan_.steps)
      if (is_view(step)) source[step.outputs[0]] = source[step.inputs[0]];
    return source;
  }

  static bool is_view(const Step& step) { return step.view && step.outputs[0] != kNoTensor; }

  void share_views() {
    for (const Step& step : plan_.steps) {
      if (!is_view(step)) continue;
      share(step.outputs[0], step.inputs[0]);
    }
  }

  // `id` lives in the memory of `of`'s root.
  void share(TensorId id, TensorId of) {
    const std::uint32_t root = plan_.slots[of].root;
    plan_.slots[id].root = root;
    plan_.slots[id].home = plan_.slots[root].home;
    last_use_[root] = std::max(last_use_[root], last_use_[id]);
  }

  void share_in_place() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (step.kernel == nullptr || step.dynamic || step.outputs[0] == kNoTensor) continue;
      const int k = step.kernel->in_place_input();
      if (k < 0 || static_cast<std::size_t>(k) >= step.inputs.size()) continue;
      const TensorId in = step.inputs[static_cast<std::size_t>(k)];
      const TensorId out = step.outputs[0];
      if (in == kNoTensor || !may_overwrite(step, in, static_cast<std::int64_t>(s))) continue;
      if (plan_.slots[out].home != Home::arena || plan_.slots[out].bytes != plan_.slots[in].bytes)
        continue;
      // Views of the output were shared with it before: they move along.
      const std::uint32_t root = plan_.slots[in].root;
      for (Slot& slot : plan_.slots)
        if (slot.root == out) slot.root = root;
      last_use_[root] = std::max(last_use_[root], last_use_[out]);
    }
  }

  // Nobody needs the bytes of `in` after this step, and no other input of the step is the same.
  bool may_overwrite(const Step& step, TensorId in, std::int64_t s) const {
    const std::uint32_t root = plan_.slots[in].root;
    if (plan_.slots[root].home != Home::arena || last_use_[root] > s) return false;
    int uses = 0;
    for (const TensorId id : step.inputs)
      if (id != kNoTensor && plan_.slots[id].root == root) ++uses;
    return uses == 1;
  }

  // Their work is done by sharing. Step indices below refer to what is left.
  void drop_view_steps() {
    std::vector<std::int64_t> moved(plan_.steps.size() + 1);
    std::size_t kept = 0;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      moved[s] = static_cast<std::int64_t>(kept);
      if (is_view(plan_.steps[s])) continue;
      if (kept != s) plan_.steps[kept] = std::move(plan_.steps[s]);
      ++kept;
    }
    moved[plan_.steps.size()] = static_cast<std::int64_t>(kept);
    plan_.steps.resize(kept);
    for (std::int64_t& last : last_use_)
      if (last >= 0) last = moved[static_cast<std::size_t>(last)];
  }

  void place_blocks() {
    std::vector<Block> blocks;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      Step& step = plan_.steps[s];
      const auto now = static_cast<std::int64_t>(s);
      for (const TensorId id : step.outputs) {
        if (id == kNoTensor) continue;
        Slot& slot = plan_.slots[id];
        if (slot.home == Home::arena && slot.root == id)
          blocks.push_back({aligned(slot.bytes), now, std::max(now, last_use_[id]), &slot.offset});
      }
      if (step.kernel != nullptr && step.kernel->workspace_bytes() > 0)
        blocks.push_back(
            {aligned(step.kernel->workspace_bytes()), now, now, &step.workspace_offset});
    }
    plan_.arena_minimum = lower_bound_of(blocks);
    place(blocks);
  }

  std::size_t lower_bound_of(const std::vector<Block>& blocks) const {
    std::vector<std::size_t> starts(plan_.steps.size() + 2), ends(plan_.steps.size() + 2);
    for (const Block& block : blocks) {
      starts[static_cast<std::size_t>(block.first)] += block.bytes;
      ends[static_cast<std::size_t>(block.last) + 1] += block.bytes;
    }
    std::size_t alive = 0;
    std::size_t most = 0;
    for (std::size_t s = 0; s < starts.size(); ++s) {
      alive += starts[s] - ends[s];
      most = std::max(most, alive);
    }
    return most;
  }

  void place(std::vector<Block>& blocks) {
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
    std::vector<const Block*> placed;  // by offset
    for (const Block& block : blocks) {
      std::size_t offset = 0;
      for (const Block* other : placed) {
        if (other->last < block.first || other->first > block.last) continue;
        if (*other->offset >= offset + block.bytes) break;
        offset = std::max(offset, *other->offset + other->bytes);
      }
      *block.offset = offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + block.bytes);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), offset,
                           [](std::size_t value, const Block* b) { return value < *b->offset; }),
          &block);
    }
  }

  // Behind the arena: a place for each output, for callers that bind none.
  void place_outputs() {
    for (const TensorId id : plan_.graph->outputs) {
      plan_.output_offsets.push_back(plan_.arena_bytes);
      const Slot& slot = plan_.slots[id];
      if (slot.home != Home::dynamic) plan_.arena_bytes += aligned(slot.bytes);
    }
  }

  Plan::Impl& plan_;
  std::vector<std::int64_t> last_use_;  // per slot: step that reads it last; #steps for outputs
};

}  // namespace

void plan_memory(Plan::Impl& plan) {
  MemoryPlanner(plan).run();
}

}  // namespace softneuro

// Which bytes of the arena each tensor gets: views and in-place results share their source's,
// tensors that are never alive at the same time share the same.
//
// Placement is greedy by size: the largest first, each at the lowest offset where it collides with
// no tensor placed before whose life overlaps. On real nets this comes within a few percent of the
// lower bound (arena_minimum), which is reported beside it.
#include <algorithm>
#include <iterator>
#include <map>

#include "core/base/alignment.h"
#include "core/plan/plan_impl.h"

namespace softneuro {
namespace {

// Something that needs `bytes` from step `first` to step `last`, both included.
struct Block {
  std::size_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t* offset = nullptr;
};

// A set of bytes as disjoint ranges, begin → end; ranges that touch are one.
class Ranges {
 public:
  void add(std::size_t begin, std::size_t end) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second >= begin) --at;
    while (at != ranges_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ranges_.erase(at);
    }
    ranges_.emplace_hint(at, begin, end);
  }

  // The least offset from `offset` on that begins no more than `bytes` before the next range.
  std::size_t skip(std::size_t offset, std::size_t bytes) const {
    auto at = ranges_.upper_bound(offset);
    if (at != ranges_.begin() && std::prev(at)->second > offset) --at;
    for (; at != ranges_.end() && at->first < offset + bytes; ++at) offset = at->second;
    return offset;
  }

 private:
  std::map<std::size_t, std::size_t> ranges_;
};

// Which bytes of the arena are taken at which steps: a binary tree over the steps. A block is
// noted at the few nodes that its life falls into, so that thousands of blocks are placed without
// looking at each other.
class TakenBytes {
 public:
  explicit TakenBytes(std::size_t steps) {
    while (leaves_ < steps) leaves_ *= 2;
    whole_.resize(2 * leaves_);
    part_.resize(2 * leaves_);
  }

  // The lowest offset where the block collides with nothing.
  std::size_t room_for(const Block& block) const {
    std::vector<const Ranges*> taken;
    visit(block, [&](std::size_t node, bool covered) {
      taken.push_back(covered ? &part_[node] : &whole_[node]);
    });
    std::size_t offset = 0;
    for (bool settled = false; !settled;) {
      settled = true;
      for (const Ranges* ranges : taken) {
        const std::size_t free = ranges->skip(offset, block.bytes);
        settled = settled && free == offset;
        offset = free;
      }
    }
    return offset;
  }

  void take(const Block& block, std::size_t offset) {
    visit(block, [&](std::size_t node, bool covered) {
      if (covered) whole_[node].add(offset, offset + block.bytes);
      part_[node].add(offset, offset + block.bytes);
    });
  }

 private:
  // All nodes whose steps the block's life meets, from the root down to those that it covers.
  template <class Visit>
  void visit(const Block& block, Visit&& what) const {
    visit(block, what, 1, 0, static_cast<std::int64_t>(leaves_) - 1);
  }

  template <class Visit>
  void visit(const Block& block, Visit& what, std::size_t node, std::int64_t first,
             std::int64_t last) const {
    if (block.last < first || block.first > last) return;
    const bool covered = block.first <= first && last <= block.last;
    what(node, covered);
    if (covered) return;
    const std::int64_t middle = first + (last - first) / 2;
    visit(block, what, 2 * node, first, middle);
    visit(block, what, 2 * node + 1, middle + 1, last);
  }

  std::size_t leaves_ = 1;     // a power of two
  std::vector<Ranges> whole_;  // per node: taken by blocks that live in all of its steps
  std::vector<Ranges> part_;   // per node: taken in any of them
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(PlanImpl& plan) : plan_(plan), last_use_(plan.tensors.size(), -1) {}

  void run() {
    find_last_uses();
    for (std::uint32_t id = 0; id < plan_.tensors.size(); ++id) plan_.tensors[id].alias_of = id;
    assign_output_homes();
    share_views();
    share_in_place();
    for (std::uint32_t id = 0; id < plan_.tensors.size(); ++id)
      plan_.tensors[id].alias_of = root_of(id);
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
  // views the maker's tensor is meant; one tensor can be one output's storage only.
  void assign_output_homes() {
    const std::vector<TensorId> source = view_sources();
    for (std::uint32_t o = 0; o < plan_.graph->outputs.size(); ++o) {
      const TensorId id = plan_.graph->outputs[o];
      if (plan_.tensors[id].storage == Storage::data_dependent) {
        plan_.tensors[id].io_index = o;
        plan_.copies.push_back({id, o});
        continue;
      }
      PlannedTensor& maker = plan_.tensors[source[id]];
      if (maker.storage == Storage::arena) {
        maker.storage = Storage::output;
        maker.io_index = o;
      } else {
        plan_.copies.push_back({id, o});
      }
    }
  }

  // For each tensor, the tensor at the start of its chain of views.
  std::vector<TensorId> view_sources() const {
    std::vector<TensorId> source(plan_.tensors.size());
    for (TensorId id = 0; id < source.size(); ++id) source[id] = id;
    for (const Step& step : plan_.steps)
      if (is_view(step)) source[step.outputs[0]] = source[step.inputs[0]];
    return source;
  }

  static bool is_view(const Step& step) { return step.view && step.outputs[0] != kNoTensor; }

  void share_views() {
    for (const Step& step : plan_.steps)
      if (is_view(step)) share(step.outputs[0], step.inputs[0]);
  }

  // Roots are chains while they are found: a tensor that views share may come to be in the memory
  // of another. Each look shortens the chain.
  std::uint32_t root_of(std::uint32_t id) {
    while (plan_.tensors[id].alias_of != id) {
      std::uint32_t& root = plan_.tensors[id].alias_of;
      root = plan_.tensors[root].alias_of;
      id = root;
    }
    return id;
  }

  // `id` lives in the memory of `of`'s root.
  void share(TensorId id, TensorId of) {
    const std::uint32_t root = root_of(of);
    plan_.tensors[id].alias_of = root;
    plan_.tensors[id].storage = plan_.tensors[root].storage;
    last_use_[root] = std::max(last_use_[root], last_use_[id]);
  }

  void share_in_place() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (step.kernel == nullptr || step.data_dependent || step.outputs[0] == kNoTensor) continue;
      const int k = step.kernel->in_place_input();
      if (k < 0 || static_cast<std::size_t>(k) >= step.inputs.size()) continue;
      const TensorId in = step.inputs[static_cast<std::size_t>(k)];
      const TensorId out = step.outputs[0];
      if (in == kNoTensor || !may_overwrite(step, in, static_cast<std::int64_t>(s))) continue;
      if (plan_.tensors[out].storage != Storage::arena ||
          plan_.tensors[out].bytes != plan_.tensors[in].bytes)
        continue;
      share(out, in);  // views of the output were shared with it before: they move along
    }
  }

  // No step needs the bytes of `in` after this one, and no other input of the step is the same.
  bool may_overwrite(const Step& step, TensorId in, std::int64_t s) {
    const std::uint32_t root = root_of(in);
    if (plan_.tensors[root].storage != Storage::arena || last_use_[root] > s) return false;
    int uses = 0;
    for (const TensorId id : step.inputs)
      if (id != kNoTensor && root_of(id) == root) ++uses;
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
    std::vector<std::vector<Block>> blocks(plan_.devices.size());  // by device
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      Step& step = plan_.steps[s];
      const auto now = static_cast<std::int64_t>(s);
      for (const TensorId id : step.outputs) {
        if (id == kNoTensor) continue;
        PlannedTensor& planned = plan_.tensors[id];
        if (planned.storage == Storage::arena && planned.alias_of == id)
          blocks[planned.device].push_back(
              {aligned(planned.bytes), now, std::max(now, last_use_[id]), &planned.offset});
      }
      if (step.kernel == nullptr) continue;
      if (const std::size_t bytes = step.kernel->workspace_bytes(); bytes > 0)
        blocks[step.device].push_back({aligned(bytes), now, now, &step.workspace_offset});
      if (const std::size_t bytes = step.kernel->host_workspace_bytes(); bytes > 0)
        blocks[0].push_back({aligned(bytes), now, now, &step.host_workspace_offset});
    }
    for (std::size_t d = 0; d < blocks.size(); ++d) {
      plan_.devices[d].arena_minimum = lower_bound_of(blocks[d]);
      plan_.devices[d].arena_bytes = place(blocks[d]);
    }
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

  // Bytes that the blocks take together.
  std::size_t place(std::vector<Block>& blocks) {
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
    TakenBytes taken(plan_.steps.size());
    std::size_t bytes = 0;
    for (const Block& block : blocks) {
      if (block.bytes == 0) continue;
      *block.offset = taken.room_for(block);
      taken.take(block, *block.offset);
      bytes = std::max(bytes, *block.offset + block.bytes);
    }
    return bytes;
  }

  // Behind the arena of its device: a place for each output, for callers that bind none.
  void place_outputs() {
    for (const TensorId id : plan_.graph->outputs) {
      const PlannedTensor& planned = plan_.tensors[id];
      std::size_t& arena_bytes = plan_.devices[planned.device].arena_bytes;
      plan_.output_offsets.push_back(arena_bytes);
      if (planned.storage != Storage::data_dependent) arena_bytes += aligned(planned.bytes);
    }
  }

  PlanImpl& plan_;
  std::vector<std::int64_t> last_use_;  // per tensor: step that reads it last; #steps for outputs
};

}  // namespace

void plan_memory(PlanImpl& plan) {
  MemoryPlanner(plan).run();
}

}  // namespace softneuro

#include "plugins/cuda/generate/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "cpu/post_ops/post_ops.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/generate/tail.h"

namespace softneuro::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr std::int64_t kMemberBytes = 8;  // at most
// Longest rows that one thread reads alone though neighbouring threads then read far from each
// other: a warp would have too little to do.
constexpr std::int64_t kShort = 8;
constexpr std::int64_t kLong = 2048;          // rows from here on are for a block
constexpr std::int64_t kFullGpu = 1 << 16;    // threads: with fewer, rows are split
constexpr std::int64_t kLeastSplit = 256;     // shorter rows are not split
constexpr std::int64_t kLeastPerThread = 32;  // elements of a part
constexpr std::int64_t kMostParts = 1024;     // of a row

// Who folds the rows. It depends on the problem alone, so results do, too.
struct Schedule {
  unsigned team = 1;       // threads that fold a row, or a part: 1, a warp, or a block
  std::int64_t parts = 1;  // of a row
  std::int64_t part_length = 0;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool is_contiguous(const Walked& walked) {
  for (std::size_t d = walked.dims.size(); d-- > 0;)
    if (walked.dims[d] != 1) return walked.strides[d] == 1;
  return true;
}

Schedule schedule_of(const Rows& rows) {
  const std::int64_t count = rows.kept.elements(), length = rows.folded.elements();
  Schedule schedule;
  if (is_contiguous(rows.folded) && length > kShort)
    schedule.team = length >= kLong ? kThreads : kWarp;
  const std::int64_t threads = count * schedule.team;
  const std::int64_t most =
      std::min(kMostParts, length / (kLeastPerThread * static_cast<std::int64_t>(schedule.team)));
  if (threads > 0 && threads < kFullGpu && length >= kLeastSplit)
    schedule.parts =
        std::clamp<std::int64_t>(kFullGpu / threads, 1, std::max<std::int64_t>(most, 1));
  schedule.part_length = ceil_div(length, schedule.parts);
  return schedule;
}

// struct State, and a state of a whole team in each of its threads.
std::string state_text(const Fold& fold, DataType type, bool is_shuffled) {
  std::string members, shuffles;
  for (const Fold::Member& member : fold.members) {
    members += fmt::format("  {} {};\n", member.type, member.name);
    shuffles +=
        fmt::format("    o.{0} = __shfl_xor_sync(0xffffffffu, {0}, distance);\n", member.name);
  }
  std::string text = fmt::format(
      "typedef {} Number;\n"
      "struct State {{\n{}"
      "  __device__ inline void clear(Number first) {{ (void)first; {} }}\n"
      "  __device__ inline void add(Number x, long long k) {{ (void)k; {} }}\n"
      "  __device__ inline void merge(const State& b) {{ {} }}\n",
      number_type(type), members, fold.clear, fold.add, fold.merge);
  if (is_shuffled)
    text += "  __device__ inline State shuffled(int distance) const {\n    State o;\n" + shuffles +
            "    return o;\n  }\n";
  return text + "};\n";
}

// The lower lane's state comes first in both lanes, so that all end with the same bits.
constexpr const char* kWarpState = R"(
__device__ inline State warp_state(State s) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    State other = s.shuffled(distance);
    if (threadIdx.x & distance) {
      other.merge(s);
      s = other;
    } else {
      s.merge(other);
    }
  }
  return s;
}
)";
constexpr const char* kBlockState = R"(
__device__ inline State block_state(State s) {
  __shared__ State parts[8];
  s = warp_state(s);
  __syncthreads();  // the row before has been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = parts[0];
#pragma unroll
  for (int w = 1; w < 8; ++w) s.merge(parts[w]);
  return s;
}
)";

// One kernel over rows: `team` threads for each.
class RowKernel {
 public:
  RowKernel(const Problem& problem, const Fold& fold, unsigned team)
      : team_(team),
        source_(std::max(problem.inputs[0].shape.elements(), problem.outputs[0].shape.elements())) {
    source_.add_function(state_text(fold, problem.inputs[0].type, team > 1));
    if (team >= kWarp) source_.add_function(kWarpState);
    if (team >= kThreads) source_.add_function(kBlockState);
  }

  KernelSource& source() { return source_; }
  std::string lane() const { return team_ == 1 ? "0" : fmt::format("(threadIdx.x % {})", team_); }
  // Makes `s` the state of all states of the team.
  const char* join() const {
    if (team_ == 1) return "";
    return team_ == kWarp ? "s = warp_state(s);\n" : "s = block_state(s);\n";
  }
  // `body` for each Index `name` below `count`, done by a team.
  Launch launch(const char* name, const std::string& body, std::int64_t count) {
    const std::string end = source_.index(count);
    const unsigned teams = kThreads / team_;
    Launch launch = source_.launch(
        fmt::format("const Index teams = (Index)gridDim.x * {0};\n"
                    "for (Index {1} = (Index)blockIdx.x * {0} + threadIdx.x / {2}; {1} < {3}; {1} "
                    "+= teams) {{\n{4}}}\n",
                    teams, name, team_, end, body),
        ceil_div(count, teams), kThreads);
    launch.strides = true;
    return launch;
  }

 private:
  unsigned team_;
  KernelSource source_;
};

std::string walk(KernelSource& source, const Walked& walked) {
  return source.walk(walked.dims, walked.strides);
}

class Generator {
 public:
  Generator(const Problem& problem, const Rows& rows, const Fold& fold, const RowResult& result,
            bool reduces)
      : problem_(problem),
        rows_(rows),
        fold_(fold),
        result_(result),
        reduces_(reduces),
        count_(rows.kept.elements()),
        schedule_(schedule_of(rows)) {}

  Result<Program> generate() {
    Program program;
    if (schedule_.parts == 1) {
      SN_ASSIGN_OR_RETURN(Launch whole, whole_rows());
      program.launches.push_back(std::move(whole));
      return program;
    }
    program.launches.push_back(parts());
    SN_ASSIGN_OR_RETURN(Launch joined, join_parts());
    program.launches.push_back(std::move(joined));
    if (!reduces_) {
      SN_ASSIGN_OR_RETURN(Launch elements, map_elements());
      program.launches.push_back(std::move(elements));
    }
    const std::int64_t states = count_ * (schedule_.parts + (reduces_ ? 0 : 1));
    program.workspace_bytes = static_cast<std::size_t>(states * state_bytes());
    return program;
  }

 private:
  std::int64_t state_bytes() const {
    return static_cast<std::int64_t>(fold_.members.size()) * kMemberBytes;
  }

  // Declares `base`, where row r begins, and `s`, the state of its elements k from `begin` to
  // `end`.
  std::string fold_text(RowKernel& kernel, const std::string& begin, const std::string& end) const {
    KernelSource& source = kernel.source();
    const std::string x = source.input(problem_, 0);
    const std::string base = walk(source, rows_.kept);
    const std::string place = walk(source, rows_.folded);
    return fmt::format(
        "const long long base = at(r, {1});\n"
        "State s;\n"
        "s.clear(n > 0 ? get({0}[base]) : (Number)0);\n"
        "#pragma unroll 4\n"
        "for (Index k = {2} + {3}; k < {4}; k += {5}) s.add(get({0}[base + at(k, {6})]), k);\n{7}",
        x, base, begin, kernel.lane(), end, schedule_.team, place, kernel.join());
  }

  // What output 0 gets of `s`, for a reduction, and what is done once; by the first lane.
  Result<std::string> row_output(RowKernel& kernel) const {
    KernelSource& source = kernel.source();
    std::string text;
    if (reduces_) {
      SN_ASSIGN_OR_RETURN(text, result_.row(source));
      SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem_, problem_.post_ops));
      text = fmt::format("const Index i = r; (void)i;\n{}{}put({}[r], y);\n", text, functions,
                         source.output(problem_, 0));
    }
    if (result_.once) {
      SN_ASSIGN_OR_RETURN(const std::string once, result_.once(source));
      text += once;
    }
    return text.empty() ? text : fmt::format("if ({} == 0) {{\n{}}}\n", kernel.lane(), text);
  }

  // Statements for element i of output 0, of what `row` has declared.
  Result<std::string> element_output(KernelSource& source) const {
    SN_ASSIGN_OR_RETURN(const std::string element, result_.element(source));
    SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem_, problem_.post_ops));
    return fmt::format("const float x = get({}[i]); (void)x;\n{}{}put({}[i], y);\n",
                       source.input(problem_, 0), element, functions, source.output(problem_, 0));
  }

  std::string length_text(KernelSource& source) const {
    return fmt::format("const Index n = {};\n(void)n;\n", source.index(rows_.folded.elements()));
  }

  Result<Launch> whole_rows() const {
    RowKernel kernel(problem_, fold_, schedule_.team);
    std::string text = length_text(kernel.source()) + fold_text(kernel, "0", "n");
    if (!reduces_) {
      SN_ASSIGN_OR_RETURN(const std::string row, result_.row(kernel.source()));
      SN_ASSIGN_OR_RETURN(const std::string element, element_output(kernel.source()));
      text +=
          row + fmt::format(
                    "for (Index k = {}; k < n; k += {}) {{\n"
                    "const Index i = (Index)(base + at(k, {}));\n{}}}\n",
                    kernel.lane(), schedule_.team, walk(kernel.source(), rows_.folded), element);
    }
    SN_ASSIGN_OR_RETURN(const std::string output, row_output(kernel));
    return kernel.launch("r", text + output, count_);
  }

  // The state of part p of row r is p · rows + r, so that neighbouring threads write neighbours.
  Launch parts() const {
    RowKernel kernel(problem_, fold_, schedule_.team);
    KernelSource& source = kernel.source();
    const std::string states = source.workspace("State", 0);
    const std::string count = source.index(count_);
    const std::string length = source.index(schedule_.part_length);
    const std::string text =
        length_text(source) + fmt::format(
                                  "const Index p = v / {0}, r = v - p * {0}, begin = p * {1};\n"
                                  "const Index end = n < begin + {1} ? n : begin + {1};\n{2}"
                                  "if ({3} == 0) {4}[v] = s;\n",
                                  count, length, fold_text(kernel, "begin", "end"), kernel.lane(),
                                  states);
    return kernel.launch("v", text, count_ * schedule_.parts);
  }

  Result<Launch> join_parts() const {
    RowKernel kernel(problem_, fold_, kJoinTeam);
    KernelSource& source = kernel.source();
    const std::string states = source.workspace("State", 0);
    std::string text = length_text(source) +
                       fmt::format(
                           "State s;\ns.clear((Number)0);\n"
                           "for (Index p = {0}; p < {1}; p += {2}) s.merge({3}[p * {4} + r]);\n{5}",
                           kernel.lane(), source.index(schedule_.parts), kJoinTeam, states,
                           source.index(count_), kernel.join());
    if (!reduces_) {
      if (result_.once) {
        SN_ASSIGN_OR_RETURN(const std::string row, result_.row(source));
        text += row;
      }
      text += fmt::format("if ({} == 0) {}[r] = s;\n", kernel.lane(),
                          source.workspace("State", joined_offset()));
    }
    SN_ASSIGN_OR_RETURN(const std::string output, row_output(kernel));
    return kernel.launch("r", text + output, count_);
  }

  Result<Launch> map_elements() const {
    RowKernel kernel(problem_, fold_, 1);
    KernelSource& source = kernel.source();
    const std::string states = source.workspace("State", joined_offset());
    const std::string row_of = walk(source, rows_of_elements());
    SN_ASSIGN_OR_RETURN(const std::string row, result_.row(source));
    SN_ASSIGN_OR_RETURN(const std::string element, element_output(source));
    const std::string text =
        length_text(source) +
        fmt::format("const State s = {}[at(i, {})];\n{}{}", states, row_of, row, element);
    return source.launch_elements(text, problem_.outputs[0].shape.elements());
  }

  std::int64_t joined_offset() const { return count_ * schedule_.parts * state_bytes(); }

  // The dimensions of the tensor in the order of its memory; strides count rows.
  Walked rows_of_elements() const {
    struct Dim {
      std::int64_t size, place, rows;
    };
    std::vector<Dim> all;
    for (std::size_t d = 0; d < rows_.folded.dims.size(); ++d)
      all.push_back({rows_.folded.dims[d], rows_.folded.strides[d], 0});
    std::int64_t step = 1;
    for (std::size_t d = rows_.kept.dims.size(); d-- > 0;) {
      all.push_back({rows_.kept.dims[d], rows_.kept.strides[d], step});
      step *= rows_.kept.dims[d];
    }
    std::erase_if(all, [](const Dim& dim) { return dim.size == 1; });
    std::stable_sort(all.begin(), all.end(),
                     [](const Dim& a, const Dim& b) { return a.place > b.place; });
    Walked walked;
    for (const Dim& dim : all) walked.add(dim.size, dim.rows);
    return walked;
  }

  static constexpr unsigned kJoinTeam = kWarp;

  const Problem& problem_;
  const Rows& rows_;
  const Fold& fold_;
  const RowResult& result_;
  bool reduces_;
  std::int64_t count_;
  Schedule schedule_;
};

}  // namespace

void Walked::add(std::int64_t dim, std::int64_t stride) {
  dims.push_back(dim);
  strides.push_back(stride);
}

std::int64_t Walked::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

Rows rows_of(const TensorSpec& x, std::uint32_t axes) {
  const std::vector<std::int64_t> strides = memory_strides(x.shape, x.layout);
  Rows rows;
  for (const int d : memory_order(x.shape.rank(), x.layout))
    ((axes >> d & 1u) != 0 ? rows.folded : rows.kept)
        .add(x.shape[d], strides[static_cast<std::size_t>(d)]);
  return rows;
}

Result<Program> reduce_rows(const Problem& problem, const Rows& rows, const Fold& fold,
                            const RowResult& result) {
  return Generator(problem, rows, fold, result, true).generate();
}

Result<Program> map_rows(const Problem& problem, const Rows& rows, const Fold& fold,
                         const RowResult& result) {
  SN_ASSIGN_OR_RETURN(Program program, Generator(problem, rows, fold, result, false).generate());
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  if (!x.constant && x.type == y.type && post_ops_allow_in_place(problem, 0))
    program.in_place_input = 0;
  return program;
}

}  // namespace softneuro::cuda

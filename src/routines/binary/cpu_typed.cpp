// binary cpu/typed: comparisons of float32 and all functions of the common integer types and of
// booleans, by loops over rows in the data type itself. Exact: the same bits as cpu/naive.
#include <algorithm>
#include <type_traits>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/tensor/broadcast_walk.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 8192;  // elements

// y[i] = f(a[i], b[i]).
struct Row {
  const void* a;
  const void* b;
  void* y;
  std::int64_t count;
};
using RowFunction = void (*)(const Row& row) noexcept;

// The function of rows whose elements are f's. F has no state.
template <class T, class R, class F>
RowFunction row_loop(F) {
  return [](const Row& row) noexcept {
    const T *a = static_cast<const T*>(row.a), *b = static_cast<const T*>(row.b);
    R* y = static_cast<R*>(row.y);
    for (std::int64_t i = 0; i < row.count; ++i) y[i] = F()(a[i], b[i]);
  };
}

// Wraps, whatever the promotions of narrow types do.
template <class T>
using Bits = std::make_unsigned_t<T>;

template <class T>
RowFunction arithmetic(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return row_loop<T, T>([](T a, T b) { return static_cast<T>(Bits<T>(a) + Bits<T>(b)); });
    case BinaryOp::sub:
      return row_loop<T, T>([](T a, T b) { return static_cast<T>(Bits<T>(a) - Bits<T>(b)); });
    case BinaryOp::mul:
      return row_loop<T, T>([](T a, T b) {
        return static_cast<T>(std::uint64_t{Bits<T>(a)} * std::uint64_t{Bits<T>(b)});
      });
    case BinaryOp::max:
      return row_loop<T, T>([](T a, T b) { return a > b ? a : b; });
    case BinaryOp::min:
      return row_loop<T, T>([](T a, T b) { return a < b ? a : b; });
    case BinaryOp::bitwise_and:
      return row_loop<T, T>([](T a, T b) { return static_cast<T>(a & b); });
    case BinaryOp::bitwise_or:
      return row_loop<T, T>([](T a, T b) { return static_cast<T>(a | b); });
    case BinaryOp::bitwise_xor:
      return row_loop<T, T>([](T a, T b) { return static_cast<T>(a ^ b); });
    case BinaryOp::div:
      return row_loop<T, T>([](T a, T b) {
        return static_cast<T>(apply_integer(BinaryOp::div, std::int64_t{a}, std::int64_t{b}));
      });
    case BinaryOp::mod:
      return row_loop<T, T>([](T a, T b) {
        return static_cast<T>(apply_integer(BinaryOp::mod, std::int64_t{a}, std::int64_t{b}));
      });
    default:
      return nullptr;
  }
}

template <class T>
RowFunction comparison(BinaryOp op) {
  using R = std::uint8_t;
  switch (op) {
    case BinaryOp::equal:
      return row_loop<T, R>([](T a, T b) { return R{a == b}; });
    case BinaryOp::less:
      return row_loop<T, R>([](T a, T b) { return R{a < b}; });
    case BinaryOp::less_equal:
      return row_loop<T, R>([](T a, T b) { return R{a <= b}; });
    case BinaryOp::greater:
      return row_loop<T, R>([](T a, T b) { return R{a > b}; });
    case BinaryOp::greater_equal:
      return row_loop<T, R>([](T a, T b) { return R{a >= b}; });
    default:
      return nullptr;
  }
}

// Booleans are bytes that are 0 or 1.
RowFunction logic(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_and:
      return arithmetic<std::uint8_t>(BinaryOp::bitwise_and);
    case BinaryOp::logical_or:
      return arithmetic<std::uint8_t>(BinaryOp::bitwise_or);
    case BinaryOp::logical_xor:
      return arithmetic<std::uint8_t>(BinaryOp::bitwise_xor);
    case BinaryOp::bitwise_and:
    case BinaryOp::bitwise_or:
    case BinaryOp::bitwise_xor:
      return arithmetic<std::uint8_t>(op);
    default:
      return comparison<std::uint8_t>(op);
  }
}

template <class T>
RowFunction integer(BinaryOp op) {
  return result_type(op, DataType::int32) == DataType::boolean ? comparison<T>(op)
                                                               : arithmetic<T>(op);
}

// Null where there is no loop.
RowFunction row_function(BinaryOp op, DataType type) {
  switch (type) {
    case DataType::float32:
      return comparison<float>(op);
    case DataType::int32:
      return integer<std::int32_t>(op);
    case DataType::int64:
      return integer<std::int64_t>(op);
    case DataType::uint8:
      return integer<std::uint8_t>(op);
    case DataType::boolean:
      return logic(op);
    default:
      return nullptr;
  }
}

Result<BroadcastWalk> walk_of(const Problem& problem) {
  const BroadcastWalk::Operand operands[] = {{problem.inputs[0].shape, Layout::plain},
                                             {problem.inputs[1].shape, Layout::plain}};
  return BroadcastWalk::make(problem.outputs[0].shape, Layout::plain, operands);
}

class TypedBinaryKernel final : public Kernel {
 public:
  TypedBinaryKernel(const Problem& problem, RowFunction function, const BroadcastWalk& walk)
      : function_(function),
        walk_(walk),
        elements_(problem.outputs[0].shape.elements()),
        in_size_(static_cast<std::int64_t>(size_of(problem.inputs[0].type))),
        out_size_(static_cast<std::int64_t>(size_of(problem.outputs[0].type))) {
    // An operand that is read exactly where the result is written.
    for (int i = 1; i >= 0; --i)
      if (problem.inputs[static_cast<std::size_t>(i)].shape == problem.outputs[0].shape &&
          in_size_ == out_size_)
        in_place_ = i;
  }
  int in_place_input() const noexcept override { return in_place_; }

  Status run(Context& context) const noexcept override {
    parallel_chunks(context.pool(), elements_, kChunk, [&](std::int64_t begin, std::int64_t count) {
      walk_.for_blocks(begin, count,
                       [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
                         for (std::int64_t r = 0; r < rows; ++r)
                           run_row(context, first + r * columns, columns);
                       });
    });
    return {};
  }

 private:
  static constexpr std::int64_t kRepeated = 256;  // elements of a constant side by side

  void run_row(Context& context, std::int64_t first, std::int64_t columns) const noexcept {
    alignas(8) std::byte buffers[2][kRepeated * 8];
    const std::byte* operands[2];
    std::int64_t width = columns;
    for (int i = 0; i < 2; ++i) {
      operands[i] = context.input(static_cast<std::size_t>(i)).as<std::byte>() +
                    walk_.at(i, first) * in_size_;
      if (!walk_.is_row_constant(i)) continue;
      width = std::min(kRepeated, columns);
      repeat(operands[i], width, buffers[i]);
      operands[i] = buffers[i];
    }
    std::byte* y = context.output(0).as_mutable<std::byte>() + first * out_size_;
    for (std::int64_t c = 0; c < columns; c += width) {
      const auto at = [&](int i) {
        return operands[i] + (walk_.is_row_constant(i) ? 0 : c * in_size_);
      };
      function_({at(0), at(1), y + c * out_size_, std::min(width, columns - c)});
    }
  }

  void repeat(const std::byte* value, std::int64_t count, std::byte* buffer) const noexcept {
    switch (in_size_) {
      case 1:
        return repeat_as<std::uint8_t>(value, count, buffer);
      case 4:
        return repeat_as<std::uint32_t>(value, count, buffer);
      default:
        return repeat_as<std::uint64_t>(value, count, buffer);
    }
  }
  template <class T>
  static void repeat_as(const std::byte* value, std::int64_t count, std::byte* buffer) noexcept {
    std::fill_n(reinterpret_cast<T*>(buffer), count, *reinterpret_cast<const T*>(value));
  }

  RowFunction function_;
  BroadcastWalk walk_;
  std::int64_t elements_, in_size_, out_size_;
  int in_place_ = -1;
};

Applicability applicable(const Problem& problem) {
  BinaryOp op;
  const DataType type = problem.inputs[0].type;
  if (problem.inputs[1].type != type) return Applicability::no("the inputs' types differ");
  if (!parse(problem.params.text("op"), op) || row_function(op, type) == nullptr)
    return Applicability::no(fmt::format("this function of {} is not supported", to_string(type)));
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_typed_binary(const Problem& problem) {
  BinaryOp op;
  if (!parse(problem.params.text("op"), op))
    return invalid_model("there is no binary op '{}'", problem.params.text("op"));
  SN_ASSIGN_OR_RETURN(const BroadcastWalk walk, walk_of(problem));
  return make_kernel<TypedBinaryKernel>(problem, row_function(op, problem.inputs[0].type), walk);
}

}  // namespace

Status register_routine_binary_cpu_typed(Registry& registry) {
  return add_routines(
      registry, {"binary"}, {"cpu"}, "typed",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_typed_binary});
}

}  // namespace softneuro

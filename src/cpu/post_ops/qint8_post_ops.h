// Post-ops behind layers whose output is qint8.
#pragma once

#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/qint8_rows.h"

namespace softneuro {

// Whether all post-ops are functions of one number, so that they can be put into a table.
SN_INTREE Applicability supports_qint8_post_ops(const Problem& problem);
// For FusesPostOps: all post-ops of an output that is qint8. Its routine refuses the problem if it
// cannot apply them, since the registry's tail knows floats only.
inline Applicability if_qint8(const Problem& problem) {
  return problem.outputs[0].type == DataType::qint8 ? Applicability::yes()
                                                    : Applicability::no("the output is not qint8");
}
// The same, and of other outputs what kOthers supports.
template <Applicability (*kOthers)(const Problem&)>
Applicability if_qint8_or(const Problem& problem) {
  return problem.outputs[0].type == DataType::qint8 ? Applicability::yes() : kOthers(problem);
}
// All post-ops of one number, in order. Precondition: supports_qint8_post_ops.
SN_INTREE float apply_unary_post_ops(const Problem& problem, float value) noexcept;

// Real inputs and outputs are qint8 with one scale each; else why they cannot be computed. Inputs
// that are constants are left out of account.
SN_INTREE Applicability check_qint8(const Problem& problem);

// The table from input `input`'s quantisation to that of output `output`, post-ops included.
SN_INTREE Qint8Table make_output_table(const Problem& problem, std::size_t input,
                                       std::size_t output = 0);
// Whether that table changes nothing.
SN_INTREE bool is_identity(const Qint8Table& table) noexcept;

// `table` put to all bytes in [data, data + count), by all threads.
SN_INTREE void map_bytes(ThreadPool& pool, const Qint8Table& table, const void* from, void* to,
                         std::int64_t count) noexcept;

// A kernel of a layer that moves elements of input 0 to its outputs; its quantisations may differ,
// and there may be post-ops: `base` moves the bytes, the tables follow in place. Precondition:
// check_qint8 and supports_qint8_post_ops.
SN_INTREE std::unique_ptr<Kernel> make_requantized_move(std::unique_ptr<Kernel> base,
                                                        const Problem& problem);

// Whether all post-ops only bound their operand. Then it may be rounded to the output's own
// quantisation before them: what saturates would have been clamped anyway.
SN_INTREE Applicability supports_qint8_bounds(const Problem& problem);
// The post-ops of a layer behind `base`, which gives output 0 without them. Precondition: they pass
// supports_qint8_bounds.
SN_INTREE std::unique_ptr<Kernel> make_qint8_post_ops(std::unique_ptr<Kernel> base,
                                                      const Problem& problem);

}  // namespace softneuro

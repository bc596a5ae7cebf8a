// The list of all passes. One pass, one file, named after it; the order here is the order in which
// they run, in rounds until none of them finds anything.
#include "passes/rewriter.h"

namespace softneuro {

Status remove_dead_layers(Graph& graph, PassContext& context);
Status contract_einsums(Graph& graph, PassContext& context);
Status fold_constants(Graph& graph, PassContext& context);
Status remove_no_ops(Rewriter& rewriter, int i);
Status merge_duplicates(Graph& graph, PassContext& context);
Status merge_reshapes(Rewriter& rewriter, int i);
Status simplify_transposes(Rewriter& rewriter, int i);
Status canonicalize_elementwise(Rewriter& rewriter, int i);
Status fuse_channel_shuffle(Rewriter& rewriter, int i);
Status fuse_softmax(Graph& graph, PassContext& context);
Status fuse_layer_norm(Rewriter& rewriter, int i);
Status fuse_rms_norm(Rewriter& rewriter, int i);
Status fuse_hard_sigmoid(Rewriter& rewriter, int i);
Status fuse_hard_swish(Rewriter& rewriter, int i);
Status fuse_silu(Rewriter& rewriter, int i);
Status fuse_gelu(Rewriter& rewriter, int i);
Status fuse_softplus(Rewriter& rewriter, int i);
Status fuse_mish(Rewriter& rewriter, int i);
Status sink_transposes(Rewriter& rewriter, int i);
Status matmul_to_dense(Rewriter& rewriter, int i);
Status fold_transpose_into_matmul(Rewriter& rewriter, int i);
Status raise_scales(Rewriter& rewriter, int i);
Status fold_pad(Rewriter& rewriter, int i);
Status fold_batch_norm(Rewriter& rewriter, int i);
Status fold_affine(Rewriter& rewriter, int i);
Status fuse_post_ops(Graph& graph, PassContext& context);

namespace {

// A pass that looks at one layer after the other.
template <Status (*visit)(Rewriter& rewriter, int i)>
Status each_layer(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i)
    if (rewriter.alive(i)) SN_RETURN_IF_ERROR(visit(rewriter, i));
  return rewriter.finish();
}

constexpr Pass kPasses[] = {
    {"remove_dead_layers", 1, "remove layers and optional outputs that no output needs",
     remove_dead_layers},
    {"contract_einsums", 1, "einsums of many operands: products of two", contract_einsums},
    {"fold_constants", 3, "compute what is known beforehand, shape arithmetic included",
     fold_constants},
    {"remove_no_ops", 1, "remove identities, casts, reshapes, + 0… that change nothing",
     each_layer<remove_no_ops>},
    {"merge_duplicates", 1, "compute equal layers and keep equal constants once", merge_duplicates},
    {"fuse_channel_shuffle", 1, "reshape, transpose, reshape: channel_shuffle",
     each_layer<fuse_channel_shuffle>},
    {"merge_reshapes", 1, "make one reshape of several", each_layer<merge_reshapes>},
    {"simplify_transposes", 1, "make one transpose of several, a reshape where it moves nothing",
     each_layer<simplify_transposes>},
    {"canonicalize_elementwise", 2, "write arithmetic with scalars as unary functions",
     each_layer<canonicalize_elementwise>},
    // Patterns: behind the canonical form, before anything goes into weights.
    {"fuse_softmax", 2, "exp / sum: softmax", fuse_softmax},
    {"fuse_layer_norm", 2, "means and arithmetic: layer_norm, with scale and bias",
     each_layer<fuse_layer_norm>},
    {"fuse_rms_norm", 2, "x / sqrt(mean(x²) + ε): rms_norm, with scale", each_layer<fuse_rms_norm>},
    {"fuse_hard_sigmoid", 2, "a clipped line: hard_sigmoid", each_layer<fuse_hard_sigmoid>},
    {"fuse_hard_swish", 2, "x · hard sigmoid: hard_swish", each_layer<fuse_hard_swish>},
    {"fuse_silu", 2, "x · sigmoid(x): silu", each_layer<fuse_silu>},
    {"fuse_gelu", 2, "the erf and tanh forms: gelu, gelu_tanh", each_layer<fuse_gelu>},
    {"fuse_softplus", 2, "log(1 + exp(x)): softplus", each_layer<fuse_softplus>},
    {"fuse_mish", 2, "x · tanh(softplus(x)): mish", each_layer<fuse_mish>},
    {"sink_transposes", 1, "move transposes down, past layers that any order of axes suits",
     each_layer<sink_transposes>},
    // Weights.
    {"matmul_to_dense", 1, "a product with a constant matrix: dense", each_layer<matmul_to_dense>},
    {"fold_transpose_into_matmul", 1, "transposed operands of a product: its flags",
     each_layer<fold_transpose_into_matmul>},
    {"raise_scales", 1, "scalar factors up past a reshape, to the weights that can take them in",
     each_layer<raise_scales>},
    {"fold_pad", 1, "padding into the convolution or pool after it", each_layer<fold_pad>},
    {"fold_batch_norm", 2, "batch norm into the weights beside it", each_layer<fold_batch_norm>},
    {"fold_affine", 2, "scales and shifts per channel into the weights before them",
     each_layer<fold_affine>},
    // Last: layers with post-ops take no part in the above.
    {"fuse_post_ops", 1, "activations and residual additions into the layer before them",
     fuse_post_ops, true},
};

}  // namespace

std::span<const Pass> all_passes() {
  return kPasses;
}

}  // namespace softneuro

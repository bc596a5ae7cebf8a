// The list of all passes. One pass, one file, named after it; the order here is the order in which
// they run, in rounds until none of them finds anything.
#include "passes/pass.h"

namespace softneuro {

Status remove_dead_layers(Graph& graph, PassContext& context);
Status contract_einsums(Graph& graph, PassContext& context);
Status fold_constants(Graph& graph, PassContext& context);
Status remove_no_ops(Graph& graph, PassContext& context);
Status merge_duplicates(Graph& graph, PassContext& context);
Status merge_reshapes(Graph& graph, PassContext& context);
Status simplify_transposes(Graph& graph, PassContext& context);
Status canonicalize_elementwise(Graph& graph, PassContext& context);
Status fuse_channel_shuffle(Graph& graph, PassContext& context);
Status fuse_softmax(Graph& graph, PassContext& context);
Status fuse_layer_norm(Graph& graph, PassContext& context);
Status fuse_rms_norm(Graph& graph, PassContext& context);
Status fuse_hard_sigmoid(Graph& graph, PassContext& context);
Status fuse_hard_swish(Graph& graph, PassContext& context);
Status fuse_silu(Graph& graph, PassContext& context);
Status fuse_gelu(Graph& graph, PassContext& context);
Status fuse_softplus(Graph& graph, PassContext& context);
Status fuse_mish(Graph& graph, PassContext& context);
Status sink_transposes(Graph& graph, PassContext& context);
Status matmul_to_dense(Graph& graph, PassContext& context);
Status fold_transpose_into_matmul(Graph& graph, PassContext& context);
Status raise_scales(Graph& graph, PassContext& context);
Status fold_pad(Graph& graph, PassContext& context);
Status fold_batch_norm(Graph& graph, PassContext& context);
Status fold_affine(Graph& graph, PassContext& context);
Status fuse_post_ops(Graph& graph, PassContext& context);

namespace {

constexpr Pass kPasses[] = {
    {"remove_dead_layers", 1, "remove layers and optional outputs that no output needs",
     remove_dead_layers},
    {"contract_einsums", 1, "einsums of many operands: products of two", contract_einsums},
    {"fold_constants", 3, "compute what is known beforehand, shape arithmetic included",
     fold_constants},
    {"remove_no_ops", 1, "remove identities, casts, reshapes, + 0… that change nothing",
     remove_no_ops},
    {"merge_duplicates", 1, "compute equal layers and keep equal constants once", merge_duplicates},
    {"fuse_channel_shuffle", 1, "reshape, transpose, reshape: channel_shuffle",
     fuse_channel_shuffle},
    {"merge_reshapes", 1, "make one reshape of several", merge_reshapes},
    {"simplify_transposes", 1, "make one transpose of several, a reshape where it moves nothing",
     simplify_transposes},
    {"canonicalize_elementwise", 2, "write arithmetic with scalars as unary functions",
     canonicalize_elementwise},
    // Patterns: behind the canonical form, before anything goes into weights.
    {"fuse_softmax", 2, "exp / sum: softmax", fuse_softmax},
    {"fuse_layer_norm", 2, "means and arithmetic: layer_norm, with scale and bias",
     fuse_layer_norm},
    {"fuse_rms_norm", 2, "x / sqrt(mean(x²) + ε): rms_norm, with scale", fuse_rms_norm},
    {"fuse_hard_sigmoid", 2, "a clipped line: hard_sigmoid", fuse_hard_sigmoid},
    {"fuse_hard_swish", 2, "x · hard sigmoid: hard_swish", fuse_hard_swish},
    {"fuse_silu", 2, "x · sigmoid(x): silu", fuse_silu},
    {"fuse_gelu", 2, "the erf and tanh forms: gelu, gelu_tanh", fuse_gelu},
    {"fuse_softplus", 2, "log(1 + exp(x)): softplus", fuse_softplus},
    {"fuse_mish", 2, "x · tanh(softplus(x)): mish", fuse_mish},
    {"sink_transposes", 1, "move transposes down, past layers that any order of axes suits",
     sink_transposes},
    // Weights.
    {"matmul_to_dense", 1, "a product with a constant matrix: dense", matmul_to_dense},
    {"fold_transpose_into_matmul", 1, "transposed operands of a product: its flags",
     fold_transpose_into_matmul},
    {"raise_scales", 1, "scalar factors up past a reshape, to the weights that can take them in",
     raise_scales},
    {"fold_pad", 1, "padding into the convolution or pool after it", fold_pad},
    {"fold_batch_norm", 2, "batch norm into the weights beside it", fold_batch_norm},
    {"fold_affine", 2, "scales and shifts per channel into the weights before them", fold_affine},
    // Last: layers with post-ops take no part in the above.
    {"fuse_post_ops", 1, "activations and residual additions into the layer before them",
     fuse_post_ops, true},
};

}  // namespace

std::span<const Pass> all_passes() {
  return kPasses;
}

}  // namespace softneuro

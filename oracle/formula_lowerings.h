// Lowerings that are written as formulas (graph/formula.h): where nothing is rounded, each computes the
// number that the op does. The functions are those of Lowering::graph; oracle/lowerings.cc lists and
// describes them.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace fusesmith::oracle {

std::optional<Graph> rms_norm_backward_of_normalised(const Op& op, TypeSpan inputs);
std::optional<Graph> rms_norm_backward_of_terms(const Op& op, TypeSpan inputs);
std::optional<Graph> layer_norm_backward_mean_last(const Op& op, TypeSpan inputs);
std::optional<Graph> layer_norm_backward_scale_and_shift(const Op& op, TypeSpan inputs);
std::optional<Graph> log_softmax_of_logsumexp(const Op& op, TypeSpan inputs);
std::optional<Graph> softmax_of_logsumexp(const Op& op, TypeSpan inputs);
std::optional<Graph> sigmoid_backward_of_parts(const Op& op, TypeSpan inputs);
std::optional<Graph> tanh_backward_of_factors(const Op& op, TypeSpan inputs);
std::optional<Graph> softmax_backward_of_products(const Op& op, TypeSpan inputs);
std::optional<Graph> log_softmax_of_rounded_sum(const Op& op, TypeSpan inputs);
std::optional<Graph> softmax_backward_of_parts(const Op& op, TypeSpan inputs);
std::optional<Graph> tanh_backward_of_parts(const Op& op, TypeSpan inputs);
std::optional<Graph> log_softmax_backward_scaled_last(const Op& op, TypeSpan inputs);
std::optional<Graph> group_norm_of_rounded_statistics(const Op& op, TypeSpan inputs);

}  // namespace fusesmith::oracle

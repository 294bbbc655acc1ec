#include "oracle/arithmetic_keys.h"

namespace fusesmith::oracle {

const std::map<std::string, double Arithmetic::*>& function_errors() {
  static const std::map<std::string, double Arithmetic::*> errors = {
      {"exp", &Arithmetic::exp},
      {"exp_argument", &Arithmetic::exp_argument},
      {"exp_scores", &Arithmetic::exp_scores},
      {"erf", &Arithmetic::erf},
      {"tanh", &Arithmetic::tanh},
      {"log", &Arithmetic::log},
      {"rsqrt", &Arithmetic::rsqrt},
      {"div", &Arithmetic::div},
      {"sqrt", &Arithmetic::sqrt},
      {"sum", &Arithmetic::sum},
      {"sigmoid_absolute", &Arithmetic::sigmoid_absolute},
      {"erf_absolute", &Arithmetic::erf_absolute},
      {"tanh_absolute", &Arithmetic::tanh_absolute},
  };
  return errors;
}

const std::map<std::string, bool Arithmetic::*>& arithmetic_flags() {
  static const std::map<std::string, bool Arithmetic::*> all = {
      {"tf32", &Arithmetic::tf32},
      {"batch_invariant", &Arithmetic::batch_invariant},
      {"position_invariant", &Arithmetic::position_invariant},
      {"tf32_truncated", &Arithmetic::tf32_truncated},
      {"tf32_nearest", &Arithmetic::tf32_nearest},
      {"tf32x3", &Arithmetic::tf32x3},
      {"empty_rows_are_zero", &Arithmetic::empty_rows_are_zero},
      {"hidden_keys_left_out", &Arithmetic::hidden_keys_left_out},
      {"products_in_any_order", &Arithmetic::products_in_any_order},
      {"accumulates_dequantized", &Arithmetic::accumulates_dequantized},
      {"order_varies", &Arithmetic::order_varies},
      {"running_means", &Arithmetic::running_means},
      {"zero_signs_lost", &Arithmetic::zero_signs_lost},
      {"merged_logsumexp", &Arithmetic::merged_logsumexp},
      {"flushes_subnormals", &Arithmetic::flushes_subnormals},
      {"norms_scale_and_shift", &Arithmetic::norms_scale_and_shift},
      {"means_of_quotients", &Arithmetic::means_of_quotients},
  };
  return all;
}

const std::map<std::string, Arithmetic::Variance>& variance_forms() {
  using Variance = Arithmetic::Variance;
  static const std::map<std::string, Variance> forms = {
      {"two_pass", Variance::two_pass},
      {"welford", Variance::welford},
      {"moments", Variance::moments},
      {"two_pass_or_welford", Variance::two_pass_or_welford}};
  return forms;
}

std::span<const std::pair<const char*, int Accumulator::*>> accumulator_keys() {
  static constexpr std::pair<const char*, int Accumulator::*> kKeys[] = {
      {"group", &Accumulator::group},
      {"fraction_bits", &Accumulator::fraction_bits},
      {"out_bits", &Accumulator::out_bits},
      {"promote_every", &Accumulator::promote_every}};
  return kKeys;
}

std::string to_json(const Accumulator& accumulator) {
  std::string text;
  for (const auto& [key, member] : accumulator_keys())
    text += (text.empty() ? "{\"" : ", \"") + std::string(key) + "\": " + std::to_string(accumulator.*member);
  return text + "}";
}

}  // namespace fusesmith::oracle

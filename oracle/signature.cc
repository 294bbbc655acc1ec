#include "oracle/signature.h"

namespace fusesmith::oracle {

std::string_view name(VerdictClass verdict) { return kVerdictNames[static_cast<size_t>(verdict)]; }

std::optional<VerdictClass> parse_verdict(std::string_view text) {
  for (size_t i = 0; i < kVerdictNames.size(); ++i) {
    if (kVerdictNames[i] == text) return static_cast<VerdictClass>(i);
  }
  return std::nullopt;
}

std::string_view name(Symptom symptom) { return kSymptomNames[static_cast<size_t>(symptom)]; }

std::string to_string(const Signature& signature) {
  const std::string dtype(signature.dtype ? name(*signature.dtype) : "any");
  std::string text = std::string(name(signature.verdict)) + "-" + signature.backend + "-" +
                     signature.culprit + "-" + dtype + "-" + std::string(name(signature.symptom));
  for (char& c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!safe) c = '_';
  }
  return text;
}

}  // namespace fusesmith::oracle

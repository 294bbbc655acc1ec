// The names of verdicts and symptoms. docs/adding.md says what a new one needs.
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

namespace {

// Safe as the name of a file.
std::string safe(std::string text) {
  for (char& c : text) {
    const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '_' || c == '-' || c == '.';
    if (!is_safe) c = '_';
  }
  return text;
}

}  // namespace

std::string signature_word(const std::string& backend) {
  constexpr size_t kMost = 100;
  std::string text;
  for (const char c : backend) {
    if (c == '/') {
      const size_t word = text.find_last_of(" :");
      text.resize(word == std::string::npos ? 0 : word + 1);
    } else {
      text += c;
    }
  }
  return safe(text.substr(0, kMost));
}

std::string to_string(const Signature& signature) {
  const std::string dtype(signature.dtype ? name(*signature.dtype) : "any");
  return safe(std::string(name(signature.verdict)) + "-" + signature_word(signature.backend) + "-" +
              signature.component + "-" + dtype + "-" + std::string(name(signature.symptom)));
}

}  // namespace fusesmith::oracle

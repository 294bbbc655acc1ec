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

// Of a worker's name, which may be a whole command, the words without their folders; not too long for the
// name of a file.
std::string short_name(const std::string& backend) {
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
  return text.substr(0, kMost);
}

}  // namespace

std::string to_string(const Signature& signature) {
  const std::string dtype(signature.dtype ? name(*signature.dtype) : "any");
  std::string text = std::string(name(signature.verdict)) + "-" + short_name(signature.backend) + "-" +
                     signature.component + "-" + dtype + "-" + std::string(name(signature.symptom));
  for (char& c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!safe) c = '_';
  }
  return text;
}

}  // namespace fusesmith::oracle

// Focus: what a case concentrates on, so that conditions that are rare in random graphs meet in one case. The
// subject is an op, the examples or the near misses of a pattern, or a piece; it is drawn by what random
// cases miss of it. A focused case adds its subject again and again, with sizes, data and layouts that are
// rare.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/generate/scene.h"

namespace fusesmith::fuzz {

// Adds the subject to a scene; empty where the case has no focus.
using Focus = std::function<bool(Scene&)>;

// Of the pieces of a focused case.
inline constexpr double kFocusedSteps = 0.5;

struct FocusSubject {
  std::string name;  // "op sqrt", "example sdpa", "near_miss sdpa", "piece wide"
  int weight;        // relative frequency
  Focus add;
};
const std::vector<FocusSubject>& focus_subjects();

// Draws whether the case has a focus, and which, and makes the scene fit it. None for exact data, to which
// few subjects could be added.
Focus draw_focus(Scene& scene, const GeneratorOptions& options);

}  // namespace fusesmith::fuzz

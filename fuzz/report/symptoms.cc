#include "fuzz/report/symptoms.h"

namespace fusesmith::fuzz {

std::string_view what_happens(Symptom symptom) {
  switch (symptom) {
    case Symptom::none:
      return "the run failed";
    case Symptom::out_of_bounds:
      return "a wrong value";
    case Symptom::nan:
      return "NaN where no correct execution gives it";
    case Symptom::infinity:
      return "an infinity where no correct execution gives it";
    case Symptom::missing_nan:
      return "no NaN where every correct execution gives one";
    case Symptom::missing_infinity:
      return "no infinity where every correct execution gives one";
    case Symptom::undeclared_rounding:
      return "correct only with a rounding that the backend does not declare to change";
    case Symptom::declared_rounding:
      return "correct only with a changed rounding, which the strict policy does not allow";
    case Symptom::explicit_cast_skipped:
      return "the rounding of an explicit cast is skipped";
    case Symptom::guard_overwritten:
      return "writes outside its memory";
    case Symptom::depends_on_unwritten_memory:
      return "the result depends on memory that the run did not write";
    case Symptom::repeat_differs:
      return "two runs on the same inputs give different bits";
    case Symptom::production_differs:
      return "the run with reused memory and several streams gives other bits";
    case Symptom::source_overwritten:
      return "overwrites one of its inputs";
    case Symptom::scaling_differs:
      return "inputs scaled by powers of two do not scale the result";
    case Symptom::exchange_differs:
      return "elements exchanged along a batch axis do not exchange the results";
    case Symptom::depends_on_neighbours:
      return "elements change with inputs that they are not computed from";
    case Symptom::depends_on_batch:
      return "elements change with the number of rows that are computed with them";
    case Symptom::input_changed:
      return "the run reports other inputs than it was given";
    case Symptom::thrown:
      return "an exception";
    case Symptom::died:
      return "the process ended";
    case Symptom::timed_out:
      return "no answer before the deadline";
    case Symptom::bad_reply:
      return "an answer against the protocol";
    case Symptom::device_error:
      return "a device error whenever the case runs alone";
  }
  return "";
}

bool is_special(Symptom symptom) {
  return symptom == Symptom::nan || symptom == Symptom::infinity || symptom == Symptom::missing_nan ||
         symptom == Symptom::missing_infinity;
}

bool is_wrong_value(Symptom symptom) {
  switch (symptom) {
    case Symptom::out_of_bounds:
    case Symptom::undeclared_rounding:
    case Symptom::declared_rounding:
    case Symptom::explicit_cast_skipped:
    case Symptom::scaling_differs:
    case Symptom::exchange_differs:
    case Symptom::depends_on_neighbours:
    case Symptom::depends_on_batch:
      return true;
    default:
      return is_special(symptom);
  }
}

bool is_wrong_access(Symptom symptom) {
  return symptom == Symptom::depends_on_unwritten_memory || symptom == Symptom::guard_overwritten;
}

Argument argument_of(Symptom symptom, bool no_bound) {
  constexpr Argument kBound = {
      "bound",
      "every correct execution, in whatever order of operations, leaves a value in the allowed interval"};
  constexpr Argument kExact = {
      "exact data", "with these inputs, every correct order of operations gives exactly the same value"};
  switch (symptom) {
    case Symptom::guard_overwritten:
    case Symptom::source_overwritten:
      return {"memory", "bytes that the kernel must not write have changed"};
    case Symptom::depends_on_unwritten_memory:
      return {"memory", "the same run over memory filled with other bytes gives other results"};
    case Symptom::repeat_differs:
      return {"repetition", "the same run on the same inputs gives other bits"};
    case Symptom::production_differs:
      return {"production = trace", "the run as users make it gives other bits than the judged run"};
    case Symptom::scaling_differs:
    case Symptom::exchange_differs:
      return {"metamorphic", "a changed input requires a changed output, bit for bit"};
    case Symptom::depends_on_neighbours:
      return {"isolation", "the element is not computed from what was changed, and has to keep its bits"};
    case Symptom::depends_on_batch:
      return {"subset", "the contract, or the policy of the case, requires the same bits among fewer rows"};
    case Symptom::nan:
    case Symptom::infinity:
    case Symptom::missing_nan:
    case Symptom::missing_infinity:
      return {"special values", "every correct execution agrees where NaN and infinities are"};
    case Symptom::explicit_cast_skipped:
      return {"bound: an explicit cast",
              "the result is in its interval only without the rounding of the cast"};
    case Symptom::undeclared_rounding:
      return {
          "bound: an undeclared rounding",
          "the result is in its interval only if a rounding is changed that the backend does not declare"};
    case Symptom::declared_rounding:
      return {"bound: strict policy", "the result is in its interval only if a rounding is changed"};
    default:
      return no_bound ? kExact : kBound;
  }
}

}  // namespace fusesmith::fuzz

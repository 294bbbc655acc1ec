# cmake -DGIT=... -DSOURCE=... -DHEADER=... -P commit.cmake: writes the commit of the source tree, or "unknown".
set(commit "")
if(GIT)
  execute_process(COMMAND "${GIT}" rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit "unknown")
endif()
file(WRITE "${HEADER}" "#define FUSESMITH_COMMIT \"${commit}\"\n")

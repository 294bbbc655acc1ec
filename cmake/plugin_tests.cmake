# The headers of include/ in C. The plug-ins that tests load, one source with different macros, and the worked example
# of docs/plugin/ as a test.
function(add_faulty_plugin name)
  add_library(${name} MODULE "${PROJECT_SOURCE_DIR}/python/tests/workers/faulty_plugin.cc")
  target_link_libraries(${name} PRIVATE fusesmith_plugin)
  target_compile_definitions(${name} PRIVATE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plugins")
  add_dependencies(fuzz_test ${name})
endfunction()

add_faulty_plugin(faulty_plugin)
add_faulty_plugin(plugin_of_another_abi FAULTY_ABI=2)
add_faulty_plugin(plugin_without_run FAULTY_WITHOUT_RUN)
add_faulty_plugin(plugin_for_cuda FAULTY_DEVICE=kDLCUDA)
add_faulty_plugin(plugin_for_an_unknown_device FAULTY_DEVICE=99)

foreach(header plugin check)
  add_test(NAME ${header}_header_in_c
           COMMAND "${CMAKE_CXX_COMPILER}" -x c -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only
                   -I "${DLPACK_INCLUDE_DIR}" "${PROJECT_SOURCE_DIR}/include/fusesmith/${header}.h")
endforeach()
add_test(NAME plugin_example
         COMMAND bash "${PROJECT_SOURCE_DIR}/scripts/plugin_example" "${PROJECT_BINARY_DIR}")

# The include rule and the size budget, as tests.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
  message(NOTICE "scripts/check_tree: not a test here (no python3)")
  return()
endif()
foreach(mode "" "--self-test")
  add_test(NAME check_tree${mode}
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_tree" ${mode}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endforeach()

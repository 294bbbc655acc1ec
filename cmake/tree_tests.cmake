# The rules of the tree, its picture, a campaign for every fault, exports that run alone, and every command while
# allocations fail, and on work directories of links, as tests.
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
add_test(NAME include_graph
         COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/include_graph" --check
         WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")

set(studies "${PROJECT_SOURCE_DIR}/scripts/studies")
set(endurance "${PROJECT_SOURCE_DIR}/scripts/endurance")

# The sweeps run a program without sanitizers: a sanitizer has its own malloc, and makes campaigns many times slower.
string(FIND "${CMAKE_CXX_FLAGS}" "-fsanitize" sanitized)
if(NOT TARGET fusesmith OR NOT sanitized EQUAL -1)
  return()
endif()
if(FUSESMITH_FAULTS)
  add_test(NAME fault_sweep
           COMMAND Python3::Interpreter "${studies}/fault_sweep" --binary=$<TARGET_FILE:fusesmith>)
endif()
if(FUSESMITH_FAULTS)
  # Faults of attention that are in groups of their own; scripts/studies/group_sweep without them measures all.
  add_test(NAME group_sweep
           COMMAND Python3::Interpreter "${studies}/group_sweep" --binary=$<TARGET_FILE:fusesmith>
                   --engine=random boolean_mask_as_additive key_permutation_ignored last_query_row_dropped)
endif()
if(FUSESMITH_FAULTS)
  # Three of the faults that scripts/studies/export_sweep takes by default; skipped without NumPy.
  add_test(NAME export_sweep
           COMMAND Python3::Interpreter "${studies}/export_sweep" --binary=$<TARGET_FILE:fusesmith>
                   sliced_bias_without_offset relu_drops_nan no_rescale)
  set_tests_properties(export_sweep PROPERTIES SKIP_RETURN_CODE 4)
endif()
add_test(NAME sample_report_sweep
         COMMAND Python3::Interpreter "${studies}/sample_report" --check
                 --binary=$<TARGET_FILE:fusesmith>)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND FUSESMITH_FAULTS)
  # Some of the calls; the scripts without --every try all. What depends on time is for a machine without other load.
  add_test(NAME disk_faults_sweep
           COMMAND Python3::Interpreter "${endurance}/disk_faults" --binary=$<TARGET_FILE:fusesmith>
                   --every=29 --calls_only)
  add_test(NAME kill_campaign_sweep
           COMMAND Python3::Interpreter "${endurance}/kill_campaign" $<TARGET_FILE:fusesmith> --calls
                   --every=23 --runs=60 -- --baseline=cpu --candidate=cpu_fused --jobs=2
                   --faults=last_key_tile_not_masked,layer_norm_unbiased_variance)
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  # Some moments; --moments=50 says more.
  add_test(NAME kill_processes_sweep
           COMMAND Python3::Interpreter "${endurance}/kill_processes" $<TARGET_FILE:fusesmith>
                   --moments=5)
  add_test(NAME link_sweep
           COMMAND Python3::Interpreter "${endurance}/link_sweep" --binary=$<TARGET_FILE:fusesmith>
                   --jobs=2)
  add_test(NAME out_of_memory_sweep
           COMMAND Python3::Interpreter "${endurance}/out_of_memory_sweep"
                   --binary=$<TARGET_FILE:fusesmith>)
endif()

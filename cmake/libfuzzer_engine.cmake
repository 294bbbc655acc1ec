# clang's libFuzzer without a main, linked into the program by any compiler: --engine=libfuzzer.
file(GLOB found "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer_no_main-${CMAKE_SYSTEM_PROCESSOR}.a"
     "/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer_no_main.a")
list(SORT found COMPARE NATURAL ORDER DESCENDING)
list(POP_FRONT found newest)
set(FUSESMITH_LIBFUZZER_LIBRARY "${newest}" CACHE FILEPATH "libclang_rt.fuzzer_no_main, for --engine=libfuzzer")
if(FUSESMITH_LIBFUZZER_LIBRARY AND NOT FUSESMITH_LIBFUZZER STREQUAL "OFF")
  message(STATUS "Engine libfuzzer: ${FUSESMITH_LIBFUZZER_LIBRARY}")
  set_source_files_properties(fuzz/campaign/guided_choices.cc PROPERTIES
      COMPILE_DEFINITIONS FUSESMITH_LIBFUZZER_ENGINE)
  target_link_libraries(fusesmith_fuzz PRIVATE "${FUSESMITH_LIBFUZZER_LIBRARY}")
else()
  message(NOTICE "Engine libfuzzer: absent (no libclang_rt.fuzzer_no_main; Debian: libclang-rt-14-dev)")
endif()

# tessera_fuzz(NAME DEPS...): a fuzz target from NAME.cc, which defines LLVMFuzzerTestOneInput. With TESSERA_FUZZ it is
# the program NAME, for libFuzzer. With TESSERA_TESTS it is NAME_replay, which any compiler builds, and the test
# NAME_replay runs it over every file of corpus/NAME, so that what fuzzing once found stays found.

function(tessera_fuzz name)
  if(TESSERA_FUZZ)
    add_executable(${name} ${name}.cc)
    target_link_libraries(${name} PRIVATE ${ARGN} tessera_flags)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()
  if(TESSERA_TESTS)
    add_executable(${name}_replay ${name}.cc ${CMAKE_SOURCE_DIR}/fuzz/replay_main.cc)
    target_link_libraries(${name}_replay PRIVATE ${ARGN} tessera_flags)
    add_test(NAME ${name}_replay COMMAND ${name}_replay ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  endif()
endfunction()

# One CMake target a layer: tessera_<name>, from src/tessera/<name>/**/*.cc, with its tests (*_test.cc) in one program
# tessera_<name>_test. What helps tests stands in testing/, for those of this layer and of the layers after it. Adding a file needs no edit here.

add_library(tessera_flags INTERFACE)
target_include_directories(tessera_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
# Floating-point results must not depend on the path: no contraction of a * b + c. The presets make warnings errors;
# an installation from source with a newer compiler does not stop at them.
target_compile_options(tessera_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off -fvisibility=hidden)

# gcc 12 sees overlapping copies in `"literal" + std::string` that are not there (gcc bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tessera_flags INTERFACE -Wno-restrict)
endif()

function(tessera_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/tessera/${name}/*.cc)
  set(tests ${sources})
  set(helpers ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/testing/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER helpers INCLUDE REGEX "/testing/")
  add_library(tessera_${name} STATIC ${sources})
  target_link_libraries(tessera_${name} PUBLIC tessera_flags ${ARG_DEPS})
  if(TESSERA_TESTS AND helpers)
    add_library(tessera_${name}_testing STATIC ${helpers})
    target_link_libraries(tessera_${name}_testing PUBLIC tessera_${name})
    set_property(GLOBAL APPEND PROPERTY tessera_testing tessera_${name}_testing)
  endif()
  if(TESSERA_TESTS AND tests)
    get_property(testing GLOBAL PROPERTY tessera_testing)
    add_executable(tessera_${name}_test ${tests})
    target_link_libraries(tessera_${name}_test PRIVATE ${testing} tessera_${name} GTest::gmock GTest::gtest
      GTest::gtest_main)
    # Tests are long and run for seconds: compiling them is what takes time.
    target_compile_options(tessera_${name}_test PRIVATE -O1)
    target_compile_definitions(tessera_${name}_test PRIVATE TESSERA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_test(NAME tessera_${name}_test COMMAND tessera_${name}_test)
  endif()
endfunction()

function(tessera_proto file)
  get_filename_component(stem ${file} NAME_WE)
  set(out ${CMAKE_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
    COMMAND protobuf::protoc --cpp_out=${out} -I ${CMAKE_SOURCE_DIR}/proto ${CMAKE_SOURCE_DIR}/${file}
    DEPENDS ${CMAKE_SOURCE_DIR}/${file}
    VERBATIM)
  add_library(tessera_proto STATIC ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
  target_include_directories(tessera_proto SYSTEM PUBLIC ${out})
  target_link_libraries(tessera_proto PUBLIC protobuf::libprotobuf)
endfunction()

# Compiles the text files of a folder into a target, as formats/catalog.h hands them out. Adding a file needs no edit.
function(tessera_embed_catalog target folder)
  set(folder ${CMAKE_SOURCE_DIR}/${folder})
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedCatalog.cmake)
  set(output ${CMAKE_BINARY_DIR}/catalog/catalog_files.cc)
  file(GLOB texts CONFIGURE_DEPENDS ${folder}/*.txt)
  # The list itself is an input too: a file that goes away leaves the others as they are.
  set(list ${CMAKE_BINARY_DIR}/catalog/files.txt)
  file(CONFIGURE OUTPUT ${list} CONTENT "${texts}" @ONLY)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUTPUT=${output} -P ${script}
    DEPENDS ${texts} ${list} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

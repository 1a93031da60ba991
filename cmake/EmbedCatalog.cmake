# cmake -DFOLDER=... -DOUTPUT=... -P EmbedCatalog.cmake: writes a .cc file with the texts of the catalogue
# (FOLDER/*.txt), which formats/catalog.h hands out. The build runs it when one of them changes.
cmake_minimum_required(VERSION 3.25)
file(GLOB paths ${FOLDER}/*.txt)
list(SORT paths)
set(rows "")
foreach(path IN LISTS paths)
  get_filename_component(name ${path} NAME)
  string(REGEX REPLACE "\\.txt$" "" name ${name})
  file(READ ${path} text)
  string(APPEND rows "    {\"${name}\", R\"tessera(${text})tessera\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from src/tessera/formats/catalog/*.txt by cmake/EmbedCatalog.cmake.
#include \"tessera/formats/catalog.h\"

namespace tessera {
namespace {

constexpr CatalogFile kFiles[] = {
${rows}};

}  // namespace

std::span<const CatalogFile> CatalogFiles() { return kFiles; }

}  // namespace tessera
")

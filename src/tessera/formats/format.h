// A format: a named layout of quantized tensors, described by one small text. The catalogue's formats are such texts
// (catalog.h), and a program reads its own with ParseFormat. A text is a drawing of the bytes in comments, a header,
// and one profile or struct types:
//
//   FormatProto { name: "int4_b{block}", title: "...", author: "...", blocks: [32, 128] }
//   QuantizationProto { ... }        or  StructTypeProto { ... } ..., the root last, with a decoder
//
// Template parameters that a text may use: `shape`, `elements`, `rows`, `cols` of the logical tensor, and `block`; in
// names of struct types stands `{block}`.
// docs/formats.md describes the header. Plain values; those that are const may be read from many threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/translate.h"
#include "tessera/types/limits.h"
#include "tessera/types/notation.h"
#include "tessera/types/type_table.h"

namespace tessera {

// Data that belongs to a model and not to the format: a template parameter of the text, and how many floats it takes.
struct FormatData {
  std::string parameter;
  int64_t values = 0;
  bool operator==(const FormatData&) const = default;
};

struct Format {
  // The fields of the header (FormatProto), as the rows in format_text.cc name them.
  std::string name;                  // lower case; `int4_b{block}` is a family, a format for each block size
  std::string title;                 // "ggml Q4_K"
  std::string author;                // whose layout it is
  std::vector<std::string> aliases;  // other names; those of a family have `{block}`, or mean `default_block`
  std::vector<std::string> sources;  // where the layout is defined
  int64_t block = 0;                 // values of a block along the last axis, a multiple of which it is; 0 means 1
  std::vector<int64_t> blocks;       // of a family: the sizes that are listed as formats of their own
  int64_t default_block = 0;         // of a family: the size that aliases without `{block}` mean; 0: there are none
  bool partial_blocks = false;       // the last axis need not be a multiple of the block
  std::string codec;                 // a native codec by name; empty: by the profile's family, or the decoder
  std::vector<int64_t> shape;        // of the tensor that serves as the example; empty means kExampleShape
  std::string doc_string;
  Spelling spelling;             // names that a profile becomes declarations with
  std::vector<FormatData> data;  // that has to be bound before the format can be used

  // The rest of the text.
  std::string comment;      // in front of the header, as written
  std::string body;         // behind it: the profile or the struct types, as written
  bool by_profile = false;  // which of the two
  // Where the body begins, so that errors in it have their place in the file. Not compared.
  std::string file_name;
  uint32_t line = 1;
  uint32_t column = 1;

  bool operator==(const Format& other) const;

  int64_t BlockValues() const { return block == 0 ? 1 : block; }
  bool IsFamily() const;
  // The shape of the example.
  std::span<const int64_t> ExampleShape() const;
};

// Reads a text with its whole body, which is checked for the shape of the example, and for the first of a family's
// blocks. `file_name` is what errors call it.
// Errors: those of ParseProfiles and ParseNotation; kSyntax without header or body; kFormatValue for a field of the
// header that is missing or wrong, with the place of its value; those of DeclareFormat.
Result<Format> ParseFormat(std::string_view text, const Limits& limits = {}, const std::string& file_name = {});
// The same without looking into the body.
Result<Format> ParseFormatHeader(std::string_view text, const Limits& limits = {}, const std::string& file_name = {});

// Prints so that ParseFormat gives an equal format.
std::string PrintFormat(const Format& format);
// Only the header.
std::string PrintFormatHeader(const Format& format);
// True if the text's first word is FormatProto.
bool IsFormatText(std::string_view text);

// The format of a family for one block size: `int4_b64`. Without effect on one that is no family. `text` with the size
// in place of each `{block}` is what its names become.
std::string WithBlock(std::string_view text, int64_t block);
// REQUIRES: block > 0.
Format WithBlock(const Format& family, int64_t block);

// How a format becomes types, besides the shape.
struct DeclareOptions {
  std::map<std::string, ParameterValue, std::less<>> parameters;  // Format::data
  std::string name;                                               // of the root; by default the format's choice
  std::optional<uint64_t> outliers;                               // TranslateOptions::outliers
  Limits limits;
};

struct FormatTypes {
  std::vector<StructType> types;  // each after those that it refers to, the root last
  std::shared_ptr<const CheckedType> root;
  std::optional<Profile> profile;  // of a format by profile, resolved
  std::vector<int64_t> shape;

  uint64_t SizeBytes() const { return root->size_bits / 8; }
  // Of the payload for each value; nullopt where there are none.
  std::optional<double> BitsPerWeight() const;
};

// The types of a tensor of this shape, checked.
// Errors: kFormatShape where the last axis is no multiple of the block, naming the nearest sizes that are; kFormatName
// for a family without a block; kFormatValue where the text is not what a format has to be (a root without decoder, or
// with one that gives another shape); kArgument for parameters that are bound by the library, and options that do not
// fit; kUnbound for data that has no value; what reading, translating and checking find.
Result<FormatTypes> DeclareFormat(const Format& format, std::span<const int64_t> shape,
                                  const DeclareOptions& options = {});

// The profile of a format by profile, as written. Its data may stay open, and so may its shape.
// Errors: kFormatValue for a format by struct types; those of ParseProfiles.
Result<Profile> FormatProfile(const Format& format, std::optional<std::vector<int64_t>> shape,
                              const DeclareOptions& options = {});

// Zeros for the data that `options` does not bind, for whoever needs sizes and places only.
DeclareOptions WithPlaceholders(const Format& format, DeclareOptions options = {});

}  // namespace tessera

#include "tessera/quant/testing/random_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace tessera {
namespace {

using E = ElementType;
using Shape = std::vector<int64_t>;

template <typename T, size_t N>
T OneOf(RandomSource* random, const T (&choices)[N]) {
  return choices[random->Below(N)];
}

uint64_t Elements(const Shape& shape) {
  uint64_t product = 1;
  for (int64_t dim : shape) product *= static_cast<uint64_t>(dim);
  return product;
}

// Of 1 .. most.
std::vector<int64_t> Divisors(int64_t number, int64_t most) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) divisors.push_back(d);
  }
  return divisors;
}

int64_t Divisor(RandomSource* random, int64_t number, int64_t most = std::numeric_limits<int64_t>::max()) {
  const std::vector<int64_t> divisors = Divisors(number, most);
  return divisors[random->Below(divisors.size())];
}

int32_t Small(RandomSource* random, int32_t least, int32_t most) {
  return least + static_cast<int32_t>(random->Below(static_cast<uint64_t>(most - least + 1)));
}

// A finite number that is not 0.
float Finite(RandomSource* random) {
  constexpr float kUsual[] = {
      1.0f, 0.5f, -1.0f, 0.02f, 0.1f, 3.0f, -0.3333f, 1e-30f, std::numeric_limits<float>::max(), 1e-45f};
  if (random->OneIn(2)) return OneOf(random, kUsual);
  while (true) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random->Next()));
    if (std::isfinite(value) && value != 0) return value;
  }
}

// Also 0 and -0.
float FiniteOrZero(RandomSource* random) {
  if (random->OneIn(4)) return random->OneIn(2) ? 0.0f : -0.0f;
  return Finite(random);
}

float Positive(RandomSource* random) { return std::fabs(Finite(random)); }

std::string Identifier(RandomSource* random) {
  std::string text(1, static_cast<char>('A' + random->Below(26)));
  for (uint64_t n = random->Below(6); n > 0; --n) text += "abcxyz019_"[random->Below(10)];
  return text;
}

std::vector<float> SomeFloats(RandomSource* random, uint64_t count) {
  std::vector<float> values;
  for (uint64_t i = 0; i < count; ++i) values.push_back(FiniteOrZero(random));
  return values;
}

constexpr E kIntegerTypes[] = {E::kInt2,  E::kUint2,  E::kInt4,  E::kUint4,  E::kInt8,  E::kUint8,
                               E::kInt16, E::kUint16, E::kInt32, E::kUint32, E::kInt64, E::kUint64};
constexpr E kFloatTypes[] = {E::kFloat,      E::kFloat16,    E::kBfloat16,       E::kDouble,
                             E::kFloat4E2M1, E::kFloat6E2M3, E::kFloat6E3M2,     E::kFloat8E4M3FN,
                             E::kFloat8E5M2, E::kFloat8E8M0, E::kFloat8E4M3FNUZ, E::kFloat8E5M2FNUZ};
constexpr E kDecodedTypes[] = {E::kFloat, E::kFloat16, E::kBfloat16, E::kDouble};

// ---- Valid profiles, from the shape to what fits it

// Where a profile stands, as far as it limits what it may hold.
struct Place {
  int depth = 0;
  bool in_tiling = false;    // there are tiles around it
  bool single_inner = true;  // the innermost tiling around has one elem_quant
  bool single_all = true;    // all of them have
};

class Generator {
 public:
  explicit Generator(RandomSource* random) : random_(random) {}

  RandomCase Make() {
    RandomCase result;
    result.shape = MakeShape();
    result.profile = Make(result.shape, {});
    bool has_sparse = false;  // what was made may have been dropped again
    ForEachProfile(std::as_const(result.profile), [&](const Profile& part) {
      has_sparse = has_sparse || std::holds_alternative<SparseProfile>(part.kind);
    });
    if (needs_outliers_ && has_sparse) result.outliers = Below(std::min<uint64_t>(fewest_ + 1, 40));
    return result;
  }

 private:
  uint64_t Below(uint64_t n) { return random_->Below(n); }
  bool OneIn(uint64_t n) { return random_->OneIn(n); }

  Shape MakeShape() {
    constexpr int64_t kDims[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 20, 24, 30, 32, 36, 48, 60, 64};
    Shape shape;
    for (uint64_t rank = Below(12) == 0 ? 0 : Below(3) + 1; rank > 0; --rank) {
      shape.push_back(OneIn(60) ? 0 : OneOf(random_, kDims));
    }
    if (shape.size() == 1 && OneIn(2)) shape[0] *= OneOf(random_, kDims);
    while (Elements(shape) > 4096) shape[Below(shape.size())] = OneOf(random_, {1, 2, 3, 4});
    return shape;
  }

  Profile Make(const Shape& shape, const Place& place) {
    Profile profile;
    switch (Below(place.depth == 0 ? 14 : 18)) {
      case 0:
      case 1:
      case 2:
        if (place.depth < 3 && MakeTiling(shape, place, &profile)) break;
        [[fallthrough]];
      case 3:
        if (place.depth < 3) {
          profile.kind = MakeSparse(shape, place);
          break;
        }
        [[fallthrough]];
      case 4:
      case 5:
        profile.kind = MakeCodebook(shape, place);
        break;
      case 6:
      case 7:
        profile.kind = MakeFloatingPoint(shape, place);
        break;
      case 8:
        profile.kind = MakeLog();
        break;
      case 9:
        profile.kind = MakeFunction(shape);
        break;
      case 10:
        profile.kind = CastProfile{OneOf(random_, kFixedTypes)};
        break;
      case 11:
      case 12:
        if (MakeStructuredBlock(shape, &profile)) break;
        [[fallthrough]];
      default:
        profile.kind = MakeLinear(shape, place);
        break;
    }
    Decorate(shape, &profile);
    return profile;
  }

  static constexpr E kFixedTypes[] = {E::kFloat, E::kUint8,   E::kInt8,     E::kInt16,      E::kInt64,
                                      E::kBool,  E::kFloat16, E::kBfloat16, E::kFloat4E2M1, E::kInt4,
                                      E::kUint2, E::kDouble,  E::kUint32,   E::kFloat6E3M2, E::kFloat8E4M3FN};

  // ---- what every profile may have

  void Decorate(const Shape& shape, Profile* profile) {
    if (OneIn(6)) profile->data_type = OneOf(random_, kDecodedTypes);
    if (OneIn(12)) profile->doc_string = RandomString(random_);
    if (OneIn(12)) {
      for (uint64_t n = Below(3) + 1; n > 0; --n)
        profile->metadata.push_back({fmt::format("k{}.{}", n, Identifier(random_)), RandomString(random_)});
    }
    if (!shape.empty() && !std::holds_alternative<CastProfile>(profile->kind)) {
      if (OneIn(10)) profile->pre_rotation = MakeRotation(shape.back());
      if (OneIn(10)) profile->post_rotation = MakeRotation(shape.front());
    }
  }

  std::optional<Rotation> MakeRotation(int64_t axis) {
    if (axis == 0) return std::nullopt;
    Rotation rotation;
    if (OneIn(2)) {
      int32_t size = 1;
      while (axis % (size * 2) == 0 && !OneIn(5)) size *= 2;
      rotation.matrix_type = RotationType::kHadamard;
      rotation.dims.assign(OneIn(2) ? 1 : 2, size);
    } else {
      rotation.matrix_type = RotationType::kPlain;
      rotation.dims.assign(axis > 12 || OneIn(2) ? 1 : 2, static_cast<int32_t>(axis));
      rotation.matrix.values = SomeFloats(random_, rotation.dims.size() == 1 ? axis : axis * axis);
      if (OneIn(4)) rotation.matrix_index = Small(random_, 0, 7);
    }
    return rotation;
  }

  // ---- parameters

  // A stored parameter that may stand here; nullopt where none may.
  std::optional<Stored> MakeStored(const Shape& shape, int32_t axis, const Place& place, bool zero_point) {
    std::vector<Stored::Per> possible;
    if (place.in_tiling) possible.insert(possible.end(), 3, Stored::Per::kTile);
    if (axis >= 0 && static_cast<size_t>(axis) < shape.size()) possible.push_back(Stored::Per::kChannel);
    if (place.single_all) possible.push_back(Stored::Per::kTensor);
    if (possible.empty()) return std::nullopt;
    Stored stored;
    stored.per = possible[Below(possible.size())];
    stored.at = OneIn(2) ? Stored::At::kBefore : Stored::At::kAfter;
    stored.type = zero_point ? OneOf(random_, kIntegerTypes) : OneOf(random_, kFloatTypes);
    const bool may_nest = stored.per != Stored::Per::kTile || place.single_inner;
    if (place.depth < 3 && may_nest && (stored.per == Stored::Per::kTile ? !OneIn(4) : OneIn(3))) {
      Shape inner = {1};
      if (stored.per == Stored::Per::kChannel) inner = {shape[axis]};
      if (stored.per == Stored::Per::kTile) inner = grid_;
      Place inside;
      inside.depth = place.depth + 2;
      Shape grid = std::exchange(grid_, {});
      stored.type = Box<Profile>(Make(inner, inside));
      grid_ = std::move(grid);
    }
    return stored;
  }

  Scale MakeScale(const Shape& shape, int32_t axis, const Place& place) {
    switch (Below(7)) {
      case 0:
        return std::monostate{};
      case 1:
      case 2:
        return Finite(random_);
      case 3:
        return ScaleExponent{Small(random_, -30, 30)};
      default:
        if (std::optional<Stored> stored = MakeStored(shape, axis, place, false)) return *std::move(stored);
        return Positive(random_);
    }
  }

  int32_t SomeAxis(const Shape& shape) {
    return Small(random_, -1, std::max<int32_t>(0, static_cast<int32_t>(shape.size()) - 1));
  }

  // ---- families

  void MakeCodes(ElementType* storage_type, int32_t* bits) {
    *storage_type = OneIn(8) ? OneOf(random_, kFloatTypes) : OneOf(random_, kIntegerTypes);
    const int32_t width = static_cast<int32_t>(BitWidth(*storage_type));
    const bool is_float = Info(*storage_type).kind == ElementKind::kFloat;
    *bits = is_float || OneIn(2) ? width : Small(random_, 1, std::min(width, 16));
  }

  LinearProfile MakeLinear(const Shape& shape, const Place& place) {
    LinearProfile linear;
    MakeCodes(&linear.storage_type, &linear.bits);
    linear.axis = SomeAxis(shape);
    linear.symmetric = OneIn(3);
    linear.scale = MakeScale(shape, linear.axis, place);
    if (!linear.symmetric) {
      linear.zero_point = int64_t{Small(random_, -20, 20)};
      if (OneIn(3)) {
        if (std::optional<Stored> stored = MakeStored(shape, linear.axis, place, true)) linear.zero_point = *stored;
      }
    }
    return linear;
  }

  CodebookProfile MakeCodebook(const Shape& shape, const Place& place) {
    CodebookProfile codebook;
    const auto elements = static_cast<int64_t>(Elements(shape));
    const int32_t vector = elements == 0 ? Small(random_, 1, 4) : static_cast<int32_t>(Divisor(random_, elements, 8));
    const int32_t books = OneIn(2) ? 1 : Small(random_, 1, 4);
    int32_t size = Small(random_, 2, OneIn(3) ? 40 : 8);
    if (OneIn(2)) size = 1 << Small(random_, 1, 4);
    while (int64_t{size} * vector * books > 96 && size > 2) size /= 2;  // long lists only take time
    codebook.vector_size = vector == 1 && OneIn(2) ? 0 : vector;
    codebook.num_codebooks = books == 1 && OneIn(2) ? 0 : books;
    codebook.codebook_size = OneIn(2) ? 0 : size;
    codebook.codebook_data.values = SomeFloats(random_, static_cast<uint64_t>(books) * vector * size);
    codebook.scale = MakeScale(shape, 0, place);
    const auto least_bits = static_cast<int32_t>(std::bit_width(static_cast<uint32_t>(size - 1)));
    switch (Below(3)) {
      case 0:  // digits
        codebook.packed_bytes = Small(random_, 1, 4);
        codebook.packed_count = Small(random_, 1, DigitsIn(codebook.packed_bytes, size));
        break;
      case 1:  // bits in groups
        codebook.index_bits = OneIn(3) ? 8 : Small(random_, least_bits, least_bits + 2);
        codebook.packed_count = Small(random_, 1, 9);
        codebook.packed_bytes = (codebook.packed_count * codebook.index_bits + 7) / 8 + (OneIn(4) ? 1 : 0);
        break;
      default:  // bits in one run
        codebook.index_bits = OneIn(3) ? 8 : Small(random_, least_bits, least_bits + 2);
        break;
    }
    return codebook;
  }

  // How many digits of a base fit into so many bytes.
  static int32_t DigitsIn(int32_t bytes, int32_t base) {
    int32_t digits = 0;
    for (uint64_t codes = base; codes <= uint64_t{1} << (8 * bytes); codes *= base) ++digits;
    return digits;
  }

  FloatingPointProfile MakeFloatingPoint(const Shape& shape, const Place& place) {
    FloatingPointProfile fp;
    if (OneIn(2)) {
      constexpr E kSmallFloats[] = {E::kFloat4E2M1, E::kFloat6E2M3, E::kFloat6E3M2, E::kFloat8E4M3FN,  E::kFloat8E5M2,
                                    E::kBfloat16,   E::kFloat16,    E::kFloat,      E::kFloat8E5M2FNUZ};
      const FloatFormat& format = Info(OneOf(random_, kSmallFloats)).format;
      fp.sign_bits = format.sign_bits;
      fp.exponent_bits = format.exponent_bits;
      fp.mantissa_bits = format.mantissa_bits;
      fp.exponent_bias = format.exponent_bias;
      fp.has_inf = format.specials == FloatSpecials::kIeee;
      fp.has_nan = format.specials != FloatSpecials::kNone;
    } else {
      fp.sign_bits = Small(random_, 0, 1);
      fp.exponent_bits = Small(random_, 1, OneIn(4) ? 8 : 6);
      fp.mantissa_bits = Small(random_, 0, OneIn(4) ? 23 : 7);
      fp.exponent_bias = (1 << (fp.exponent_bits - 1)) - 1;
      fp.has_inf = OneIn(3);
      fp.has_nan = OneIn(3);
      if (fp.has_inf && fp.has_nan && fp.mantissa_bits == 0) fp.has_nan = false;
    }
    // The largest power of two and the smallest number are those of a FLOAT.
    const int32_t least = (1 << fp.exponent_bits) - 1 - (fp.has_inf && fp.has_nan ? 1 : 0) - 127;
    fp.mantissa_bits = std::min(fp.mantissa_bits, 150 - least);
    const int32_t most = 150 - fp.mantissa_bits;
    if (OneIn(3)) fp.exponent_bias = Small(random_, least, most);
    fp.exponent_bias = std::clamp(fp.exponent_bias, least, most);
    const int32_t bits = fp.sign_bits + fp.exponent_bits + fp.mantissa_bits;
    fp.split_storage = fp.mantissa_bits > 0 && OneIn(3);
    if (OneIn(2)) {
      fp.packed_count = Small(random_, 1, 9);
      fp.packed_bytes = (fp.packed_count * bits + 7) / 8;
    }
    fp.scale = OneIn(2) ? Scale{} : MakeScale(shape, 0, place);
    return fp;
  }

  SparseProfile MakeSparse(const Shape& shape, const Place& place) {
    SparseProfile sparse;
    Place inside = place;
    ++inside.depth;
    sparse.base_quant = Make(shape, inside);
    constexpr E kOutliers[] = {E::kFloat, E::kFloat16, E::kBfloat16, E::kDouble, E::kFloat8E5M2};
    constexpr float kRatios[] = {0.01f, 0.125f, 0.25f, 0.003f, 1.0f};
    sparse.outlier_data_type = OneOf(random_, kOutliers);
    sparse.outlier_threshold = OneIn(3) ? 0 : Positive(random_);
    sparse.outlier_ratio = OneIn(3) ? 0 : OneOf(random_, kRatios);
    fewest_ = std::min(fewest_, Elements(shape));
    needs_outliers_ = needs_outliers_ || sparse.outlier_ratio == 0;
    return sparse;
  }

  LogProfile MakeLog() {
    LogProfile log;
    log.bits = OneIn(2) ? 1 << Small(random_, 1, 5) : Small(random_, 1, 16);
    constexpr float kBases[] = {2.0f, 1.5f, 10.0f, 0.5f, 1.4142135f};
    log.base = OneOf(random_, kBases);
    log.offset = FiniteOrZero(random_);
    log.has_sign = OneIn(2);
    return log;
  }

  FunctionProfile MakeFunction(const Shape& shape) {
    FunctionProfile function;
    MakeCodes(&function.storage_type, &function.bits);
    if (!OneIn(4)) function.quantize_op = fmt::format("{}::{}", Identifier(random_), Identifier(random_));
    function.dequantize_op = fmt::format("{}::{}", Identifier(random_), Identifier(random_));
    const auto elements = static_cast<int64_t>(Elements(shape));
    if (OneIn(2) && elements > 0) {
      const auto size = static_cast<int32_t>(Divisor(random_, elements));
      function.block_layout = MakeLayout(size, {{BlockFieldRole::kValues, size}}, true);
    }
    return function;
  }

  struct Wanted {
    BlockFieldRole role;
    int32_t count;
    int32_t bits = 0;  // 0: any
  };

  // A layout with these fields and some others, in any order, with gaps where there may be some.
  BlockLayout MakeLayout(int32_t block_size, std::vector<Wanted> wanted, bool interleaved) {
    constexpr BlockFieldRole kOthers[] = {BlockFieldRole::kScale, BlockFieldRole::kZeroPoint, BlockFieldRole::kBias,
                                          BlockFieldRole::kExponent, BlockFieldRole::kMask};
    for (BlockFieldRole role : kOthers) {
      const bool there = std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.role == role; });
      if (!there && OneIn(4)) {
        if (role == BlockFieldRole::kMask)
          wanted.push_back({role, block_size, 1});
        else
          wanted.push_back({role, static_cast<int32_t>(Divisor(random_, block_size, 8))});
      }
    }
    for (size_t i = wanted.size(); i > 1; --i) std::swap(wanted[i - 1], wanted[Below(i)]);
    BlockLayout layout;
    layout.block_size = block_size;
    int64_t end = 0;
    for (const Wanted& field : wanted) {
      BlockField made;
      made.role = field.role;
      made.count = field.count;
      made.bit_width = field.bits != 0 ? field.bits : Small(random_, 1, 9);
      if (field.bits == 0 && OneIn(2)) {
        const bool integer = field.role == BlockFieldRole::kExponent || OneIn(2);
        made.data_type = integer ? OneOf(random_, kIntegerTypes) : OneOf(random_, kFloatTypes);
        made.bit_width = static_cast<int32_t>(BitWidth(made.data_type));
      }
      if (OneIn(4)) made.bit_offset = Small(random_, 1, 12);  // behind the field before, or in a record of its own
      end += made.bit_offset;
      if (interleaved) made.bit_offset = static_cast<int32_t>(end);
      end += int64_t{made.bit_width} * made.count;
      layout.fields.push_back(made);
    }
    if (interleaved) {
      for (size_t i = layout.fields.size(); i > 1; --i) std::swap(layout.fields[i - 1], layout.fields[Below(i)]);
      end += OneIn(4) ? Small(random_, 1, 24) : 0;
    } else if (end % 8 != 0) {
      // The records of all fields together are a block's bytes.
      layout.fields[Below(layout.fields.size())].bit_offset += static_cast<int32_t>(8 - end % 8);
    }
    layout.bytes_per_block = static_cast<int32_t>((end + 7) / 8);
    return layout;
  }

  bool MakeStructuredBlock(const Shape& shape, Profile* profile) {
    const uint64_t elements = Elements(shape);
    if (elements == 0) return false;
    StructuredBlockProfile block;
    int64_t along = static_cast<int64_t>(elements);
    if (!shape.empty() && OneIn(2)) {
      block.axis = Small(random_, 0, static_cast<int32_t>(shape.size()) - 1);
      along = shape[*block.axis];
    }
    const auto size = static_cast<int32_t>(Divisor(random_, along));
    block.storage_order = OneIn(2) ? BlockStorageOrder::kInterleaved : BlockStorageOrder::kSequential;
    const bool interleaved = block.storage_order == BlockStorageOrder::kInterleaved;
    std::vector<Wanted> wanted;
    if (OneIn(2)) {
      wanted.push_back({BlockFieldRole::kValues, size});
    } else {
      const auto vector = static_cast<int32_t>(Divisor(random_, size, 8));
      const int32_t codes = size / vector;
      block.codebook_vector_size = vector;
      int64_t largest = 0;
      constexpr BlockFieldRole kParts[] = {BlockFieldRole::kCode, BlockFieldRole::kSign, BlockFieldRole::kValues};
      int32_t multiplier = 1;
      for (BlockFieldRole role : kParts) {
        if (role != BlockFieldRole::kCode && !OneIn(3)) continue;
        const int32_t bits = Small(random_, 1, 3);
        wanted.push_back({role, codes, bits});
        block.index_formula.push_back({role, multiplier});
        largest += int64_t{multiplier} * ((1 << bits) - 1);
        multiplier <<= bits;
      }
      block.codebook_data.values = SomeFloats(random_, (largest + 1 + Below(3)) * vector);
      if (OneIn(2)) {
        Scatter scatter;
        const auto chunks = static_cast<int32_t>(Divisor(random_, codes));
        scatter.group_size = size / chunks;
        scatter.vector_size = vector;
        scatter.stride = scatter.group_size / vector;
        block.scatter = scatter;
      }
    }
    block.block_layout = MakeLayout(size, std::move(wanted), interleaved);
    profile->kind = std::move(block);
    return true;
  }

  bool MakeTiling(const Shape& shape, const Place& place, Profile* profile) {
    const uint64_t elements = Elements(shape);
    if (elements == 0) return false;
    TilingProfile tiling;
    Shape tile;
    Shape grid;
    std::vector<int32_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    auto shuffle = [&](std::vector<int32_t>* list) {
      for (size_t i = list->size(); i > 1; --i) std::swap((*list)[i - 1], (*list)[Below(i)]);
    };
    if (shape.empty() || OneIn(2)) {
      tile = {Divisor(random_, static_cast<int64_t>(elements))};
      grid = {static_cast<int64_t>(elements) / tile[0]};
      tiling.tile_shape = tile;
    } else {
      std::vector<int32_t> axes = order;
      shuffle(&axes);
      axes.resize(Below(axes.size()) + 1);
      tile = shape;
      for (int32_t axis : axes) {
        if (OneIn(4)) {
          tiling.tile_shape.push_back(0);
        } else {
          tile[axis] = Divisor(random_, shape[axis]);
          tiling.tile_shape.push_back(tile[axis]);
        }
      }
      tiling.axes = axes;
    }
    if (!shape.empty() && OneIn(4)) {
      tiling.perm = order;
      shuffle(&tiling.perm);
    }
    if (!tiling.axes.empty()) {
      // What is stored for each tile has the shape of the divided axes, in memory order.
      for (int32_t axis : tiling.perm.empty() ? order : tiling.perm) {
        if (std::find(tiling.axes.begin(), tiling.axes.end(), axis) != tiling.axes.end())
          grid.push_back(shape[axis] / tile[axis]);
      }
      if (Elements(grid) == 1) grid = {1};
    }
    const uint64_t tiles = Elements(grid);
    Place inside = place;
    ++inside.depth;
    inside.in_tiling = true;
    const Shape outer_grid = std::exchange(grid_, grid);
    const uint64_t kind = Below(5);
    if (kind < 2 || tiles < 2) {
      inside.single_inner = true;
      tiling.elem_quant.push_back(Make(tile, inside));
    } else {
      inside.single_inner = inside.single_all = false;
      const uint64_t most = std::min<uint64_t>(tiles, 12);
      const uint64_t count = OneIn(2) ? most : Below(most - 1) + 2;
      if (kind == 2 && tiles <= 256) {
        Merge(tile, inside, count, &tiling);
      } else {
        std::vector<Profile> pool;
        for (uint64_t n = Below(3) + 1; n > 0; --n) pool.push_back(Make(tile, inside));
        for (uint64_t i = 0; i < count; ++i) tiling.elem_quant.push_back(pool[Below(pool.size())]);
      }
    }
    grid_ = outer_grid;
    profile->kind = std::move(tiling);
    return true;
  }

  // Profiles that differ in constant scale and zero point only.
  void Merge(const Shape& tile, const Place& place, uint64_t count, TilingProfile* tiling) {
    Profile common;
    if (OneIn(2)) {
      LinearProfile linear = MakeLinear(tile, place);
      linear.scale = Finite(random_);
      linear.zero_point = int64_t{0};
      common.kind = linear;
    } else {
      CodebookProfile codebook = MakeCodebook(tile, place);
      codebook.scale = Finite(random_);
      common.kind = codebook;
    }
    const bool exponents = OneIn(4);
    for (uint64_t i = 0; i < count; ++i) {
      Scale scale = exponents ? Scale{ScaleExponent{Small(random_, -9, 9)}} : Scale{Finite(random_)};
      Profile one = common;
      if (auto* linear = std::get_if<LinearProfile>(&one.kind)) {
        linear->scale = scale;
        if (!linear->symmetric) linear->zero_point = int64_t{Small(random_, -3, 3)};
      } else {
        std::get<CodebookProfile>(one.kind).scale = scale;
      }
      tiling->elem_quant.push_back(std::move(one));
    }
  }

  RandomSource* random_;
  Shape grid_;  // of the innermost tiling around
  bool needs_outliers_ = false;
  uint64_t fewest_ = std::numeric_limits<uint64_t>::max();  // values of the smallest Sparse
};

// ---- Spellings

// The profile with the scale and the zero point that tiles in one array may differ in.
Profile WithConstants(Profile profile, const Profile& other) {
  if (auto* linear = std::get_if<LinearProfile>(&profile.kind)) {
    if (const auto* from = std::get_if<LinearProfile>(&other.kind)) {
      linear->scale = from->scale;
      linear->zero_point = from->zero_point;
    }
  } else if (auto* codebook = std::get_if<CodebookProfile>(&profile.kind)) {
    if (const auto* from = std::get_if<CodebookProfile>(&other.kind)) codebook->scale = from->scale;
  }
  return profile;
}

class Speller {
 public:
  explicit Speller(RandomSource* random) : random_(random) {}

  Spelling Make(const Profile& profile) {
    Spelling spelling;
    // Names of declarations have to differ, so they are counted.
    if (random_->OneIn(2)) spelling.name = fmt::format("N{}_{}", next_name_++, Identifier(random_));
    if (random_->OneIn(2)) spelling.codes = "c_" + Identifier(random_);
    std::visit([&](const auto& family) { Add(family, &spelling); }, profile.kind);
    EachStored(profile, [&](const Stored& stored) {
      if (const auto* inner = std::get_if<Box<Profile>>(&stored.type)) spelling.parts.push_back(Make(**inner));
    });
    // What stands behind the last that is not by rule could as well be absent.
    if (random_->OneIn(4) && !spelling.parts.empty()) spelling.parts.pop_back();
    return spelling;
  }

 private:
  template <typename Visit>
  static void EachStored(const Profile& profile, const Visit& visit) {
    ForEachStored(profile, [&](const Stored& stored) { visit(stored); });
  }

  // UINT8, or a type of that width.
  std::optional<ElementType> CodeType(uint32_t bits) {
    if (random_->OneIn(2)) return std::nullopt;
    std::vector<ElementType> possible = {ElementType::kUint8};
    for (ElementType type : kIntegerTypes) {
      if (BitWidth(type) == bits) possible.push_back(type);
    }
    return possible[random_->Below(possible.size())];
  }

  void Add(const std::monostate&, Spelling*) {}
  void Add(const LinearProfile& linear, Spelling* spelling) {
    spelling->code_type = CodeType(static_cast<uint32_t>(linear.bits));
  }
  void Add(const CodebookProfile&, Spelling* spelling) {
    if (random_->OneIn(2)) spelling->codebook = "b_" + Identifier(random_);
    if (random_->OneIn(4)) spelling->code_type = ElementType::kUint8;
  }
  void Add(const FloatingPointProfile& fp, Spelling* spelling) {
    if (!fp.split_storage && random_->OneIn(3)) {
      spelling->code_type = ElementType::kUint8;
      return;
    }
    const int64_t bits = int64_t{fp.sign_bits} + fp.exponent_bits + fp.mantissa_bits;
    const bool padded = int64_t{fp.packed_count} * bits != int64_t{fp.packed_bytes} * 8;
    if (fp.packed_count > 0 && (fp.split_storage || padded)) {
      Spelling group;
      if (random_->OneIn(2)) group.name = fmt::format("N{}_GROUP", next_name_++);
      spelling->parts.push_back(std::move(group));
    }
  }
  void Add(const SparseProfile& sparse, Spelling* spelling) { spelling->parts.push_back(Make(*sparse.base_quant)); }
  void Add(const LogProfile& log, Spelling* spelling) {
    spelling->code_type = CodeType(static_cast<uint32_t>(log.bits));
  }
  void Add(const FunctionProfile& function, Spelling* spelling) {
    if (function.block_layout)
      AddBlock(spelling);
    else
      spelling->code_type = CodeType(static_cast<uint32_t>(function.bits));
  }
  void Add(const TilingProfile& tiling, Spelling* spelling) {
    if (IsMerged(tiling)) {
      spelling->codebook = random_->OneIn(2) ? "b_" + Identifier(random_) : "";
      if (const auto* linear = std::get_if<LinearProfile>(&tiling.elem_quant.front().kind))
        spelling->code_type = CodeType(static_cast<uint32_t>(linear->bits));
      return;
    }
    std::vector<const Profile*> seen;
    for (const Profile& elem : tiling.elem_quant) {
      if (std::any_of(seen.begin(), seen.end(), [&](const Profile* other) { return *other == elem; })) continue;
      seen.push_back(&elem);
      spelling->parts.push_back(Make(elem));
    }
  }
  void Add(const CastProfile&, Spelling*) {}
  void Add(const StructuredBlockProfile& block, Spelling* spelling) {
    if (random_->OneIn(2)) spelling->codebook = "b_" + Identifier(random_);
    if (block.storage_order == BlockStorageOrder::kInterleaved) AddBlock(spelling);
  }
  void AddBlock(Spelling* spelling) {
    Spelling block;
    if (random_->OneIn(2)) block.name = fmt::format("N{}_BLOCK", next_name_++);
    spelling->parts.push_back(std::move(block));
  }

  RandomSource* random_;
  int next_name_ = 0;
};

// ---- Any profiles

// Most numbers are small, so that some profiles are nearly right.
int64_t AnyNumber(RandomSource* random) {
  constexpr int64_t kEdges[] = {-1,
                                std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::min(),
                                std::numeric_limits<uint32_t>::max(),
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min(),
                                int64_t{1} << 32,
                                65'536};
  if (random->OneIn(4)) return OneOf(random, kEdges);
  return static_cast<int64_t>(random->OneIn(8) ? random->Next() : random->Below(20));
}

// A number that fits.
int32_t AnyInt(RandomSource* random) { return static_cast<int32_t>(AnyNumber(random)); }

float AnyFloat(RandomSource* random) {
  constexpr uint32_t kEdges[] = {0x00000000u, 0x80000000u, 0x7F800000u, 0xFF800000u, 0x7FC00000u,
                                 0xFFC00001u, 0x7F800001u, 0x00000001u, 0x7F7FFFFFu, 0x3F800000u};
  if (random->OneIn(3)) return std::bit_cast<float>(OneOf(random, kEdges));
  return random->OneIn(4) ? std::bit_cast<float>(static_cast<uint32_t>(random->Next())) : Finite(random);
}

ElementType AnyType(RandomSource* random) { return AllElementTypes()[random->Below(AllElementTypes().size())].type; }

template <typename T, typename Make>
std::vector<T> AnyList(RandomSource* random, uint64_t most, Make make) {
  std::vector<T> list;
  for (uint64_t n = random->Below(most + 1); n > 0; --n) list.push_back(make(random));
  return list;
}

FloatData AnyData(RandomSource* random) {
  FloatData data;
  if (random->OneIn(4))
    data.parameter = Identifier(random);
  else
    data.values = AnyList<float>(random, random->OneIn(4) ? 40 : 4, AnyFloat);
  return data;
}

class AnyGenerator {
 public:
  explicit AnyGenerator(RandomSource* random) : random_(random) {}

  Profile Make(int depth) {
    Profile profile;
    profile.kind = Kind(depth);
    if (random_->OneIn(4)) profile.data_type = AnyType(random_);
    if (random_->OneIn(4)) profile.doc_string = RandomString(random_);
    profile.metadata = AnyList<Metadata>(random_, random_->OneIn(4) ? 2 : 0, [](RandomSource* random) {
      return Metadata{random->OneIn(3) ? "tessera.shape" : RandomString(random), RandomString(random)};
    });
    if (random_->OneIn(6)) profile.pre_rotation = AnyRotation();
    if (random_->OneIn(6)) profile.post_rotation = AnyRotation();
    return profile;
  }

  Scale AnyScale(int depth) {
    switch (random_->Below(4)) {
      case 0:
        return std::monostate{};
      case 1:
        return AnyFloat(random_);
      case 2:
        return ScaleExponent{AnyInt(random_)};
      default:
        return AnyStored(depth);
    }
  }

  ZeroPoint AnyZeroPoint(int depth) {
    if (random_->OneIn(3)) return AnyStored(depth);
    return random_->OneIn(2) ? 0 : AnyNumber(random_);
  }

  BlockLayout AnyLayout() {
    BlockLayout layout;
    layout.block_size = AnyInt(random_);
    layout.bytes_per_block = AnyInt(random_);
    layout.fields = AnyList<BlockField>(random_, 4, [](RandomSource* random) {
      BlockField field;
      field.role = static_cast<BlockFieldRole>(random->Below(8));
      field.bit_offset = AnyInt(random);
      field.bit_width = AnyInt(random);
      field.count = AnyInt(random);
      field.data_type = random->OneIn(2) ? E::kUndefined : AnyType(random);
      return field;
    });
    return layout;
  }

  Rotation AnyRotation() {
    Rotation rotation;
    rotation.matrix_type = random_->OneIn(2) ? RotationType::kHadamard : RotationType::kPlain;
    rotation.dims = AnyList<int32_t>(random_, 3, AnyInt);
    if (random_->OneIn(3)) rotation.matrix_index = AnyInt(random_);
    if (random_->OneIn(2)) rotation.matrix = AnyData(random_);
    return rotation;
  }

 private:
  Stored AnyStored(int depth) {
    Stored stored;
    stored.per = OneOf(random_, {Stored::Per::kTile, Stored::Per::kChannel, Stored::Per::kTensor});
    stored.at = random_->OneIn(2) ? Stored::At::kBefore : Stored::At::kAfter;
    if (depth > 0 && random_->OneIn(3))
      stored.type = Box<Profile>(Make(depth - 1));
    else
      stored.type = AnyType(random_);
    return stored;
  }

  Profile::Kind Kind(int depth) {
    switch (random_->Below(11)) {
      case 0:
        if (random_->OneIn(4)) return std::monostate{};
        [[fallthrough]];
      case 1:
        return LinearProfile{AnyType(random_), AnyInt(random_),     random_->OneIn(2),
                             AnyScale(depth),  AnyZeroPoint(depth), AnyInt(random_)};
      case 2:
        return CodebookProfile{AnyScale(depth), AnyData(random_), AnyInt(random_), AnyInt(random_),
                               AnyInt(random_), AnyInt(random_),  AnyInt(random_), AnyInt(random_)};
      case 3:
        return FloatingPointProfile{AnyInt(random_),   AnyInt(random_),   AnyInt(random_),   AnyInt(random_),
                                    random_->OneIn(2), random_->OneIn(2), random_->OneIn(2), AnyInt(random_),
                                    AnyInt(random_),   AnyScale(depth)};
      case 4: {
        SparseProfile sparse;
        if (depth > 0) sparse.base_quant = Make(depth - 1);
        sparse.outlier_data_type = AnyType(random_);
        sparse.outlier_threshold = AnyFloat(random_);
        sparse.outlier_ratio = AnyFloat(random_);
        return sparse;
      }
      case 5:
        return LogProfile{AnyInt(random_), AnyFloat(random_), AnyFloat(random_), random_->OneIn(2)};
      case 6: {
        FunctionProfile function;
        function.storage_type = AnyType(random_);
        function.bits = AnyInt(random_);
        function.quantize_op = RandomString(random_);
        function.dequantize_op = RandomString(random_);
        if (random_->OneIn(2)) function.block_layout = AnyLayout();
        return function;
      }
      case 7:
        return CastProfile{AnyType(random_)};
      case 8: {
        StructuredBlockProfile block;
        block.block_layout = AnyLayout();
        if (random_->OneIn(2)) block.codebook_data = AnyData(random_);
        block.codebook_vector_size = AnyInt(random_);
        block.index_formula = AnyList<FieldWeight>(random_, 3, [](RandomSource* random) {
          return FieldWeight{static_cast<BlockFieldRole>(random->Below(8)), AnyInt(random)};
        });
        if (random_->OneIn(3)) block.scatter = Scatter{AnyInt(random_), AnyInt(random_), AnyInt(random_)};
        block.storage_order = static_cast<BlockStorageOrder>(random_->Below(2));
        if (random_->OneIn(3)) block.axis = AnyInt(random_);
        return block;
      }
      default: {
        TilingProfile tiling;
        tiling.tile_shape = AnyList<int64_t>(random_, 3, AnyNumber);
        tiling.axes = AnyList<int32_t>(random_, random_->OneIn(2) ? 0 : 3, AnyInt);
        tiling.perm = AnyList<int32_t>(random_, random_->OneIn(2) ? 0 : 3, AnyInt);
        if (depth > 0) {
          for (uint64_t n = random_->Below(3); n > 0; --n) tiling.elem_quant.push_back(Make(depth - 1));
        }
        return tiling;
      }
    }
  }

  RandomSource* random_;
};

// ---- One change

class Mutator {
 public:
  explicit Mutator(RandomSource* random) : random_(random) {}

  void Change(Profile* profile) {
    switch (random_->Below(8)) {
      case 0:
        return ChangeCommon(profile);
      default:
        std::visit([&](auto& family) { ChangeFamily(&family); }, profile->kind);
    }
  }

 private:
  AnyGenerator Any() { return AnyGenerator(random_); }

  void Number(int32_t* number) {
    if (random_->OneIn(3))
      *number = AnyInt(random_);
    else
      *number = static_cast<int32_t>(static_cast<uint32_t>(*number) + (random_->OneIn(2) ? 1u : ~0u));
  }
  void Number(int64_t* number) {
    if (random_->OneIn(3))
      *number = AnyNumber(random_);
    else
      *number = static_cast<int64_t>(static_cast<uint64_t>(*number) + (random_->OneIn(2) ? 1u : ~uint64_t{0}));
  }
  void Flag(bool* flag) { *flag = !*flag; }
  void Number(std::optional<int32_t>* number) {
    if (*number && random_->OneIn(2))
      number->reset();
    else
      *number = AnyInt(random_);
  }

  template <typename T, typename Other>
  void List(std::vector<T>* list, Other other) {
    if (list->empty() || random_->OneIn(4)) {
      list->insert(list->begin() + static_cast<ptrdiff_t>(random_->Below(list->size() + 1)), other());
      return;
    }
    const size_t at = random_->Below(list->size());
    switch (random_->Below(4)) {
      case 0:
        list->erase(list->begin() + static_cast<ptrdiff_t>(at));
        return;
      case 1:
        std::swap((*list)[at], (*list)[random_->Below(list->size())]);
        return;
      default:
        (*list)[at] = other();
        return;
    }
  }

  void Data(FloatData* data) {
    if (random_->OneIn(6)) {
      *data = AnyData(random_);
      return;
    }
    List(&data->values, [&] { return AnyFloat(random_); });
  }

  void ChangeCommon(Profile* profile) {
    switch (random_->Below(6)) {
      case 0:
        profile->data_type = random_->OneIn(2) ? std::nullopt : std::optional(AnyType(random_));
        return;
      case 1:
        profile->doc_string = random_->OneIn(3) ? std::nullopt : std::optional(RandomString(random_));
        return;
      case 2:
        return List(&profile->metadata, [&] { return Metadata{RandomString(random_), RandomString(random_)}; });
      case 3:
        return Change(&profile->pre_rotation);
      case 4:
        return Change(&profile->post_rotation);
      default:
        profile->kind = Any().Make(1).kind;
        return;
    }
  }

  void Change(std::optional<Rotation>* rotation) {
    if (!*rotation || random_->OneIn(5)) {
      *rotation = Any().AnyRotation();
      return;
    }
    switch (random_->Below(5)) {
      case 0:
        return rotation->reset();
      case 1:
        (*rotation)->matrix_type =
            (*rotation)->matrix_type == RotationType::kPlain ? RotationType::kHadamard : RotationType::kPlain;
        return;
      case 2:
        return List(&(*rotation)->dims, [&] { return AnyInt(random_); });
      case 3:
        return Number(&(*rotation)->matrix_index);
      default:
        return Data(&(*rotation)->matrix);
    }
  }

  void Change(Scale* scale) {
    auto* stored = std::get_if<Stored>(scale);
    if (stored == nullptr || random_->OneIn(3))
      *scale = Any().AnyScale(1);
    else
      Change(stored);
  }
  void Change(ZeroPoint* zero_point) {
    auto* stored = std::get_if<Stored>(zero_point);
    if (stored == nullptr || random_->OneIn(3))
      *zero_point = Any().AnyZeroPoint(1);
    else
      Change(stored);
  }
  void Change(Stored* stored) {
    switch (random_->Below(3)) {
      case 0:
        stored->per = static_cast<Stored::Per>(random_->Below(3));
        return;
      case 1:
        stored->at = static_cast<Stored::At>(random_->Below(2));
        return;
      default:
        stored->type = AnyType(random_);
        return;
    }
  }

  void Change(BlockLayout* layout) {
    switch (random_->Below(4)) {
      case 0:
        return Number(&layout->block_size);
      case 1:
        return Number(&layout->bytes_per_block);
      case 2:
        return List(&layout->fields, [&] {
          return layout->fields.empty() ? BlockField{} : layout->fields[random_->Below(layout->fields.size())];
        });
      default:
        if (layout->fields.empty()) return;
        BlockField& field = layout->fields[random_->Below(layout->fields.size())];
        switch (random_->Below(5)) {
          case 0:
            field.role = static_cast<BlockFieldRole>(random_->Below(8));
            return;
          case 1:
            return Number(&field.bit_offset);
          case 2:
            return Number(&field.bit_width);
          case 3:
            return Number(&field.count);
          default:
            field.data_type = random_->OneIn(2) ? E::kUndefined : AnyType(random_);
            return;
        }
    }
  }

  void ChangeFamily(std::monostate*) {}
  void ChangeFamily(LinearProfile* linear) {
    switch (random_->Below(6)) {
      case 0:
        linear->storage_type = AnyType(random_);
        return;
      case 1:
        return Number(&linear->bits);
      case 2:
        return Flag(&linear->symmetric);
      case 3:
        return Change(&linear->scale);
      case 4:
        return Change(&linear->zero_point);
      default:
        return Number(&linear->axis);
    }
  }
  void ChangeFamily(CodebookProfile* codebook) {
    int32_t* const numbers[] = {&codebook->packed_count,  &codebook->packed_bytes, &codebook->num_codebooks,
                                &codebook->codebook_size, &codebook->vector_size,  &codebook->index_bits};
    switch (random_->Below(4)) {
      case 0:
        return Change(&codebook->scale);
      case 1:
        return Data(&codebook->codebook_data);
      default:
        return Number(numbers[random_->Below(std::size(numbers))]);
    }
  }
  void ChangeFamily(FloatingPointProfile* fp) {
    int32_t* const numbers[] = {&fp->sign_bits,     &fp->exponent_bits, &fp->mantissa_bits,
                                &fp->exponent_bias, &fp->packed_count,  &fp->packed_bytes};
    bool* const flags[] = {&fp->has_inf, &fp->has_nan, &fp->split_storage};
    switch (random_->Below(4)) {
      case 0:
        return Change(&fp->scale);
      case 1:
        return Flag(flags[random_->Below(std::size(flags))]);
      default:
        return Number(numbers[random_->Below(std::size(numbers))]);
    }
  }
  void ChangeFamily(SparseProfile* sparse) {
    switch (random_->Below(3)) {
      case 0:
        sparse->outlier_data_type = AnyType(random_);
        return;
      case 1:
        sparse->outlier_threshold = AnyFloat(random_);
        return;
      default:
        sparse->outlier_ratio = AnyFloat(random_);
        return;
    }
  }
  void ChangeFamily(LogProfile* log) {
    switch (random_->Below(4)) {
      case 0:
        return Number(&log->bits);
      case 1:
        log->base = AnyFloat(random_);
        return;
      case 2:
        log->offset = AnyFloat(random_);
        return;
      default:
        return Flag(&log->has_sign);
    }
  }
  void ChangeFamily(FunctionProfile* function) {
    switch (random_->Below(5)) {
      case 0:
        function->storage_type = AnyType(random_);
        return;
      case 1:
        return Number(&function->bits);
      case 2:
        function->quantize_op = RandomString(random_);
        return;
      case 3:
        function->dequantize_op = RandomString(random_);
        return;
      default:
        if (!function->block_layout)
          function->block_layout = Any().AnyLayout();
        else
          Change(&*function->block_layout);
        return;
    }
  }
  void ChangeFamily(TilingProfile* tiling) {
    switch (random_->Below(4)) {
      case 0:
        return List(&tiling->tile_shape, [&] { return AnyNumber(random_); });
      case 1:
        return List(&tiling->axes, [&] { return AnyInt(random_); });
      case 2:
        return List(&tiling->perm, [&] { return AnyInt(random_); });
      default:
        return List(&tiling->elem_quant, [&] {
          return random_->OneIn(3) || tiling->elem_quant.empty()
                     ? Any().Make(0)
                     : tiling->elem_quant[random_->Below(tiling->elem_quant.size())];
        });
    }
  }
  void ChangeFamily(CastProfile* cast) { cast->storage_type = AnyType(random_); }
  void ChangeFamily(StructuredBlockProfile* block) {
    switch (random_->Below(7)) {
      case 0:
        return Data(&block->codebook_data);
      case 1:
        return Number(&block->codebook_vector_size);
      case 2:
        return List(&block->index_formula,
                    [&] { return FieldWeight{static_cast<BlockFieldRole>(random_->Below(8)), AnyInt(random_)}; });
      case 3: {
        if (!block->scatter) {
          block->scatter = Scatter{8, 2, 4};
          return;
        }
        int32_t* const numbers[] = {&block->scatter->group_size, &block->scatter->vector_size, &block->scatter->stride};
        return Number(numbers[random_->Below(3)]);
      }
      case 4:
        block->storage_order = block->storage_order == BlockStorageOrder::kSequential ? BlockStorageOrder::kInterleaved
                                                                                      : BlockStorageOrder::kSequential;
        return;
      case 5:
        return Number(&block->axis);
      default:
        return Change(&block->block_layout);
    }
  }

  RandomSource* random_;
};

// ---- Walking

template <typename Value, typename Visit>
void VisitStored(Value* value, const Visit& visit) {
  if (auto* stored = std::get_if<Stored>(value)) visit(stored);
}

template <typename P, typename Visit>
void EachStored(P* profile, const Visit& visit) {
  if (auto* linear = std::get_if<LinearProfile>(&profile->kind)) {
    VisitStored(&linear->scale, visit);
    VisitStored(&linear->zero_point, visit);
  } else if (auto* codebook = std::get_if<CodebookProfile>(&profile->kind)) {
    VisitStored(&codebook->scale, visit);
  } else if (auto* fp = std::get_if<FloatingPointProfile>(&profile->kind)) {
    VisitStored(&fp->scale, visit);
  }
}

template <typename P, typename Visit>
void EachProfile(P* profile, const Visit& visit) {
  if (auto* tiling = std::get_if<TilingProfile>(&profile->kind)) {
    for (auto& elem : tiling->elem_quant) EachProfile(&elem, visit);
  } else if (auto* sparse = std::get_if<SparseProfile>(&profile->kind)) {
    EachProfile(&*sparse->base_quant, visit);
  }
  EachStored(profile, [&](auto* stored) {
    if (auto* inner = std::get_if<Box<Profile>>(&stored->type)) EachProfile(&**inner, visit);
  });
  visit(profile);  // last: it may take away what was inside
}

}  // namespace

bool IsMerged(const TilingProfile& tiling) {
  if (tiling.elem_quant.size() < 2) return false;
  const Profile& first = tiling.elem_quant.front();
  if (first.data_type || first.doc_string || !first.metadata.empty() || first.pre_rotation || first.post_rotation) {
    return false;
  }
  const auto* linear = std::get_if<LinearProfile>(&first.kind);
  const auto* codebook = std::get_if<CodebookProfile>(&first.kind);
  if (linear == nullptr && codebook == nullptr) return false;
  auto scale_kind = [](const Profile& profile) {
    const auto* one = std::get_if<LinearProfile>(&profile.kind);
    return one != nullptr ? one->scale.index() : std::get<CodebookProfile>(profile.kind).scale.index();
  };
  return std::all_of(tiling.elem_quant.begin(), tiling.elem_quant.end(), [&](const Profile& profile) {
    bool stored = false;
    ForEachStored(profile, [&](const Stored&) { stored = true; });
    return !stored && profile.kind.index() == first.kind.index() && scale_kind(profile) == scale_kind(first) &&
           WithConstants(profile, first) == first;
  });
}

RandomCase RandomProfile(RandomSource* random) { return Generator(random).Make(); }

Spelling RandomSpelling(RandomSource* random, const RandomCase& random_case) {
  return Speller(random).Make(random_case.profile);
}

Profile RandomAnyProfile(RandomSource* random) { return AnyGenerator(random).Make(3); }

void MutateProfile(RandomSource* random, Profile* profile) {
  std::vector<Profile*> all;
  ForEachProfile(profile, [&](Profile* one) { all.push_back(one); });
  Mutator(random).Change(all[random->Below(all.size())]);
}

void ForEachProfile(const Profile& profile, const std::function<void(const Profile&)>& visit) {
  EachProfile(&profile, [&](const Profile* one) { visit(*one); });
}

void ForEachProfile(Profile* profile, const std::function<void(Profile*)>& visit) {
  EachProfile(profile, [&](Profile* one) { visit(one); });
}

void ForEachStored(const Profile& profile, const std::function<void(const Stored&)>& visit) {
  EachStored(&profile, [&](const Stored* stored) { visit(*stored); });
}

}  // namespace tessera

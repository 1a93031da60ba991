// SparseQuantizationProto: a base with outliers in place of some of its values.
#include <numeric>

#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {

Result<Value> DecodeSparse(DecoderWriter* writer, const Level& level) {
  FunctionBuilder& b = writer->builder();
  const auto& sparse = std::get<SparseProfile>(level.profile->kind);
  TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
  Level base = level;
  base.profile = &*sparse.base_quant;
  base.is_root = false;
  TESSERA_ASSIGN(base.place, writer->Inside(level.place, field));
  TESSERA_ASSIGN(Value values, writer->Decode(base));
  TESSERA_ASSIGN(Value positions, writer->Field(level.place, "outlier_indices"));
  TESSERA_ASSIGN(Value outliers, writer->Field(level.place, "outlier_values", writer->compute()));
  const int64_t batch = level.place.batch;
  const int64_t count = CountOf(positions.dims);
  if (count == 0) return values;
  // Positions are those inside one value of `batch`.
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < batch; ++i) starts.push_back(i * level.values);
  if (batch > 1) positions = b.Add(positions, b.Const(ElementType::kInt64, {batch, 1}, starts));
  const Value flat = b.ScatterNd(b.Reshape(values, {batch * level.values}), b.Reshape(positions, {count, 1}),
                                 b.Reshape(outliers, {count}));
  return b.Reshape(flat, {batch, level.values});
}

}  // namespace tessera::decoders

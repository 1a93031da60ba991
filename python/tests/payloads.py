"""Random payloads of types, with special numbers among the scales."""

import numpy as np

import tessera

# Both zeros, the least and largest numbers, infinities, NaN and one, as codes.
SPECIALS = {
    "FLOAT16": np.array([0, 0x8000, 1, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFC01, 0x3C00], "<u2"),
    "BFLOAT16": np.array([0, 0x8000, 1, 0x807F, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFF81, 0x3F80], "<u2"),
    "FLOAT": np.array([0, 1 << 31, 1, 0x807FFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000], "<u4"),
    "FLOAT8E8M0": np.array([0, 1, 126, 127, 128, 254, 255], "u1"),
    "FLOAT8E4M3FN": np.array([0, 0x80, 1, 0x81, 0x7E, 0xFE, 0x7F, 0xFF, 0x38], "u1"),
}


def element_bits(leaf: tessera.Leaf) -> np.ndarray:
    """The bit at which each element of a leaf begins, in row-major order."""
    bits = np.array([leaf.bit_offset], np.int64)
    for size, stride in zip(leaf.shape, leaf.bit_strides, strict=True):
        bits = (bits[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
    return bits


def store(payload: np.ndarray, leaf: tessera.Leaf, at: np.ndarray, codes: np.ndarray) -> None:
    """Writes codes as the elements `at` of a leaf."""
    begin = element_bits(leaf)[at]
    codes = codes.astype(np.uint64)
    for bit in range(leaf.bits):
        where = begin + bit
        ones = (codes >> np.uint64(bit) & np.uint64(1)).astype(bool)
        np.bitwise_or.at(payload, where[ones] // 8, (1 << where[ones] % 8).astype(np.uint8))
        np.bitwise_and.at(payload, where[~ones] // 8, (~(1 << where[~ones] % 8)).astype(np.uint8))


def add_edges(payload: np.ndarray, type_: tessera.StructType, values: int) -> None:
    """Puts special numbers into a quarter of every leaf of parameters: of fewer elements than an eighth of the values.
    Several such leaves get all pairs."""
    step = 1
    for leaf in type_.leaves:
        specials = SPECIALS.get(leaf.element_type)
        count = int(np.prod(leaf.shape, dtype=np.int64))
        if leaf.constant is not None or specials is None or not 0 < count <= max(1, values // 8):
            continue
        at = np.arange(0, count, 4)
        store(payload, leaf, at, specials[np.arange(at.size) // step % specials.size])
        step *= specials.size


def place_outliers(payload: np.ndarray, type_: tessera.StructType, values: int, seed: int) -> None:
    """Distinct positions, ascending, in place of random ones."""
    generator = np.random.default_rng(seed)
    for leaf in type_.leaves:
        if not leaf.path.endswith("outlier_indices") or leaf.constant is not None:
            continue
        own = leaf.shape[-1]
        groups = int(np.prod(leaf.shape, dtype=np.int64)) // max(1, own)
        for group in range(groups):
            positions = np.sort(generator.choice(values // groups, own, replace=False))
            store(payload, leaf, np.arange(group * own, (group + 1) * own), positions)

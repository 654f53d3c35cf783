"""Two keys within k bits share the prefix of some table, for any blocks and k; permuting loses nothing."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.tables import BITS, PermutedTables

keys = st.integers(0, 2**64 - 1)


@st.composite
def layouts(draw: st.DrawFn) -> PermutedTables:
    """Layouts of at most some 500 tables."""
    blocks = draw(st.integers(1, 64))
    deepest = next((k for k in range(blocks) if _choose(blocks, k) > 500), blocks) - 1
    return PermutedTables(blocks, draw(st.integers(0, deepest)))


def _choose(n: int, k: int) -> int:
    return sum(1 for _ in zip(combinations(range(n), k), range(600), strict=False))


def shared(tables: PermutedTables, one: int, other: int) -> list[int]:
    """In how many bits the prefixes of two keys differ, table by table."""
    permuted = tables.keys(np.array([one, other], np.uint64))
    return [
        int(a ^ b) >> (BITS - bits) and (int(a ^ b) >> (BITS - bits)).bit_count()
        for (a, b), bits in zip(permuted.tolist(), tables.prefix_bits, strict=True)
    ]


@given(layouts(), keys, st.data())
def test_keys_within_the_distance_share_a_prefix(
    tables: PermutedTables, key: int, data: st.DataObject
) -> None:
    bits = data.draw(st.sets(st.integers(0, 63), max_size=tables.distance))
    assert 0 in shared(tables, key, key ^ sum(1 << bit for bit in bits))


@given(layouts(), st.lists(keys, max_size=5))
def test_restore_undoes_keys(tables: PermutedTables, values: list[int]) -> None:
    stored = np.array(values, np.uint64)
    for table, permuted in enumerate(tables.keys(stored)):
        assert tables.restore(table, permuted).tolist() == values


@given(layouts())
def test_tables_are_all_choices_of_leading_blocks(tables: PermutedTables) -> None:
    lead = tables.blocks - tables.distance
    assert len(tables) == len(tables.orders) == len(tables.prefix_bits)
    assert [order[:lead] for order in tables.orders] == list(combinations(range(tables.blocks), lead))
    assert all(sorted(order) == list(range(tables.blocks)) for order in tables.orders)
    assert sum(tables.widths) == BITS
    assert max(tables.widths) - min(tables.widths) <= 1


@pytest.mark.parametrize(("blocks", "distance"), [(b, k) for b in range(1, 7) for k in range(b)])
def test_one_bit_of_a_prefix_is_enough_up_to_the_largest_distance(blocks: int, distance: int) -> None:
    tables = PermutedTables(blocks, distance)
    lead = blocks - distance
    for bits in range(9):
        worst = max(
            sum(sorted(spread)[:lead])
            for spread in product(range(bits + 1), repeat=blocks)
            if sum(spread) == bits
        )
        assert (worst <= (blocks > 1)) == (bits <= tables.max_distance)


@pytest.mark.parametrize(("blocks", "distance"), [(65, 3), (3, 3), (2, 3), (0, 0), (4, -1)])
def test_impossible_layouts_are_refused(blocks: int, distance: int) -> None:
    with pytest.raises(ConfigurationError, match="use more blocks than bits"):
        PermutedTables(blocks, distance)

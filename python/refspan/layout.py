"""How the blocks of a table are filled."""

from __future__ import annotations

from collections.abc import Sequence

from refspan._native import BlockInfo


def fill(blocks: Sequence[BlockInfo], block_size: int) -> str:
    """How full blocks of one kind are, in percent. Log blocks are deflated and never padded, so they have no fill."""
    if not block_size or blocks[0].kind == "log":
        return "-"
    return f"{sum(block.length for block in blocks) / (block_size * len(blocks)):.0%}"

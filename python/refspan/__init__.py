"""refspan reads git's references from Python, zero-copy, without running git."""

from refspan._native import PackedRefs, RefView
from refspan.errors import Error

__all__ = ["Error", "PackedRefs", "RefView"]

"""What reading costs in memory, and that all of it is given back. Measured in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Builder, run_python

USE_EVERYTHING = """
import sys, weakref
from refspan import CorruptError, PackedRefs, RefNotFoundError

def use(path):
    packed = PackedRefs(path)
    for ref in packed:
        name, oid, peeled = ref
        memoryview(ref), ref.refname, ref.hex, ref.peeled_hex, ref.broken, ref.peel_known, repr(ref), hash(name)
    list(packed), list(packed.names()), list(packed.records()), list(packed.points_at(oid)), list(packed.refs("refs/"))
    packed[name], packed.get(b"none"), "none" in packed, len(packed), bool(packed), repr(packed), weakref.ref(packed)
    packed.traits, packed.path, packed.hash, packed.is_stale(), packed.check()
    for wrong in (lambda: packed["none"], lambda: packed.points_at("x"), lambda: PackedRefs(path + "/none"),
                  lambda: packed[1], lambda: memoryview(name.obj), lambda: packed.refs(exclude=["*"])):
        try:
            wrong()
        except (OSError, LookupError, ValueError, TypeError, BufferError):
            pass
"""

IS_FLAT = """
for _ in range(1000):
    use(sys.argv[1])
before = sys.getallocatedblocks()
for _ in range(2000):
    use(sys.argv[1])
print(sys.getallocatedblocks() - before)
"""

PEAK = """
import resource, sys
from refspan import PackedRefs
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
packed = PackedRefs(sys.argv[1])
for ref in packed:
    pass
for name in packed.names():
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024))
"""

FAULTS = """
import resource, sys
from refspan import PackedRefs
def look_up(path, name):
    packed = PackedRefs(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    packed[name].hex
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
look_up(sys.argv[1], "refs/heads/main")
print(look_up(sys.argv[2], "refs/pull/0123457/head"))
"""


def test_everything_runs_in_development_mode_with_the_debug_allocator(
    repository: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    script = USE_EVERYTHING + "use(sys.argv[1]); print('done')"
    assert run_python(script, repository(1000) / "packed-refs", options=["-X", "dev"]) == "done\n"


def test_nothing_leaks(repository: Builder) -> None:
    # The interpreter's own caches fill while it warms up; a leak of one block a round would be 2000.
    assert int(run_python(USE_EVERYTHING + IS_FLAT, repository(20) / "packed-refs")) < 200


def test_walking_a_large_file_takes_no_more_memory_than_it(large_file: Path) -> None:
    # Mapped pages count as memory of the process.
    assert int(run_python(PEAK, large_file)) <= large_file.stat().st_size + (32 << 20)


def test_a_look_up_touches_tens_of_pages_of_a_large_file(repository: Builder, large_file: Path) -> None:
    assert int(run_python(FAULTS, repository(20) / "packed-refs", large_file)) < 100

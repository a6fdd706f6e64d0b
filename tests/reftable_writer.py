"""Tables that git never writes: a writer of reftables for tests, made from the description of the format alone.

`write` lays out whole tables in any shape; the small functions below it make the parts that a damaged table is put
together from, and `sealed` gives one a footer that is right again.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class RefRow(NamedTuple):
    """One ref record; a tombstone if nothing but the name is given."""

    name: bytes
    oid: bytes | None = None
    peeled: bytes | None = None
    target: bytes | None = None
    update_index: int = 1


class LogRow(NamedTuple):
    """One log record; a tombstone if `old` is None."""

    name: bytes
    update_index: int
    old: bytes | None = None
    new: bytes = b""
    who: bytes = b""
    email: bytes = b""
    time: int = 0
    tz: int = 0
    message: bytes = b""


class Record(NamedTuple):
    """A record as every block has them."""

    key: bytes
    extra: int
    value: bytes


class Placed(NamedTuple):
    """A block in the file."""

    kind: bytes
    start: int
    end: int
    keys: list[bytes]
    # Where each record starts, from the start of the block.
    offsets: list[int]


@dataclass(frozen=True)
class Shape:
    """How a table is laid out; by default as git does it."""

    version: int = 1
    hash_id: bytes = b"sha1"
    block_size: int = 4096
    # What blocks hold at the most, and index blocks, where that is not the block size.
    room: int | None = None
    index_room: int | None = None
    padded: bool = True
    restart_interval: int = 16
    # From how many blocks on a section, or a level of its index, gets an index (git: more than three).
    index_from: int = 4
    objects: bool = False
    obj_id_len: int = 2
    # Object ids whose records do not say where they stand.
    vague: tuple[bytes, ...] = ()
    limits: tuple[int, int] = (1, 1)


@dataclass
class Table:
    """What was written, and where everything is."""

    data: bytes = b""
    blocks: list[Placed] = field(default_factory=list)
    # ref index, objects << 5 | length of their ids, object index, logs, log index: as in the footer.
    positions: list[int] = field(default_factory=lambda: [0] * 5)

    def of_kind(self, kind: bytes) -> list[Placed]:
        return [block for block in self.blocks if block.kind == kind]


def varint(number: int) -> bytes:
    groups = bytearray([number & 0x7F])
    while number := number >> 7:
        number -= 1
        groups.insert(0, 0x80 | number & 0x7F)
    return bytes(groups)


def string(text: bytes) -> bytes:
    return varint(len(text)) + text


def head(prefix: int, suffix: bytes, extra: int) -> bytes:
    """What every record starts with."""
    return varint(prefix) + varint(len(suffix) << 3 | extra) + suffix


def ref_record(row: RefRow, min_index: int = 1) -> Record:
    delta = varint(row.update_index - min_index)
    if row.target is not None:
        return Record(row.name, 3, delta + string(row.target))
    if row.oid is None:
        return Record(row.name, 0, delta)
    return Record(row.name, 1 if row.peeled is None else 2, delta + row.oid + (row.peeled or b""))


def log_record(row: LogRow) -> Record:
    key = row.name + b"\0" + (2**64 - 1 - row.update_index).to_bytes(8)
    if row.old is None:
        return Record(key, 0, b"")
    zone = row.tz.to_bytes(2, signed=True)
    who = string(row.who) + string(row.email) + varint(row.time)
    return Record(key, 1, row.old + row.new + who + zone + string(row.message))


def restart_table(offsets: Sequence[int]) -> bytes:
    return b"".join(offset.to_bytes(3) for offset in offsets) + len(offsets).to_bytes(2)


def block(kind: bytes, records: bytes, restarts: Sequence[int], base: int = 0, length: int | None = None) -> bytes:
    """A block whose offsets count from `base` bytes before it; of logs, deflated."""
    inside = records + restart_table(restarts)
    declared = base + 4 + len(inside) if length is None else length
    return kind + declared.to_bytes(3) + (zlib.compress(inside, 9) if kind == b"g" else inside)


def header(shape: Shape) -> bytes:
    fields = bytes([shape.version]) + shape.block_size.to_bytes(3) + b"".join(n.to_bytes(8) for n in shape.limits)
    return b"REFT" + fields + (shape.hash_id if shape.version == 2 else b"")


def footer(head: bytes, positions: Sequence[int]) -> bytes:
    checked = head + b"".join(position.to_bytes(8) for position in positions)
    return checked + zlib.crc32(checked).to_bytes(4)


def assemble(shape: Shape, blocks: bytes, positions: Sequence[int] = (0, 0, 0, 0, 0)) -> bytes:
    """A table of blocks that are ready."""
    return header(shape) + blocks + footer(header(shape), positions)


def sealed(data: bytes, positions: Sequence[int] | None = None) -> bytes:
    """The same table with a footer that repeats its header, with the right checksum, and, if given, these positions."""
    size = 24 if data[4] == 1 else 28
    rest = data[-44:-4] if positions is None else b"".join(position.to_bytes(8) for position in positions)
    checked = data[:size] + rest
    return data[: -size - 44] + checked + zlib.crc32(checked).to_bytes(4)


def patched(data: bytes, at: int, new: bytes) -> bytes:
    """The same table with these bytes there, and a right footer."""
    return sealed(data[:at] + new + data[at + len(new) :])


class _Writer:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.data = bytearray(header(shape))
        self.table = Table()
        self.last: Placed | None = None

    def section(self, kind: bytes, records: Iterable[Record]) -> list[Placed]:
        """Writes the records in as many blocks as they need."""
        placed: list[Placed] = []
        todo = list(records)
        while todo:
            placed.append(self.one_block(kind, todo))
            del todo[: len(placed[-1].keys)]
        self.table.blocks += placed
        return placed

    def one_block(self, kind: bytes, records: Sequence[Record]) -> Placed:
        """Writes a block of as many of the records as have room in it, but at least one."""
        start = self.next_start(kind)
        base = len(self.data) if start == 0 else 0
        written, restarts, last = bytearray(), list[int](), b""
        offsets: list[int] = []
        for record in records:
            prefix = common(last, record.key)
            is_restart = prefix == 0 or len(offsets) % self.shape.restart_interval == 0
            prefix = 0 if is_restart else prefix
            encoded = head(prefix, record.key[prefix:], record.extra) + record.value
            used = base + 4 + len(written) + len(encoded) + 3 * (len(restarts) + is_restart) + 2
            if offsets and used > self.room(kind):
                break
            offsets.append(base + 4 + len(written))
            restarts += offsets[-1:] if is_restart else []
            written += encoded
            last = record.key
        self.data += block(kind, bytes(written), restarts, base)
        keys = [record.key for record in records[: len(offsets)]]
        self.last = Placed(kind, start, len(self.data), keys, offsets)
        return self.last

    def next_start(self, kind: bytes) -> int:
        """Pads the block before this one, and returns where this one starts: the first, with the header in front."""
        before = self.last
        if before is None:
            return 0
        if self.shape.padded and b"g" not in (kind, before.kind):
            self.data += bytes(max(before.start + self.shape.block_size - len(self.data), 0))
        return len(self.data)

    def room(self, kind: bytes) -> int:
        room = self.shape.index_room if kind == b"i" else None
        return room or self.shape.room or self.shape.block_size or 1 << 24

    def index(self, blocks: list[Placed]) -> int:
        """Writes the levels of an index, lowest first, and returns where the highest one starts."""
        if len(blocks) < self.shape.index_from:
            return 0
        while True:
            blocks = self.section(b"i", [Record(block.keys[-1], 0, varint(block.start)) for block in blocks])
            if len(blocks) < max(self.shape.index_from, 2):
                return blocks[0].start


def common(a: bytes, b: bytes) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def write(refs: Sequence[RefRow] = (), logs: Sequence[LogRow] = (), shape: Shape | None = None) -> Table:
    """A table of these records, which are written in the order in which they come."""
    shape = shape or Shape()
    writer = _Writer(shape)
    positions = writer.table.positions
    ref_blocks = writer.section(b"r", (ref_record(row, shape.limits[0]) for row in refs))
    positions[0] = writer.index(ref_blocks)
    if shape.objects:
        obj_blocks = writer.section(b"o", object_records(refs, ref_blocks, shape))
        positions[1] = obj_blocks[0].start << 5 | shape.obj_id_len
        positions[2] = writer.index(obj_blocks)
    log_blocks = writer.section(b"g", map(log_record, logs))
    positions[3] = log_blocks[0].start if log_blocks else 0
    positions[4] = writer.index(log_blocks)
    writer.table.data = bytes(writer.data) + footer(header(shape), positions)
    return writer.table


def object_records(refs: Sequence[RefRow], blocks: Sequence[Placed], shape: Shape) -> list[Record]:
    rows = {row.name: row for row in refs}
    found: dict[bytes, list[int]] = {}
    for block in blocks:
        for name in block.keys:
            for oid in {rows[name].oid, rows[name].peeled} - {None}:
                positions = found.setdefault((oid or b"")[: shape.obj_id_len], [])
                positions += [block.start] if block.start not in positions else []
    vague = {oid[: shape.obj_id_len] for oid in shape.vague}
    return [object_record(key, [] if key in vague else found[key]) for key in sorted(found)]


def object_record(key: bytes, positions: Sequence[int]) -> Record:
    deltas = [b - a for a, b in zip([0, *positions], positions, strict=False)]
    count = varint(len(positions)) if not 0 < len(positions) < 8 else b""
    return Record(key, 0 if count else len(positions), count + b"".join(map(varint, deltas)))


def write_stack(directory: Path, tables: Sequence[bytes]) -> Path:
    """The directory with these tables, oldest first, and the list of them."""
    directory.mkdir(exist_ok=True)
    names = [f"0x{i:012x}-0x{i:012x}-{i:08x}.ref" for i in range(1, len(tables) + 1)]
    for name, data in zip(names, tables, strict=True):
        (directory / name).write_bytes(data)
    (directory / "tables.list").write_text("".join(f"{name}\n" for name in names), newline="\n")
    return directory

"""Damaged packed-refs: what raises and where, what is listed as broken, what is accepted.

One case for each kind of line that git's own reader tells apart, each tried in a file that claims `sorted` and in one
without a header, small and mapped, copied, at the end and in the middle.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from refspan import CorruptError, PackedRefs

SORTED = b"# pack-refs with: peeled fully-peeled sorted \n"
OID = b"1234567890abcdef1234567890abcdef12345678"
PEELED = b"fedcba0987fedcba0987fedcba0987fedcba0987"
ZERO = b"0" * 40
REF = OID + b" refs/heads/m\n"

BAD_OID = "line does not start with the 40 hex digits of an object id (sha1)"
BAD_PEELED = "peeled line is not '^' and the 40 hex digits of an object id (sha1)"
BAD_SEPARATOR = "object id is not followed by a space"
BAD_HEADER = "header is not '# pack-refs with: ' and traits"
LATE_HEADER = "header or comment after line 1"
NO_NAME = "line has no refname"
ORPHAN = "peeled line without a ref line right above it"
UNTERMINATED = "line is not terminated"
BLANK = "blank line"

# Lines of which the last one is damaged, and why.
CORRUPT: dict[str, tuple[bytes, str]] = {
    "one byte": (b"x\n", BAD_OID),
    "short object id": (b"abcd refs/heads/m\n", BAD_OID),
    "object id one digit short": (OID[:-1] + b" refs/heads/m\n", BAD_OID),
    "object id one digit long": (OID + b"9 refs/heads/m\n", BAD_SEPARATOR),
    "object id alone": (OID + b"\n", NO_NAME),
    "separator without a name": (OID + b" \n", NO_NAME),
    "CRLF without a name": (OID + b"\r\n", NO_NAME),
    "object id not hex": (b"g" * 40 + b" refs/heads/m\n", BAD_OID),
    "last digit not hex": (OID[:-1] + b"g refs/heads/m\n", BAD_OID),
    "SHA-256 among SHA-1": (OID + OID[:24] + b" refs/heads/m\n", BAD_SEPARATOR),
    "letter as separator": (OID + b"Xrefs/heads/m\n", BAD_SEPARATOR),
    "NUL as separator": (OID + b"\0refs/heads/m\n", BAD_SEPARATOR),
    "vertical tab as separator": (OID + b"\vrefs/heads/m\n", BAD_SEPARATOR),
    "leading space": (b" " + REF, BAD_OID),
    "late header": (REF + SORTED, LATE_HEADER),
    "comment": (REF + b"# a comment\n", LATE_HEADER),
    "blank line": (REF + b"\n", BLANK),
    "lone CR": (REF + b"\r\n", BAD_OID),
    "doubled peeled line": (REF + b"^" + PEELED + b"\n^" + OID + b"\n", ORPHAN),
    "CRLF on a peeled line": (REF + b"^" + PEELED + b"\r\n", BAD_PEELED),
    "text behind a peeled id": (REF + b"^" + PEELED + b" garbage\n", BAD_PEELED),
    "short peeled id": (REF + b"^" + PEELED[:-1] + b"\n", BAD_PEELED),
    "peeled id not hex": (REF + b"^" + b"x" * 40 + b"\n", BAD_PEELED),
    "caret alone": (REF + b"^\n", BAD_PEELED),
    "conflict marker": (REF + b"<<<<<<< HEAD\n", BAD_OID),
    "very long line": (b"x" * (1 << 20) + b"\n", BAD_OID),
}

# Lines that are listed as they lie: the line, the name in it, and why that ref cannot be used.
LISTED: dict[str, tuple[bytes, bytes, str | None]] = {
    "plain": (REF, b"refs/heads/m", None),
    "tab as separator": (OID + b"\trefs/heads/m\n", b"refs/heads/m", None),
    "CR as separator": (OID + b"\rrefs/heads/m\n", b"refs/heads/m", None),
    "capital hex": (OID.upper() + b" refs/heads/m\n", b"refs/heads/m", None),
    "latin-1 name": (OID + b" refs/heads/\xb1\n", b"refs/heads/\xb1", None),
    "one level": (OID + b" foo\n", b"foo", None),
    "refs itself": (OID + b" refs\n", b"refs", None),
    "root ref": (OID + b" HEAD\n", b"HEAD", None),
    "zero object id": (ZERO + b" refs/heads/m\n", b"refs/heads/m", "zero oid"),
    "two spaces": (OID + b"  refs/heads/m\n", b" refs/heads/m", "unsafe name"),
    "CRLF on a ref line": (OID + b" refs/heads/m\r\n", b"refs/heads/m\r", "bad name"),
    "trailing space": (OID + b" refs/heads/m \n", b"refs/heads/m ", "bad name"),
    "two dots": (OID + b" refs/heads/a..b\n", b"refs/heads/a..b", "bad name"),
    "lock file": (OID + b" refs/heads/m.lock\n", b"refs/heads/m.lock", "bad name"),
    "conflicted copy": (OID + b" refs/heads/m (conflicted copy)\n", b"refs/heads/m (conflicted copy)", "bad name"),
    "NUL in the name": (OID + b" refs/heads/a\0b\n", b"refs/heads/a\0b", "unsafe name"),
    "trailing NULs": (OID + b" refs/heads/m" + b"\0" * 463 + b"\n", b"refs/heads/m" + b"\0" * 463, "unsafe name"),
    "parent directory": (OID + b" refs/../x\n", b"refs/../x", "unsafe name"),
    "only slashes": (OID + b" refs////////\n", b"refs////////", "unsafe name"),
    "hidden directory": (OID + b" refs/.eads/b\n", b"refs/.eads/b", "bad name"),
    "dot as component": (OID + b" refs/heads/.\n", b"refs/heads/.", "unsafe name"),
    "no slash after refs": (OID + b" refsaheads/a\n", b"refsaheads/a", "unsafe name"),
    "many spaces": (OID + b" " * 41 + b"refs/heads/m\n", b" " * 40 + b"refs/heads/m", "unsafe name"),
}


class Form(NamedTuple):
    """How a case is put into a file. Other refs go around it, enough of them to have a large one mapped."""

    header: bytes
    others: int
    mmap: bool


FORMS = [Form(*form) for form in product((SORTED, b""), (1, 600), (True, False))]


def form_id(form: Form) -> str:
    size = "large" if form.others > 1 else "small"
    return f"{'sorted' if form.header else 'bare'}-{size}-{'mmap' if form.mmap else 'copy'}"


every_form = pytest.mark.parametrize("form", FORMS, ids=form_id)
every_damage = pytest.mark.parametrize("case", list(CORRUPT))


@pytest.fixture(name="path")
def packed_refs_path(tmp_path: Path) -> Path:
    return tmp_path / "packed-refs"


def others(form: Form, directory: bytes) -> bytes:
    return b"".join(b"%b %b/%05d\n" % (OID, directory, i) for i in range(form.others))


def error_of(action: Callable[[], object]) -> CorruptError:
    with pytest.raises(CorruptError) as caught:
        action()
    return caught.value


def facts(error: CorruptError) -> tuple[str, int, int | None, str]:
    return error.path, error.offset, error.line, error.reason


def place(data: bytes, damaged: bytes) -> tuple[int, int]:
    """Offset and line of the last line of `damaged`, which ends where `data` holds it."""
    offset = data.index(damaged) + damaged.rfind(b"\n", 0, -1) + 1
    return offset, data.count(b"\n", 0, offset) + 1


@every_form
@every_damage
def test_damage_at_the_end_is_found_by_opening(path: Path, form: Form, case: str) -> None:
    damaged, reason = CORRUPT[case]
    data = form.header + others(form, b"refs/a") + damaged
    path.write_bytes(data)
    error = error_of(lambda: PackedRefs(path, mmap=form.mmap))
    assert facts(error) == (str(path), *place(data, damaged), reason)


@every_form
@every_damage
def test_damage_in_the_middle_is_found_by_reading(path: Path, form: Form, case: str) -> None:
    damaged, reason = CORRUPT[case]
    data = form.header + others(form, b"refs/a") + damaged + others(form, b"refs/z")
    path.write_bytes(data)
    expected = (str(path), *place(data, damaged), reason)
    if not form.header:
        # Who knows nothing of the order has to read it all at once.
        assert facts(error_of(lambda: PackedRefs(path, mmap=form.mmap))) == expected
        return
    packed = PackedRefs(path, mmap=form.mmap)
    for read in (lambda: list(packed), lambda: len(packed), packed.check, lambda: list(packed.names())):
        assert facts(error_of(read)) == expected


@every_damage
def test_all_that_precedes_damage_is_listed(path: Path, case: str) -> None:
    form = FORMS[0]
    path.write_bytes(SORTED + others(form, b"refs/a") + CORRUPT[case][0] + others(form, b"refs/z"))
    seen: list[str] = []
    refs = iter(PackedRefs(path))
    error_of(lambda: seen.extend(ref.refname for ref in refs))
    # A record whose own `^` line is damaged is damaged with it; one above an orphan, a comment or a blank line is not.
    whole = case in {"late header", "comment", "blank line", "lone CR", "doubled peeled line", "conflict marker"}
    assert seen == ["refs/a/00000", *(["refs/heads/m"] if whole else [])]


@every_form
@pytest.mark.parametrize("case", list(LISTED))
def test_what_can_be_told_apart_is_listed_as_it_lies(path: Path, form: Form, case: str) -> None:
    line, name, broken = LISTED[case]
    if name < b"refs/a":
        data = form.header + line + others(form, b"refs/z")
    else:
        data = form.header + others(form, b"refs/a") + line
    path.write_bytes(data)
    packed = PackedRefs(path, mmap=form.mmap)
    assert len(packed) == sum(1 for _ in packed) == form.others + 1
    [found] = [ref for ref in packed if ref.name == name]
    assert (bytes(found.oid), found.peeled, found.broken) == (line[:40], None, broken)
    assert found.hex == line[:40].decode().lower()
    assert memoryview(found) == line
    assert packed[name].broken == broken
    assert [ref.broken for ref in packed if ref.name != name] == [None] * form.others


# Whole files: the bytes, and offset, line and reason of their damage.
FILES: dict[str, tuple[bytes, int, int, str]] = {
    "not terminated": (SORTED + REF[:-1], 46, 2, UNTERMINATED),
    "peeled line not terminated": (SORTED + REF + b"^" + PEELED, 46 + 54, 3, UNTERMINATED),
    "header not terminated": (SORTED[:-1], 0, 1, UNTERMINATED),
    "one byte": (b"x", 0, 1, UNTERMINATED),
    "no line end at all": (b"x" * 50_000, 0, 1, UNTERMINATED),
    "200 zero bytes": (b"\0" * 200, 0, 1, UNTERMINATED),
    "trailing zero bytes": (SORTED + REF + b"\0" * 463, 46 + 54, 3, UNTERMINATED),
    "an LF alone": (b"\n", 0, 1, BLANK),
    "blank line behind the header": (SORTED + b"\n" + REF + REF, 46, 2, BLANK),
    "byte order mark": (b"\xef\xbb\xbf" + SORTED + REF, 0, 1, BAD_OID),
    "header typo": (b"# pack-ref with: sorted \n" + REF, 0, 1, BAD_HEADER),
    "header without the space": (b"# pack-refs with:peeled sorted\n" + REF, 0, 1, BAD_HEADER),
    "header in capitals": (SORTED.upper() + REF, 0, 1, BAD_HEADER),
    "indented header": (b" " + SORTED + REF, 0, 1, BAD_OID),
    "a hash sign": (b"#\n" + REF, 0, 1, BAD_HEADER),
    "orphan peeled line first": (b"^" + PEELED + b"\n" + REF, 0, 1, ORPHAN),
    "only a peeled line": (SORTED + b"^" + PEELED + b"\n", 46, 2, ORPHAN),
    "two peeled lines": (REF + b"^" + PEELED + b"\n^" + OID + b"\n", 54 + 42, 3, ORPHAN),
    "HTML page": (b"<!DOCTYPE html>\n<html>\n</html>\n", 0, 1, BAD_OID),
    "conflict": (b"<<<<<<< HEAD\n" + REF + b"=======\n" + REF + b">>>>>>> x\n", 0, 1, BAD_OID),
    "Cygwin symlink": (b"!<symlink>\xff\xfe/\0x\0", 0, 1, UNTERMINATED),
    "Cygwin symlink with an LF": (b"!<symlink>\xff\xfe/\0\n\0x\0\n", 0, 1, BAD_OID),
    "CRLF with a peeled line": ((SORTED + REF + b"^" + PEELED + b"\n").replace(b"\n", b"\r\n"), 47 + 55, 3, BAD_PEELED),
}


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("case", list(FILES))
def test_files_that_are_none_raise_at_the_line(path: Path, case: str, mmap: bool) -> None:
    data, *expected = FILES[case]
    path.write_bytes(data)
    error = error_of(lambda: list(PackedRefs(path, mmap=mmap)))
    assert facts(error) == (str(path), *expected)


# What follows "# pack-refs with:" and the traits that are claimed by it.
HEADERS: dict[str, tuple[bytes, set[str]]] = {
    "as git writes it": (b" peeled fully-peeled sorted \n", {"peeled", "fully-peeled", "sorted"}),
    "without the last space": (b" peeled fully-peeled sorted\n", {"peeled", "fully-peeled", "sorted"}),
    "unknown traits": (b" peeled foo sorted-by-date sorted \n", {"peeled", "sorted"}),
    "several spaces": (b"   peeled   sorted\n", {"peeled", "sorted"}),
    "repeated": (b" sorted sorted \n", {"sorted"}),
    "only fully-peeled": (b" fully-peeled \n", {"fully-peeled"}),
    "capitals": (b" Sorted PEELED \n", set()),
    "no trait": (b" \n", set()),
    "CRLF behind a space": (b" peeled sorted \r\n", {"peeled", "sorted"}),
    "CRLF behind a trait": (b" peeled sorted\r\n", {"peeled"}),
    "tab between": (b" peeled\tsorted\n", set()),
}


@pytest.mark.parametrize("case", list(HEADERS))
def test_headers_claim_the_traits_that_are_known(path: Path, case: str) -> None:
    rest, traits = HEADERS[case]
    path.write_bytes(b"# pack-refs with:" + rest + REF)
    packed = PackedRefs(path)
    assert packed.traits == traits
    assert [ref.refname for ref in packed] == ["refs/heads/m"]


@pytest.mark.parametrize("data", [b"", SORTED, b"# pack-refs with: \n"], ids=["empty", "header", "bare header"])
def test_a_file_without_records_is_an_empty_reader(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    packed = PackedRefs(path)
    assert (len(packed), list(packed), bool(packed), packed.hash) == (0, [], False, None)
    assert packed.get("refs/heads/m") is None
    assert list(packed.points_at(OID)) == []
    packed.check()


def test_an_error_keeps_being_raised_by_its_iterator(path: Path) -> None:
    path.write_bytes(SORTED + REF + b"\n" + OID + b" refs/heads/z\n")
    refs = iter(PackedRefs(path))
    next(refs)
    errors = [facts(error_of(lambda: next(refs))) for _ in range(3)]
    assert errors == [(str(path), 100, 3, BLANK)] * 3


def test_an_error_is_spelled_like_a_compiler_message(path: Path) -> None:
    path.write_bytes(SORTED + REF[:-1])
    assert str(error_of(lambda: PackedRefs(path))) == f"{path}:2: line is not terminated (byte 46)"


def test_a_damaged_first_object_id_does_not_hide_the_hash_of_the_others(path: Path) -> None:
    oid = b"ab" * 32
    path.write_bytes(SORTED + b"x" + oid[1:] + b" refs/heads/a\n" + oid + b" refs/heads/b\n")
    packed = PackedRefs(path)
    assert packed.hash == "sha256"
    assert error_of(lambda: list(packed)).line == 2


def test_a_header_that_swallowed_a_record_is_damage(path: Path) -> None:
    path.write_bytes(SORTED.replace(b"\n", b"\x0b") + REF)
    assert error_of(lambda: PackedRefs(path)).line == 1

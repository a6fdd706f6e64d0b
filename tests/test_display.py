"""What a notebook shows: short, escaped, without reading all, and never an exception for what is damaged or gone."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from itertools import groupby, pairwise
from pathlib import Path

import pytest
import refspan
from refspan.display import html
from reftable_support import needs_reftables
from reftable_writer import RefRow, Shape, write
from store_support import FORMATS, LATIN1, Format, Repository, build
from support import Ref, git, write_packed

HOSTILE = "refs/heads/<b>bold&\"'"
UNALIGNED = Shape(block_size=0, room=256, padded=False)


class Page:
    """What the HTML says, if each of its elements is closed and each of its texts escaped."""

    def __init__(self, text: str) -> None:
        self.root = ET.fromstring(text)
        self.text = "\n".join(self.root.itertext())
        self.rows = [["".join(cell.itertext()) for cell in row] for row in self.root.iter("tr")]

    def fact(self, name: str) -> str:
        (value,) = (row[1] for row in self.rows if row[0] == name)
        return value


def page(shown: object) -> Page:
    """What a notebook gets, which it must be able to send as UTF-8."""
    text = shown._repr_html_()  # type: ignore[attr-defined]
    return Page(text.encode("utf-8").decode())


def packed(path: Path, count: int) -> refspan.PackedRefs:
    refs = [Ref(b"refs/heads/%04d" % i, b"%040x" % (i + 1), None) for i in range(count)]
    return refspan.PackedRefs(write_packed(path / "packed-refs", refs))


def stack(repo: Repository) -> refspan.ReftableStack:
    return refspan.ReftableStack(repo.gitdir / "reftable")


@pytest.mark.parametrize("refs", FORMATS)
def test_a_store_and_its_snapshot_show_where_they_lie_their_head_and_first_refs(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "r", refs)
    repo.create("refs/heads/main", "refs/heads/side")
    repo.symref("refs/heads/alias", "refs/heads/main")
    for shown in (repo.store(), repo.store().snapshot()):
        seen = page(shown)
        assert type(shown).__name__ in seen.text
        assert seen.fact("git_dir") == str(repo.gitdir)
        assert (seen.fact("format"), seen.fact("hash"), seen.fact("head")) == (refs, "sha1", "ref: refs/heads/main")
        assert seen.rows[-3:] == [
            ["refs/heads/alias", "ref: refs/heads/main"],
            ["refs/heads/main", repo.commits[0]],
            ["refs/heads/side", repo.commits[0]],
        ]


@pytest.mark.parametrize("refs", FORMATS)
def test_names_and_targets_are_escaped(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "<i>&r", refs)
    repo.create(HOSTILE)
    repo.symref("refs/heads/alias", HOSTILE)
    text = html(repo.store())
    assert "<b>bold" not in text
    assert "<i>" not in text
    seen = page(repo.store())
    assert seen.rows[-2:] == [[HOSTILE, repo.commits[0]], ["refs/heads/alias", f"ref: {HOSTILE}"]]
    assert seen.fact("git_dir").startswith(f"{tmp_path}/<i>&r")


@pytest.mark.parametrize("refs", FORMATS)
def test_names_that_are_not_utf8_are_shown_as_python_writes_them(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "r", refs)
    repo.create(LATIN1)
    seen = page(repo.store())
    assert seen.rows[-1] == ["refs/heads/latin1-\\udce9", repo.commits[0]]


def test_what_changes_the_direction_of_text_is_shown_as_python_writes_it(tmp_path: Path) -> None:
    repo = build(tmp_path / "r")
    repo.create("refs/heads/\u202ecod.exe")
    assert page(repo.store()).rows[-1][0] == "refs/heads/\\u202ecod.exe"


def test_long_names_are_cut(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/" + b"n" * 4000, b"1" * 40, None)])
    name, oid = page(refspan.PackedRefs(path)).rows[-1]
    assert name.startswith("refs/heads/nnn")
    assert name.endswith("...")
    assert len(name) < 200
    assert oid == "1" * 40


def test_of_many_refs_the_first_ten_are_shown(tmp_path: Path) -> None:
    seen = page(packed(tmp_path, 1000))
    shown = [row[0] for row in seen.rows if row[0].startswith("refs/")]
    assert shown == [f"refs/heads/{i:04}" for i in range(10)]
    assert "... and more" in seen.text


def test_exactly_ten_refs_are_all_shown(tmp_path: Path) -> None:
    seen = page(packed(tmp_path, 10))
    assert seen.rows[-1][0] == "refs/heads/0009"
    assert "more" not in seen.text


def test_what_lies_behind_the_refs_that_are_shown_is_not_read(tmp_path: Path) -> None:
    repo = build(tmp_path / "r", bare=True)
    shutil.copy(packed(tmp_path, 1000).path, repo.gitdir / "packed-refs")
    path = repo.gitdir / "packed-refs"
    # Not where a search by halves looks.
    path.write_bytes(path.read_bytes().replace(b" refs/heads/0900\n", b"-refs/heads/0900\n"))
    reader = refspan.PackedRefs(path)
    with pytest.raises(refspan.CorruptError):
        len(reader)
    for shown in (reader, repo.store(), repo.store().snapshot()):
        assert "CorruptError" not in page(shown).text


def test_damage_is_shown_behind_the_refs_that_can_be_read(tmp_path: Path) -> None:
    path = Path(packed(tmp_path, 20).path)
    path.write_bytes(path.read_bytes().replace(b" refs/heads/0003\n", b"-refs/heads/0003\n"))
    seen = page(refspan.PackedRefs(path))
    assert seen.rows[-1][0] == "refs/heads/0002"
    assert "CorruptError: " in seen.text
    assert str(path) in seen.text


def test_a_broken_ref_says_why(tmp_path: Path) -> None:
    repo = build(tmp_path / "r")
    repo.create("refs/heads/fine")
    repo.loose("refs/heads/broken", "no object id\n")
    assert page(repo.store()).rows[-2:] == [
        ["refs/heads/broken", " (broken: bad content)"],
        ["refs/heads/fine", repo.commits[0]],
    ]


@pytest.mark.parametrize("refs", FORMATS)
def test_a_repository_that_is_gone_is_told_not_raised(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "<i>r", refs)
    repo.create("refs/heads/main")
    store = repo.store()
    shutil.rmtree(repo.path)
    with pytest.raises(refspan.RepositoryNotFoundError):
        list(store.refs())
    seen = page(store)
    assert "RepositoryNotFoundError: " in seen.text
    assert seen.fact("format") == refs


def test_a_file_that_was_replaced_has_no_size(tmp_path: Path) -> None:
    reader = packed(tmp_path, 3)
    size = Path(reader.path).stat().st_size
    assert page(reader).fact("size") == f"{size:,} bytes"
    packed(tmp_path, 4)
    assert page(reader).fact("size") == "changed or gone"
    Path(reader.path).unlink()
    seen = page(reader)
    assert seen.fact("size") == "changed or gone"
    assert seen.rows[-1] == ["refs/heads/0002", f"{3:040x}"]


def test_a_packed_refs_file_shows_what_its_header_claims(tmp_path: Path) -> None:
    assert page(packed(tmp_path, 3)).fact("traits") == "fully-peeled, peeled, sorted"


def test_an_empty_packed_refs_file_shows_no_ref(tmp_path: Path) -> None:
    (tmp_path / "packed-refs").touch()
    assert page(refspan.PackedRefs(tmp_path / "packed-refs")).rows[-1] == ["ref", "value"]


def test_a_table_shows_its_header_and_its_tombstones(tmp_path: Path) -> None:
    rows = [RefRow(b"HEAD", target=b"refs/heads/a"), RefRow(b"refs/heads/a", b"\1" * 20), RefRow(b"refs/heads/b")]
    path = tmp_path / "t.ref"
    path.write_bytes(write(rows, [], Shape()).data)
    seen = page(refspan.Reftable(path))
    facts = [seen.fact(name) for name in ("version", "block_size", "min_update_index", "max_update_index")]
    assert facts == ["1", "4096", "1", "1"]
    assert seen.rows[-3:] == [
        ["HEAD", "ref: refs/heads/a"],
        ["refs/heads/a", "01" * 20],
        ["refs/heads/b", "deletion"],
    ]


@needs_reftables
def test_a_stack_shows_its_tables_and_its_refs(tmp_path: Path) -> None:
    repo = build(tmp_path / "r", "reftable")
    repo.create("refs/heads/main")
    shown = stack(repo)
    listed = (repo.gitdir / "reftable/tables.list").read_text().split()
    seen = page(shown)
    assert [row[0] for row in seen.rows if row[0].endswith(".ref")] == listed
    assert seen.fact(listed[0]) == f"{(repo.gitdir / 'reftable' / listed[0]).stat().st_size:,} bytes"
    assert seen.rows[-1] == ["refs/heads/main", repo.commits[0]]


@needs_reftables
def test_of_many_tables_ten_are_shown_and_the_rest_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_REFTABLE_AUTOCOMPACTION", "false")
    repo = build(tmp_path / "r", "reftable")
    while len(stack(repo).tables) < 13:
        repo.create("refs/heads/main", at=len(stack(repo).tables) % 2)
    seen = page(stack(repo))
    assert len([row for row in seen.rows if row[0].endswith(".ref")]) == 10
    assert "... and 3 more" in seen.text


@needs_reftables
def test_tables_that_are_gone_are_told_and_the_refs_still_shown(tmp_path: Path) -> None:
    repo = build(tmp_path / "r", "reftable")
    repo.create("refs/heads/main")
    shown = stack(repo)
    shutil.rmtree(repo.path)
    seen = page(shown)
    assert {row[1] for row in seen.rows if row[0].endswith(".ref")} == {"changed or gone"}
    assert seen.rows[-1] == ["refs/heads/main", repo.commits[0]]


@needs_reftables
def test_a_layout_shows_a_row_for_each_kind_of_block(tmp_path: Path) -> None:
    layout = table_of(tmp_path, 1000).blocks()
    seen = page(layout)
    assert seen.fact("block_size") == "4096"
    head, *rows = seen.rows[1:]
    assert head == ["kind", "blocks", "records", "restarts", "bytes", "fill"]
    assert [row[0] for row in rows] == ["ref", "index", "obj", "log"]
    for kind, *numbers, fill in rows:
        blocks = [block for block in layout if block.kind == kind]
        length = sum(block.length for block in blocks)
        records, restarts = sum(block.records for block in blocks), sum(block.restarts for block in blocks)
        assert numbers == [f"{number:,}" for number in (len(blocks), records, restarts, length)]
        # What is deflated has no fill.
        assert fill == ("-" if kind == "log" else f"{length / 4096 / len(blocks):.0%}")


@needs_reftables
def test_a_layout_draws_the_file_from_its_first_byte_to_its_last(tmp_path: Path) -> None:
    layout = table_of(tmp_path, 1000).blocks()
    seen = page(layout)
    (picture,) = seen.root.iter("svg")
    spans = [(float(part.attrib["x"]), float(part.attrib["width"]), part[0].text) for part in picture]
    kinds = [kind for kind, _ in groupby(block.kind for block in layout)]
    assert [str(title).split(":")[0] for *_, title in spans] == kinds
    assert spans[0][0] == 0
    for (start, width, _), (after, _, _) in pairwise(spans):
        assert after == pytest.approx(start + max(width, 1), abs=1.2)
    assert sum(spans[-1][:2]) == pytest.approx(float(picture.attrib["width"]), abs=1.2)
    legend = "".join(seen.root[-1].itertext()).replace("\u25a0", " ").split()
    assert legend == list(dict.fromkeys(kinds))


def test_blocks_that_are_not_padded_have_no_fill(tmp_path: Path) -> None:
    path = tmp_path / "t.ref"
    path.write_bytes(write([RefRow(b"refs/heads/%03d" % i, b"\1" * 20) for i in range(100)], [], UNALIGNED).data)
    seen = page(refspan.Reftable(path).blocks())
    assert seen.fact("block_size") == "0"
    assert {row[-1] for row in seen.rows[2:]} == {"-"}


def test_the_layout_of_a_table_without_blocks_has_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "t.ref"
    path.write_bytes(write([], [], Shape()).data)
    seen = page(refspan.Reftable(path).blocks())
    assert list(seen.root.iter("svg")) == []


def test_showing_a_diff_takes_no_change_from_it(tmp_path: Path) -> None:
    repo = build(tmp_path / "r")
    repo.create("refs/heads/a", "refs/heads/b")
    before = repo.store().snapshot()
    repo.create("refs/heads/b", "refs/heads/c", at=1)
    changes = refspan.diff(before, repo.store())
    shown = page(changes).text
    assert "refs/heads/b" in shown
    assert "refs/heads/c" in shown
    assert repo.commits[1] in shown
    first = next(changes)
    # It is all of it, whatever was taken.
    assert page(changes).text == shown
    assert [first.name, *(change.name for change in changes)] == ["refs/heads/b", "refs/heads/c"]


def test_what_is_none_of_these_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not int"):
        html(1)


def table_of(path: Path, count: int) -> refspan.Reftable:
    """A table of so many refs and as many log entries, which git wrote."""
    repo = build(path / "r", "reftable")
    repo.git("config", "core.logAllRefUpdates", "always")
    repo.create(*(f"refs/heads/{i:04}" for i in range(count)))
    git("pack-refs", cwd=repo.path)
    (table,) = stack(repo).tables
    return table

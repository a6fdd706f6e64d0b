"""What a rewritten header claims of records whose objects cannot be read: nothing, as long as they are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from refspan import ANY
from store_support import Repository, build
from support import GIT_TRAITS, git_listing, header

MISSING = "1" * 40


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repo = build(tmp_path / "repo.git", bare=True)
    repo.tag("v1", repo.commits[0])
    return repo


def write(repo: Repository, traits: str | None, *records: tuple[str, str]) -> None:
    text = "".join(f"{oid} {name}\n" for name, oid in sorted(records)).encode()
    (repo.path / "packed-refs").write_bytes((header(traits) if traits else b"") + text)


def first_line(repo: Repository) -> str:
    return (repo.path / "packed-refs").read_text().splitlines()[0]


@pytest.mark.parametrize("traits", [None, "sorted", "peeled sorted"])
def test_a_record_that_goes_is_not_asked_for(repo: Repository, traits: str | None) -> None:
    """To delete broken refs is how such a file is mended: the next rewrite need not look everything up again."""
    write(repo, traits, ("refs/x/good", repo.commits[0]), ("refs/x/broken", MISSING))
    with repo.store().transaction() as tx:
        tx.delete("refs/x/broken", ANY)
    assert first_line(repo) == f"# pack-refs with: {GIT_TRAITS} "


def test_a_loose_value_that_is_packed_on_the_way_takes_no_claim_along(repo: Repository) -> None:
    write(repo, GIT_TRAITS, ("refs/x/good", repo.commits[0]))
    for change in ("delete", "update"):
        repo.loose("refs/x/broken", f"{MISSING}\n")
        with repo.store().transaction(into="packed") as tx:
            tx.delete("refs/x/broken") if change == "delete" else tx.update("refs/x/broken", repo.commits[1])
        assert first_line(repo) == f"# pack-refs with: {GIT_TRAITS} "


def test_full_claims_over_an_unpeeled_tag_hide_what_it_peels_to(repo: Repository) -> None:
    """Which is what git 2.53 and newer do to a file without claims: older ones and others then lose the `^{}` line."""
    tag = repo.git("rev-parse", "refs/tags/v1")
    (repo.path / "refs/tags/v1").unlink()
    records = (("refs/tags/v1", tag), ("refs/x/gone", repo.commits[0]))
    write(repo, None, *records)
    (before,) = (ref.peeled for ref in git_listing(repo.path) if ref.name == b"refs/tags/v1")
    assert before == repo.commits[0].encode()
    # As git 2.53 leaves the file behind when it deletes the other ref.
    write(repo, GIT_TRAITS, records[0])
    (lost,) = (ref.peeled for ref in git_listing(repo.path))
    assert lost is None
    # And as refspan does.
    write(repo, None, *records)
    with repo.store().transaction() as tx:
        tx.delete("refs/x/gone")
    (kept,) = (ref.peeled for ref in git_listing(repo.path))
    assert kept == before
    assert first_line(repo) == f"# pack-refs with: {GIT_TRAITS} "

"""packed-refs that claims an order it does not have: what a deletion finds of it is no reason to believe the rest."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from refspan import ANY, CorruptError
from store_support import Repository, build
from support import header


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return build(tmp_path / "repo.git", bare=True)


def write(repo: Repository, names: str) -> bytes:
    """A file of these names, each with another object id, under a header that claims that they are sorted."""
    records = (b"%040x refs/heads/%s\n" % (i + 1, name.encode()) for i, name in enumerate(names))
    text = (header("peeled fully-peeled sorted") or b"") + b"".join(records)
    (repo.path / "packed-refs").write_bytes(text)
    return text


@pytest.mark.parametrize("names", ["cccac", "bbbab", "cccbc", "accbc", "bab", "bcb"])
def test_a_name_that_stands_in_places_apart_is_not_half_deleted(repo: Repository, names: str) -> None:
    name = names[-1]
    text = write(repo, names)
    tx = repo.store().transaction()
    tx.delete(f"refs/heads/{name}", ANY)
    with pytest.raises(CorruptError):
        tx.commit()
    assert (repo.path / "packed-refs").read_bytes() == text


def test_a_deletion_that_rewrites_leaves_no_record_of_the_name(repo: Repository) -> None:
    """Every file of up to four records over three names. Where the search finds nothing, nothing is rewritten."""
    for count in range(1, 5):
        for letters in product("abc", repeat=count):
            names = "".join(letters)
            for name in set(names):
                text = write(repo, names)
                tx = repo.store().transaction()
                tx.delete(f"refs/heads/{name}", ANY)
                try:
                    tx.commit()
                except CorruptError:
                    assert (repo.path / "packed-refs").read_bytes() == text, names
                    continue
                new = (repo.path / "packed-refs").read_bytes()
                assert new == text or b"/%s\n" % name.encode() not in new, names
                assert new != text or list(names) != sorted(names), names

"""Generated transactions, made by refspan in one repository and by git in its twin.

What is compared after each of them, and where git 2.47.3 is not the measure, is told in `differential_checks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import pytest
from differential_checks import COMMITS, transact, transact_singly
from differential_support import Edit, Twins, build_twins, value_of
from hypothesis import given, settings
from hypothesis import strategies as st
from refspan import ANY
from refspan.errors import (
    ConflictError,
    Error,
    InvalidValueError,
    RefExistsError,
    RefNotFoundError,
    StaleError,
    TransactionStateError,
)
from store_support import LATIN1
from support import HASHES, Hash

NAMES = (
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/a/b/c",
    "refs/heads/a-",
    "refs/heads/a.b",
    "refs/heads/a0",
    "refs/heads/main",
    "refs/heads/größe",
    "refs/heads/größe/\U0001f600",
    LATIN1,
    "refs/tags/t",
    "refs/tags/t/u",
    "refs/x/y/z",
    "refs/x/y",
    "refs/bisect/bad",
    "ORIG_HEAD",
)
OWN = NAMES[-2:]
OTHERS = ("tag", "nested", "tag-of-blob", "blob", "tree")
SHORT = 200
REFUSALS = {ConflictError, InvalidValueError, RefExistsError, RefNotFoundError, StaleError, TransactionStateError}


Verb = Literal["set", "create", "update", "delete", "verify"]
Old = Literal["any", "none", "right", "wrong"]
VERBS: tuple[Verb, ...] = ("set", "set", "set", "set", "update", "delete", "delete", "verify", "create")
OLDS: tuple[Old, ...] = ("right", "right", "right", "right", "any", "none", "wrong", "wrong")


class Wish(NamedTuple):
    """An edit whose values depend on what the ref holds when it is made."""

    verb: Verb
    name: str
    new: str
    old: Old


class Batch(NamedTuple):
    wishes: list[Wish]


class Pack(NamedTuple):
    args: tuple[str, ...]


class Folder(NamedTuple):
    name: str
    junk: bool


Script = list[Batch | Pack | Folder]
Outcomes = Iterable[type[Error] | None]


@st.composite
def some_wish(draw: st.DrawFn, names: tuple[str, ...]) -> Wish:
    """Mostly one that is no fault by itself: of several edits, one fault refuses them all."""
    name = draw(st.sampled_from(names))
    fit = COMMITS if name.startswith("refs/heads/") else COMMITS + OTHERS
    new = draw(st.sampled_from((*fit * 4, "tag", "missing")))
    return Wish(draw(st.sampled_from(VERBS)), name, new, draw(st.sampled_from(OLDS)))


@st.composite
def some_batch(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Batch:
    wishes = draw(st.lists(some_wish(names), min_size=1, max_size=6, unique_by=lambda wish: wish.name))
    if draw(st.integers(0, 19)) == 19:
        wishes.append(wishes[0]._replace(verb="update", new="first", old="any"))
    return Batch(wishes)


some_pack = st.sampled_from((("--all",), ("--all", "--no-prune"))).map(Pack)
# One in five holds a lock that nobody will remove.
some_folder = st.builds(
    Folder, st.sampled_from([*NAMES[:3], "refs/x/y/z/q", "refs/tags/t"]), st.sampled_from((False,) * 4 + (True,))
)
some_script = st.lists(st.one_of(*[some_batch()] * 3, some_pack, some_folder), min_size=6, max_size=16)
# Refs of one worktree's own are never packed. Without any ref git writes a file without records, we none: there is one.
some_packed_script = st.lists(
    st.one_of(*[some_batch(tuple(name for name in NAMES if name not in OWN))] * 4, some_folder), min_size=6, max_size=16
).map(lambda steps: [Batch([Wish("create", "refs/base", "nested", "none")]), *steps])


@pytest.fixture(scope="module", name="twins")
def twin_repositories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Hash, Twins]]:
    twins = {hash_: build_twins(tmp_path_factory.mktemp(f"twins-{hash_}"), hash_) for hash_ in HASHES}
    yield twins
    for pair in twins.values():
        pair.session.stop()


def edit_of(wish: Wish, twins: Twins) -> Edit:
    """The edit that a wish is, as things are."""
    held = value_of(twins.gits.gitdir, wish.name)
    new = twins.objects[wish.new]
    first, second, *_ = twins.objects.values()
    right = held if wish.old != "wrong" else second if held == first else first
    verb = wish.verb
    if verb == "set":
        verb = "create" if held is None else "update"
    match verb:
        case "create":
            return verb, wish.name, new, None
        case "update":
            return verb, wish.name, new, {"any": ANY, "none": None}.get(wish.old, right)
        case "delete":
            return verb, wish.name, None, ANY if wish.old in ("any", "none") or right is None else right
        case "verify":
            return verb, wish.name, None, None if wish.old == "none" else right


def run(
    twins: dict[Hash, Twins],
    scripts: st.SearchStrategy[Script],
    make: Callable[[Twins, list[Edit]], Outcomes],
    count: int,
) -> Counter[type[Error] | None]:
    """Play so many scripts on twins without refs; what came of the transactions."""
    seen: Counter[type[Error] | None] = Counter()

    # The short run is the same each time.
    @settings(max_examples=count, derandomize=count < SHORT)
    @given(script=scripts, hash_=st.sampled_from(HASHES), z=st.booleans())
    def play(script: Script, hash_: Hash, z: bool) -> None:
        pair = twins[hash_]
        pair.session.stop()
        pair.reset(z=z)
        for step in script:
            match step:
                case Batch(wishes):
                    seen.update(make(pair, [edit_of(wish, pair) for wish in wishes]))
                case Pack(args):
                    pair.pack(*args)
                case Folder(name, junk):
                    pair.folder(name, junk=junk)
        pair.compare_listings()

    play()
    return seen


def reached(full: bool, *outcomes: type[Error] | None) -> set[type[Error] | None]:
    """What must have come of some of the transactions: of a few, not each kind of refusal."""
    return {*outcomes, *(REFUSALS if full else [ConflictError])}


@pytest.mark.slow
def test_generated_transactions_do_what_gits_do(twins: dict[Hash, Twins], full: bool) -> None:
    seen = run(twins, some_script, lambda pair, edits: [transact(pair, edits)], 1000 if full else 90)
    assert seen.keys() >= reached(full, None)
    assert seen[None] > seen.total() / 4


@pytest.mark.slow
def test_generated_transactions_make_the_edits_that_git_would_not_refuse(twins: dict[Hash, Twins], full: bool) -> None:
    seen = run(twins, some_script, transact_singly, 500 if full else 45)
    assert seen.keys() >= reached(full)


@pytest.mark.slow
def test_generated_batches_leave_what_gits_leave_when_they_are_packed(twins: dict[Hash, Twins], full: bool) -> None:
    """Git makes the edits, then packs all refs. There are no loose ones then, as refspan makes none."""
    seen = run(twins, some_packed_script, lambda pair, edits: [transact(pair, edits, "packed")], 500 if full else 45)
    assert seen.keys() >= reached(full, None)

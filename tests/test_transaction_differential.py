"""Generated transactions, made by refspan in one repository and by git in its twin: the same files come of them.

Where git 2.47.3 is not the measure:

- A new value is checked before what the ref holds, as git does since 2.55 (CONTRACT.md, 10). For an edit with both
  faults git 2.47.3 tells of the other one.
- git stops at the first fault that it meets, and looks for packed refs in the way last; refspan tells of the first edit
  in the order given. So where they differ, git is asked about that edit alone, and about those before it.
- git leaves empty directories behind: see `Twins.level_folders`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from differential_support import Edit, Twins, build_twins, category, value_of
from hypothesis import event, given, settings
from hypothesis import strategies as st
from refspan import ANY, Transaction
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
COMMITS = ("first", "second", "third")
OTHERS = ("tag", "nested", "tag-of-blob", "blob", "tree", "missing")
REFUSALS = {ConflictError, InvalidValueError, RefExistsError, RefNotFoundError, StaleError, TransactionStateError}


class Wish(NamedTuple):
    """An edit whose values depend on what the ref holds when it is made."""

    verb: Literal["set", "create", "update", "delete", "verify"]
    name: str
    new: str
    old: Literal["any", "none", "right", "wrong"]


class Batch(NamedTuple):
    wishes: list[Wish]


class Pack(NamedTuple):
    args: tuple[str, ...]


class Folder(NamedTuple):
    name: str
    junk: bool


@st.composite
def some_wish(draw: st.DrawFn) -> Wish:
    """Mostly one that is no fault by itself: of several edits, one fault refuses them all."""
    name = draw(st.sampled_from(NAMES))
    is_odd = draw(st.integers(0, 9)) == 9
    is_branch = name.startswith("refs/heads/")
    new = draw(st.sampled_from(OTHERS if is_odd or not is_branch else COMMITS))
    verb = draw(st.sampled_from(("set", "set", "set", "set", "update", "delete", "delete", "verify", "create")))
    old = draw(st.sampled_from(("right", "right", "right", "any", "any", "right", "none", "wrong")))
    return Wish(verb, name, new, old)


@st.composite
def some_batch(draw: st.DrawFn) -> Batch:
    wishes = draw(st.lists(some_wish(), min_size=1, max_size=6, unique_by=lambda wish: wish.name))
    if draw(st.integers(0, 19)) == 19:
        wishes.append(wishes[0]._replace(verb="update", new="first", old="any"))
    return Batch(wishes)


some_pack = st.sampled_from((("--all",), ("--all", "--no-prune"))).map(Pack)
some_folder = st.builds(
    Folder, st.sampled_from([*NAMES[:3], "refs/x/y/z/q", "refs/tags/t"]), st.integers(0, 4).map(lambda i: i == 4)
)
some_script = st.lists(
    st.one_of(some_batch(), some_batch(), some_batch(), some_pack, some_folder), min_size=6, max_size=16
)


@pytest.fixture(scope="module", name="twins")
def twin_repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[Hash, Twins]:
    return {hash_: build_twins(tmp_path_factory.mktemp(f"twins-{hash_}"), hash_) for hash_ in HASHES}


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


def is_unfit(edit: Edit, twins: Twins) -> bool:
    """Whether the ref cannot be set to that: no object, or on a branch no commit."""
    _, name, new, _ = edit
    commits = [twins.objects[key] for key in COMMITS]
    return (
        new is not None and new not in commits and (name.startswith("refs/heads/") or new == twins.objects["missing"])
    )


def related(edits: list[Edit], *names: str) -> list[Edit]:
    """The edits of these names, in that order."""
    return [edit for name in names for edit in edits if edit[1] == name]


def check_refusal(error: Error, edits: list[Edit], twins: Twins) -> None:
    """The error tells of the first edit that git refuses, and of what git refuses that for."""
    name = vars(error)["name"]
    (at,) = (at for at, edit in enumerate(edits) if edit[1] == name)
    assert twins.refusal(edits[:at]) is None, "an edit before it would be refused"
    check_reason(error, edits[at], related(edits, getattr(error, "other", "")), twins)


def check_reason(error: Error, edit: Edit, others: list[Edit], twins: Twins) -> None:
    """Git refuses the edit for that, alone or with the others."""
    if isinstance(error, InvalidValueError):
        assert is_unfit(edit, twins)
    else:
        assert not is_unfit(edit, twins)
        assert type(error) in {twins.refusal([edit]), twins.refusal([edit, *others])}


def transact(twins: Twins, edits: list[Edit]) -> type[Error] | None:
    """Make the edits in both; the same comes of it. Why they are refused, if they are."""
    refused: Error | None = None
    try:
        with Transaction(twins.store) as transaction:
            transaction.apply(edits)
    except Error as error:
        refused = error
    told = twins.session.transact(edits)
    twins.compare(refused=refused is not None)
    assert (refused is None) == (told is None), (refused, told)
    if refused is None or told is None:
        return None
    if type(refused) is not category(told):
        check_refusal(refused, edits, twins)
    return type(refused)


@pytest.mark.slow
def test_generated_transactions_do_what_gits_do(twins: dict[Hash, Twins], full: bool) -> None:
    seen: Counter[type[Error] | None] = Counter()

    @settings(max_examples=1000 if full else 60, derandomize=not full)
    @given(script=some_script, hash_=st.sampled_from(HASHES), z=st.booleans())
    def run(script: list[Batch | Pack | Folder], hash_: Hash, z: bool) -> None:
        pair = twins[hash_]
        pair.reset(z=z)
        for step in script:
            match step:
                case Batch(wishes):
                    outcome = transact(pair, [edit_of(wish, pair) for wish in wishes])
                    event("made" if outcome is None else outcome.__name__)
                    seen[outcome] += 1
                case Pack(args):
                    pair.pack(*args)
                case Folder(name, junk):
                    pair.folder(name, junk=junk)
        pair.compare_listings()

    run()
    print(seen, sum(seen.values()))
    assert seen.keys() == REFUSALS | {None}
    assert seen[None] > sum(seen.values()) / 4

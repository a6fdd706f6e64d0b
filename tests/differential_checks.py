"""The same edits made by refspan in one repository and by git in its twin: the same files come of them.

Where git 2.47.3 is not the measure:

- A new value is checked before what the ref holds, as git does since 2.55 (CONTRACT.md, 10). Of an edit with both
  faults git 2.47.3 tells the other one.
- git stops at the first fault that it meets, and looks for packed refs in the way last; refspan tells of the first
  edit in the order given. So where they differ, git is asked about that edit alone, and about those before it.
- A file below a directory in the place of a packed ref, such as somebody's lock, is noticed by git only when it has
  made other edits already ("couldn't set"). refspan refuses them all before that, as it promises.
- git leaves empty directories behind: see `Twins.level_folders`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from differential_support import Edit, Twins, category, files_below, value_of
from refspan import Transaction
from refspan.errors import ConflictError, Error, InvalidValueError, TransactionStateError

COMMITS = ("first", "second", "third")


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
    others = related(edits, getattr(error, "other", ""))
    assert is_reason(error, edits[at], [[], others], twins)


def is_reason(error: Error, edit: Edit, beside: Iterable[list[Edit]], twins: Twins) -> bool:
    """Whether git refuses the edit for that, beside one of these lists of others."""
    if is_unfit(edit, twins) or isinstance(error, InvalidValueError):
        return is_unfit(edit, twins) and isinstance(error, InvalidValueError)
    if isinstance(error, ConflictError) and is_blocked(edit, twins):
        return True
    return any(twins.refusal([edit, *others]) is type(error) for others in beside)


def is_blocked(edit: Edit, twins: Twins) -> bool:
    """Whether the ref is packed, and cannot be set because there is a file below its place."""
    _, name, new, _ = edit
    gitdir = twins.gits.gitdir
    has_file = any(path.is_file() for path in (gitdir / name).rglob("*"))
    return has_file and new is not None and value_of(gitdir, name) not in (None, new)


def attempt(transaction: Transaction, edits: list[Edit]) -> Error | None:
    """Make the edits with refspan; why not, if they are refused."""
    try:
        with transaction:
            transaction.apply(edits)
    except Error as error:
        assert transaction.state == "aborted"
        return error
    assert transaction.state == "committed"
    return None


def transact(twins: Twins, edits: list[Edit], into: Literal["auto", "packed"] = "auto") -> type[Error] | None:
    """Make the edits in both; the same comes of it. Why they are refused, if they are."""
    kept = twins.kept_if_refused()
    before = files_below(twins.ours.gitdir)
    refused = attempt(Transaction(twins.store, into=into), edits)
    told = twins.session.transact(edits)
    if told is not None and "couldn't set" in told:
        assert files_below(twins.ours.gitdir) == before
        assert isinstance(refused, ConflictError)
        assert any(is_blocked(edit, twins) for edit in edits if edit[1] == refused.name)
        twins.take_ours()
        return ConflictError
    assert (refused is None) == (told is None), (refused, told)
    if into == "packed" and told is None:
        twins.session.stop()
        twins.gits.git("pack-refs", "--all")
    twins.compare(kept if refused else frozenset())
    if refused is None or told is None:
        return None
    if type(refused) is not category(told):
        check_refusal(refused, edits, twins)
    return type(refused)


def transact_singly(twins: Twins, edits: list[Edit]) -> list[type[Error]]:
    """Make what of the edits is not refused: git makes just those too, and none of the others beside them."""
    kept = twins.kept_if_refused()
    transaction = Transaction(twins.store, atomic=False)
    refused = attempt(transaction, edits)
    if refused is not None:
        assert type(refused) is twins.refusal(edits) is TransactionStateError, "only a ref edited twice stops all"
        twins.compare(kept)
        return [TransactionStateError]
    rejected = [(edit.verb, edit.name, edit.new, edit.old) for edit, _ in transaction.rejected]
    made = [edit for edit in edits if edit not in rejected]
    assert [edit for edit in edits if edit not in made] == rejected, "in the order given"
    reasons = [reason for _, reason in transaction.rejected if isinstance(reason, Error)]
    for edit, reason in zip(rejected, reasons, strict=True):
        assert is_reason(reason, edit, [made], twins)
    assert twins.session.transact(made) is None
    twins.compare(kept)
    return [type(reason) for reason in reasons]

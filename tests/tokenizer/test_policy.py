"""What `special=` may be, before any backend hears of it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping

import pytest

from pywasmtok import InvalidArgument, SpecialTokenInText
from pywasmtok.tokenizer.special.policy import ALL, NONE, AddedName, is_flag, policy_of

ADDED = {
    "</s>": AddedName(7, True),
    "<s>": AddedName(3, True),
    "<think>": AddedName(9, False),
}


def _added() -> Mapping[str, AddedName]:
    return ADDED


def test_the_plain_ones_are_a_flag() -> None:
    assert policy_of("all", _added) is ALL
    assert policy_of("none", _added) is NONE
    assert is_flag("all")
    assert is_flag("none")
    assert not is_flag({"all"})


def test_the_others_are_a_document() -> None:
    assert not is_flag("raise")
    raising = {"special": "raise", "pair": False}
    assert json.loads(policy_of("raise", _added).document()) == raising
    # One that the file does not call special may be a control token all the same.
    some = policy_of({"<s>", "</s>", "<think>"}, _added)
    pair = {"special": {"allow": sorted([3, 7, 9])}, "pair": True}
    assert json.loads(some.document(is_pair=True)) == pair
    assert policy_of(frozenset(), _added).allowed == ()
    assert policy_of(dict.fromkeys(["<s>"]).keys(), _added).allowed == (3,)


@pytest.mark.parametrize("special", ["some", "", None, True, ["<s>"], ("<s>",), {"<s>": 1}])
def test_other_values_are_refused(special: object) -> None:
    with pytest.raises(InvalidArgument, match="neither 'all', 'none' nor 'raise'"):
        policy_of(special, _added)


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(InvalidArgument, match="'<x>', which is no added token"):
        policy_of({"<s>", "<x>"}, _added)
    with pytest.raises(InvalidArgument, match="7, which is no name"):
        policy_of({7}, _added)


def test_the_error_keeps_the_place_through_a_pickle() -> None:
    error = SpecialTokenInText("no", offset=5)
    error.token, error.character = "<s>", 3
    again = pickle.loads(pickle.dumps(error))
    assert (again.token, again.character, again.offset) == ("<s>", 3, 5)

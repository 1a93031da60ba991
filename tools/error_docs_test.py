"""error_docs: the page has every code once; a list that it does not understand whole is refused."""

import error_docs
import pytest

LIST = """#pragma once
// X(enumerator, slug, kind, summary)
#define TESSERA_ERROR_CODES(X)                                     \\
  /* Files */                                                      \\
  X(kOpen, "open", kInput, "Cannot be opened")                     \\
  X(kWrite, "write", kOutput,                                      \\
    "Cannot be written, "                                          \\
    "a | b")                                                       \\
  /* Types */                                                      \\
  X(kName, "name", kFinding, "A name (any) is taken")
// X(kOther, "other", kInput, "Not in the list")
"""


def test_page():
    page = error_docs.render(error_docs.parse(LIST))
    assert page.startswith("# Error codes\n")
    assert page.endswith(
        """## Files

| code | exit | meaning |
| --- | --- | --- |
| `open` | 2, input or arguments | Cannot be opened |
| `write` | 3, output not written | Cannot be written, a \\| b |

## Types

| code | exit | meaning |
| --- | --- | --- |
| `name` | 1, a finding of `check` | A name (any) is taken |
"""
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"write"', '"open"', "twice"),
        ("kWrite", "kOpen", "twice"),
        ("kOutput", "kOther", "unknown kind"),
        ('"open", kInput', "open, kInput", "only 2 of 3"),
        ("/* Files */", "", "before the first section"),
        ("#define", "#undef", "no #define"),
    ],
)
def test_refused(old, new, message):
    assert old in LIST
    with pytest.raises(ValueError, match=message):
        error_docs.parse(LIST.replace(old, new))


def test_page_of_this_checkout_is_up_to_date():
    assert error_docs.main(["--check"]) == 0

import operator_docs
import pytest


def test_page_is_what_the_table_gives() -> None:
    assert operator_docs.main(["--check"]) == 0


def test_a_row_that_is_not_understood_is_an_error() -> None:
    row = 'Operator{"Abs", 13, F::kNumbers, "T->T", ""},'
    assert operator_docs.parse(row) == [("Abs", "13", "kNumbers", "T->T", "")]
    with pytest.raises(ValueError, match="only 1 rows"):
        operator_docs.parse(row + '\nOperator{"Add", kMin, F::kNumbers, "T->T", ""},')

"""How numbers are said within a sentence."""

from vitviz.words import unbroken


def test_a_size_stays_on_one_line_and_the_sentence_around_it_does_not() -> None:
    assert (
        unbroken("1,600 × 1,200 px, in patches of 4 × 4.")
        == "1,600\xa0×\xa01,200\xa0px, in patches of 4\xa0×\xa04."
    )
    assert unbroken("q × k of 3 heads") == "q × k of 3 heads"

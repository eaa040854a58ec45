"""How numbers are reported within a sentence."""

from vitviz.config import name_fields
from vitviz.text import percent, percent_difference, unbroken


def test_a_size_stays_on_one_line_and_the_sentence_around_it_does_not() -> None:
    assert (
        unbroken("1,600 × 1,200 px, in patches of 4 × 4.")
        == "1,600\xa0×\xa01,200\xa0px, in patches of 4\xa0×\xa04."
    )
    assert unbroken("q × k of 3 heads") == "q × k of 3 heads"


def test_a_refusal_has_the_page_s_titles_for_its_fields() -> None:
    refusal = "depth and head_learning_rate must lie in (0, 10], lease_s too, received 'x'"
    words = "Blocks and Learning rate of the head must lie in (0, 10], lease s too, received 'x'"
    assert name_fields(refusal) == words


def test_a_difference_is_that_of_the_shares_as_they_are_shown() -> None:
    """0.4 points stood beside 94.0 and 94.5 %."""
    assert (percent(0.94040), percent(0.94455)) == ("94.0\N{NO-BREAK SPACE}%", "94.5\N{NO-BREAK SPACE}%")
    assert percent_difference(0.94455, 0.94040) == 0.5 and percent_difference(0.94040, 0.94455) == -0.5
    assert percent_difference(1.0, 0.2506, digits=0) == 75

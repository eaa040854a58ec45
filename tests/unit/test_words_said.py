"""How numbers are said within a sentence."""

from vitviz.text import percent, percent_difference, unbroken, with_titles


def test_a_size_stays_on_one_line_and_the_sentence_around_it_does_not() -> None:
    assert (
        unbroken("1,600 × 1,200 px, in patches of 4 × 4.")
        == "1,600\xa0×\xa01,200\xa0px, in patches of 4\xa0×\xa04."
    )
    assert unbroken("q × k of 3 heads") == "q × k of 3 heads"


def test_a_refusal_has_the_page_s_titles_for_its_fields() -> None:
    refusal = "head_learning_rate must lie in (0, 10], layer_decay too, received 'x'"
    said = with_titles(refusal, {"head_learning_rate": "the head's rate"})
    assert said == "the head's rate must lie in (0, 10], layer decay too, received 'x'"


def test_a_difference_is_that_of_the_shares_as_they_are_shown() -> None:
    """0.4 points stood beside 94.0 and 94.5 %."""
    assert (percent(0.94040), percent(0.94455)) == ("94.0\N{NO-BREAK SPACE}%", "94.5\N{NO-BREAK SPACE}%")
    assert percent_difference(0.94455, 0.94040) == 0.5 and percent_difference(0.94040, 0.94455) == -0.5
    assert percent_difference(1.0, 0.2506, digits=0) == 75

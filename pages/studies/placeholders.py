"""Fill the placeholders of a study's sentences from its numbers.

`{vit @ 250}` is the mean of a series at a place, `{name vit}` its title, `{vit against cnn @ 250}` the verdict on their
difference. 'best', 'second' and 'worst' name series by their mean at the place, 'chosen' the one that validation images
choose, 'base' the usual one; 'first' and 'last' are the ends of the x axis. Other words are options, settings of the
result file and what the study's own module adds.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from vitviz.analysis.study_numbers import Numbers
from vitviz.analysis.verdict import ERROR_RATE, ONE_SEED, Verdict, compare_family, format_confidence
from vitviz.text import gained, percent, plural

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_AGAINST = " against "
ComparedPair = tuple[str, str, Any]  # two series and a place
VerdictFamily = Mapping[ComparedPair, Verdict]
_RANKS = {"best": 0, "second": 1, "worst": -1}


def fill(
    text: str, numbers: Numbers | None, words: Mapping[str, Any], family: VerdictFamily | None = None
) -> str:
    """Return the text with its placeholders filled, differences from a family of verdicts.

    Raises:
        KeyError: if a placeholder names neither a series nor a word.
    """
    return _PLACEHOLDER.sub(
        lambda match: _fill_one(match[1], numbers, words, family or {}), " ".join(text.split())
    )


def _fill_one(text: str, numbers: Numbers | None, words: Mapping[str, Any], family: VerdictFamily) -> str:
    name, _, shape = text.partition(":")
    if name == "seeds" and numbers is not None:
        return plural(len(numbers.list_seeds(next(iter(numbers.titles)), numbers.places[0])), "seed")
    if name in words:
        word = words[name]
        return format(word, shape) if shape or isinstance(word, str) else f"{word:,}"
    if numbers is None:
        raise KeyError(text)
    what, _, at = (part.strip() for part in text.partition("@"))
    place = numbers.get_place(at)
    if what == "place":
        return f"{place:,}"
    if _AGAINST in what:
        pair = _read_pair(text, numbers)
        if pair[0] == pair[1]:
            return f"'{numbers.get_title(pair[0])}' is the base value"
        return describe(numbers, pair, family[pair])
    if what.startswith("name "):
        return numbers.get_title(find_series(numbers, what.removeprefix("name "), place))
    return percent(numbers.get_mean(find_series(numbers, what, place), place))


def find_series(numbers: Numbers, name: str, place: Any) -> str:
    """Return the series that a text names, that has this rank at the place, or that validation images choose."""
    if name == "base":
        return str(numbers.extra["base series"])
    if name == "chosen":
        base, *others = numbers.titles
        return max(others, key=lambda series: fmean(row["validation"] for row in numbers.rows[series]))
    return numbers.rank(place)[_RANKS[name]] if name in _RANKS else name


def judge(texts: Sequence[str], numbers: Numbers | None) -> VerdictFamily:
    """Return the verdicts on all differences that a study's sentences name, or could have named, as one family."""
    if numbers is None:
        return {}
    named = [text for text in _PLACEHOLDER.findall(" ".join(texts)) if _AGAINST in text]
    pairs = dict.fromkeys(pair for text in named for pair in _list_pairs(text, numbers))
    family = compare_family([numbers.compare(*pair) for pair in pairs])
    return dict(zip(pairs, family, strict=True))


def _list_pairs(text: str, numbers: Numbers) -> list[ComparedPair]:
    """Return the pair that a placeholder names; before it is known which series is best, all that could be."""
    first, second, place = _read_pair(text, numbers)
    names = text.partition("@")[0].strip().split(_AGAINST)
    named = zip(names, (first, second), strict=True)
    sides = [list(numbers.titles) if name in _RANKS else [series] for name, series in named]
    pairs = [(a, b, place) for a in sides[0] for b in sides[1] if a != b]
    kept = {frozenset(pair[:2]): pair for pair in pairs}  # each in one direction
    if first != second:
        kept[frozenset((first, second))] = (first, second, place)
    return list(kept.values())


def _read_pair(text: str, numbers: Numbers) -> ComparedPair:
    what, _, at = (part.strip() for part in text.partition("@"))
    place = numbers.get_place(at)
    first, second = (find_series(numbers, name, place) for name in what.split(_AGAINST))
    return first, second, place


def describe(numbers: Numbers, pair: ComparedPair, verdict: Verdict) -> str:
    """Return the verdict as a clause: 'CNN has 9.3 points more than ViT (95 % interval +6.2 to +12.4; 3 seeds)'.

    One of several intervals names no confidence, which `describe_family` states once.
    """
    first, second = (f"'{title}'" if " " in title else title for title in map(numbers.get_title, pair[:2]))
    interval = verdict.interval
    if verdict.rate < ERROR_RATE:
        interval = interval[interval.find("interval") :]
    evidence = "; ".join(filter(None, (interval, verdict.sample)))
    if verdict.outcome is None:
        reason = (
            "one training each: no interval over seeds"
            if verdict.reason == ONE_SEED
            else f"not certain: {verdict.reason}"
        )
        evidence = f"{reason}; {plural(verdict.images, 'image')}"
    elif not verdict.shown:
        return f"no difference shown between {first} and {second}, {gained(verdict.estimate)} points ({evidence})"
    more = "more" if verdict.estimate > 0 else "fewer"
    return f"{first} has {abs(verdict.estimate):.1f} points {more} than {second} ({evidence})"


def describe_family(family: VerdictFamily) -> str:
    """Return the confidence of the intervals of a family; '' where each names its own."""
    rates = {verdict.rate for verdict in family.values() if verdict.interval and verdict.rate < ERROR_RATE}
    if not rates:
        return ""
    least, most = (format_confidence(rate) for rate in (max(rates), min(rates)))
    each = least if least == most else f"{least} to {most}"
    limit = "at most 5\N{NO-BREAK SPACE}% of such figures show a false difference"
    return f"Each interval of a difference has {each} confidence (Holm's method): {limit}."

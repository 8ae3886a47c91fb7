"""Two builds in turn: ratios of their times, and how much of a ratio is noise.

Role:     evaluates the measurements of `./run bench --against REV`; no measuring here.
Users:    bench/against.
"""
import math
import statistics
from dataclasses import dataclass

from comparelib import report

LEAST_CHANGE = 0.02     # less is not worth a word, whatever the noise
FEWEST_PAIRS = 5        # fewer say nothing about their noise


@dataclass
class Ratio:
    value: float        # time of the new build by time of the old one: above 1 is slower
    noise: float        # half the width of the interval in which the median lies, 19 of 20 times
    pairs: int

    @property
    def verdict(self):
        if self.pairs < FEWEST_PAIRS:
            return "too few pairs"
        if abs(self.value - 1) <= max(self.noise, LEAST_CHANGE):
            return "same"
        return "**slower**" if self.value > 1 else "faster"


def ratio(pairs, unit):
    """Ratio of [(new value, old value)], one for each pair of runs; None if there is none.

    Only values of the same pair are compared: a disturbance that lasts longer than a pair
    affects both. The noise is that of a median, from the median distance to it."""
    logs = [math.log(new / old) for new, old in pairs if new > 0 and old > 0]
    if not logs:
        return None
    if unit in report.HIGHER_IS_BETTER:
        logs = [-log for log in logs]
    middle = statistics.median(logs)
    distance = statistics.median(abs(log - middle) for log in logs)
    deviation = 1.4826 * distance       # of a normal distribution
    error = 1.2533 * deviation / math.sqrt(len(logs))
    return Ratio(math.exp(middle), math.exp(middle) * math.expm1(1.96 * error), len(logs))


def compare(samples):
    """{(experiment, key): (unit, median new, median old, Ratio)} of {(experiment, key):
    [(new value, old value, unit)]}."""
    out = {}
    for place, items in samples.items():
        unit = items[0][2]
        found = ratio([(new, old) for new, old, _ in items], unit)
        if found:
            out[place] = (unit, statistics.median(new for new, _, _ in items),
                          statistics.median(old for _, old, _ in items), found)
    return out


def table(compared, revision):
    """Markdown: one line per figure, then how many have changed."""
    lines = [["what", "", "unit", "now", revision, "time ratio", "noise", ""]]
    lines.append(["---"] * len(lines[0]))
    for (_, key), (unit, new, old, found) in compared.items():
        lines.append([key[0], report.parameter_text(*key), unit, report.number(new),
                      report.number(old), f"{found.value:.3f}", f"±{found.noise:.3f}",
                      found.verdict])
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    verdicts = [found.verdict for _, _, _, found in compared.values()]
    counts = {word: verdicts.count(word) for word in dict.fromkeys(verdicts)}
    return text + "\n\n" + ", ".join(f"{count} {word.strip('*')}" for word, count in counts.items())

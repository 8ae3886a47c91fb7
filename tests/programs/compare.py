"""Compares the results of two runs of a case.

Role:     decides whether results agree: texts and digests exactly, figures within the program's tolerance.
Users:    runs.py.
"""
from model import Number

MOST_COMPLAINTS = 3


def differences(mine, reference):
    """[a text for each difference], empty if results agree. Both are {name: str or Number}."""
    out = [f"{name} is missing" for name in reference if name not in mine]
    out += [f"{name} is not in the reference" for name in mine if name not in reference]
    for name, value in mine.items():
        if name in reference and not agree(value, reference[name]):
            out.append(f"{name} is {value}, not {reference[name]}")
    return out


def agree(value, reference):
    if isinstance(value, Number) != isinstance(reference, Number):
        return False
    if not isinstance(value, Number):
        return value == reference
    # Not a comparison by >: a NaN must not agree with anything.
    return abs(value.value - reference.value) <= max(value.tolerance, reference.tolerance)


def complaint(mine, reference):
    """One line about the differences, "" if results agree."""
    wrong = differences(mine, reference)
    more = f" and {len(wrong) - MOST_COMPLAINTS} more" if len(wrong) > MOST_COMPLAINTS else ""
    return "; ".join(wrong[:MOST_COMPLAINTS]) + more

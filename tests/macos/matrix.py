"""Every golden profile against every question, under every reading of the language. usage: SBX_PLANS=… matrix.py"""

import functools
import sys

import profiles
import questions
import sbpl

# Matching depends on these two axes only; deciding on all.
MATCHINGS = {(reading[2], reading[3]): reading for reading in sbpl.READINGS}


# What is left to a decision when the matching is done: order, unfiltered, terminal.
DECISIONS = tuple(reading for reading in sbpl.READINGS if (reading[2], reading[3]) == ("self", "exact"))


@functools.lru_cache(None)
def decided(matching, operation):
    """The readings of DECISIONS under which these rules say no."""
    return frozenset(reading for reading in DECISIONS if sbpl.decide(matching, operation, reading) == "deny")


def denied(rules, parts):
    """The readings under which a call that needs all the parts is denied; rules are matched once per way of comparing."""
    found = set()
    for operation, question in parts:
        links = sbpl.chain(operation)
        concerned = [rule for rule in rules if any(name in links for name in rule.operations)]
        matching = None
        for (self_or_below, case), sample in MATCHINGS.items():
            if matching is None or "path" in question:  # only paths are compared in several ways
                matching = tuple(rule for rule in concerned if rule.matches(question, sample))
            found |= {(order, unfiltered, self_or_below, case, terminal)
                      for order, unfiltered, _, _, terminal in decided(matching, operation)}
    return found


@functools.lru_cache(None)
def answer(profile, call):
    """What a profile (by the number of its text) says to a call: the same text is asked the same once."""
    return denied(TEXTS[profile], questions.parts_of(call))


TEXTS = []
NUMBERS = {}


def number_of(stem):
    plan = profiles.plans()[stem]["macos"]
    key = (plan["profile"], tuple(plan["parameters"]))
    if key not in NUMBERS:
        NUMBERS[key] = len(TEXTS)
        TEXTS.append(profiles.rules(stem))
    return NUMBERS[key]


def check(stem):
    """What is wrong with a profile; how many questions there were."""
    profile = number_of(stem)
    wrong = []
    asked = profiles.asked(stem)
    for expected, call in asked:
        found = answer(profile, call)
        against = ["/".join(reading) for reading in sbpl.READINGS if (reading in found) != (expected == "deny")]
        if against:
            wrong.append(f"{call} must be {expected}; not under {len(against)} readings, {against[0]}")
    return wrong, len(asked)


def main():
    stems = [stem for stem, plan in profiles.plans().items() if not plan["macos"]["refused"]]
    print(f"1..{len(stems) + 1}")
    failed = total = 0
    for number, stem in enumerate(stems, 1):
        wrong, count = check(stem)
        total += count
        for line in wrong[:12]:
            print(f"# {line}")
        if len(wrong) > 12:
            print(f"# … and {len(wrong) - 12} more")
        print(f"{'not ok' if wrong else 'ok'} {number} - the profile of {stem} answers {count} questions as its policy does")
        failed += bool(wrong)
    enough = len(stems) >= 38 and total > 10000
    print(f"# {len(stems)} profiles, {total} questions, {len(sbpl.READINGS)} readings: {total * len(sbpl.READINGS)} answers")
    print(f"{'ok' if enough else 'not ok'} {len(stems) + 1} - there are enough profiles and questions to mean something")
    sys.exit(1 if failed or not enough else 0)


if __name__ == "__main__":
    main()

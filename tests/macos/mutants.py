"""Every rule of every golden profile, and every operation and filter of a rule, left out in turn: some question must notice.
A test of the questions, not of the profiles. usage: SBX_PLANS=… mutants.py"""

import sys

import matrix
import profiles
import questions
import sbpl


class Facts:
    """Which rules and filters match which question: worked out once, used for every mutant."""

    def __init__(self, stem):
        self.rules = profiles.rules(stem)
        self.parts = []  # (number of the call, operation, way of comparing, {rule: matching filters})
        for number, (_, call) in enumerate(profiles.asked(stem)):
            for operation, question in questions.parts_of(call):
                links = sbpl.chain(operation)
                concerned = [rule for rule in self.rules if any(name in links for name in rule.operations)]
                for way, sample in matrix.MATCHINGS.items():
                    found = {}
                    for rule in concerned:
                        hits = [part for part in rule.filters if part.match(question, sample)]
                        if hits or not rule.filters:
                            found[rule] = hits
                    self.parts.append((number, operation, way, found))
        self.by_rule = {rule: [part for part in self.parts if rule in part[3]] for rule in self.rules}

    def notices(self, rule, mutant, still_matches):
        """Does a question get another answer when `rule` is replaced? (None: left out)"""
        for _, operation, _, found in self.by_rule[rule]:
            before = tuple(found)
            stays = mutant is not None and still_matches(found[rule])
            after = tuple(mutant if one is rule else one for one in before if one is not rule or stays)
            if after != before and matrix.decided(before, operation) != matrix.decided(after, operation):
                return True
        return False


def describe(form):
    return str(form).replace("'", "").replace(",", "")[:150]


def mutants(rule):
    """(what is left out, the rule without it or None, whether it matches by these filters)"""
    yield f"{rule.action} {' '.join(rule.operations)}", None, lambda hits: True
    if len(rule.operations) > 1:
        for operation in rule.operations:
            rest = [name for name in rule.operations if name != operation]
            yield f"{operation} of {rule.action} {' '.join(rule.operations)}", sbpl.Rule(rule.action, rest, rule.filters), \
                lambda hits: True
    if len(rule.filters) > 1:
        for part in rule.filters:
            rest = [other for other in rule.filters if other is not part]
            yield f"{describe(part.form)} of {rule.action} {' '.join(rule.operations)}", \
                sbpl.Rule(rule.action, rule.operations, rest), lambda hits, part=part: any(hit is not part for hit in hits)


def main():
    stems = {}
    for stem, plan in profiles.plans().items():
        if not plan["macos"]["refused"]:
            stems.setdefault(plan["macos"]["profile"], stem)  # the same text is tried once
    print(f"1..{len(stems)}")
    made = killed = failed = rules = 0
    for number, stem in enumerate(stems.values(), 1):
        facts = Facts(stem)
        survivors = []
        here = 0
        for rule in facts.rules:
            rules += 1
            for text, mutant, still in mutants(rule):
                if rule.operations == ["default"]:
                    continue  # where no rule matches the model denies too; libsandbox wants it said
                here += 1
                if not facts.notices(rule, mutant, still):
                    survivors.append(text)
        made += here
        killed += here - len(survivors)
        for line in survivors[:15]:
            print(f"# nobody notices: {line}")
        print(f"{'not ok' if survivors else 'ok'} {number} - each of {here} mutants of {stem} is noticed")
        failed += bool(survivors)
    print(f"# {len(stems)} profiles, {rules} rules, {made} mutants, {killed} noticed: {100 * killed / made:.1f} %")
    sys.exit(1 if failed or made < 2000 else 0)


if __name__ == "__main__":
    main()

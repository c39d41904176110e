"""Numbers from samples. Only runs with exit status 0 are timed; the others are counted."""

import collections
import statistics


def quantile(values, share):
    """The value below which this share of them lies, interpolated."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def summary(samples):
    """The fields of one case, as docs/BENCH.md lists them. Warm-ups have negative rounds; the first is `first_ms`."""
    timed = [sample for sample in samples if sample.round >= 0]
    good = [sample for sample in timed if sample.status == 0]
    first = min(samples, key=lambda sample: sample.round, default=None)
    fields = {"n": len(timed), "failed": len(timed) - len(good),
              "busy": sum(1 for sample in timed if not sample.idle),
              "left": sum(1 for sample in timed if sample.left),
              "first_ms": round(first.wall_ns / 1e6, 4) if first else None}
    names = ("min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "settle_ms", "cpu_ms", "rss_kb")
    if not good:
        return fields | dict.fromkeys(names)
    wall = [sample.wall_ns / 1e6 for sample in good]
    values = (min(wall), quantile(wall, .25), statistics.median(wall), quantile(wall, .75), quantile(wall, .95),
              statistics.median(sample.settle_ns / 1e6 for sample in good),
              statistics.median(sample.cpu_ns / 1e6 for sample in good))
    fields |= {name: round(value, 4) for name, value in zip(names, values)}
    return fields | {"rss_kb": max(sample.rss_kb for sample in good)}


def by_case(samples):
    grouped = collections.defaultdict(list)
    for sample in samples:
        grouped[sample.case].append(sample)
    return dict(grouped)


def summaries(samples, baseline=None):
    """{case: summary}, with `ratio` to the median of the baseline where there is one."""
    table = {case: summary(own) for case, own in by_case(samples).items()}
    base = table.get(baseline, {}).get("median_ms")
    for fields in table.values():
        fields["ratio"] = round(fields["median_ms"] / base, 3) if base and fields["median_ms"] else None
    return table


def rates(slices, baseline):
    """{case: runs per second of all workers together, over all slices}."""
    table = {}
    for case, own in by_case(slices).items():
        runs = sum(part.runs - part.failed for part in own)
        seconds = sum(part.elapsed_ns for part in own) / 1e9
        table[case] = {"workers": own[0].workers, "runs": runs, "failed": sum(part.failed for part in own),
                       "runs_per_s": round(runs / seconds, 2) if seconds else 0.0}
    base = table.get(baseline, {}).get("runs_per_s")
    for fields in table.values():
        fields["ratio"] = round(fields["runs_per_s"] / base, 4) if base else None
    return table

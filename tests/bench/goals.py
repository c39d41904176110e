"""The goals, judged on the numbers of one run of the benchmark. A goal without its numbers is "not measured"."""

import statistics

# Differences below this share of plain are never told from noise.
LEAST_NOISE = 0.05


class Missing(Exception):
    """A number that a goal needs was not measured."""


def median(table, case):
    fields = (table or {}).get(case) or {}
    if fields.get("median_ms") is None:
        raise Missing(f"no number of {case}")
    if fields["failed"] * 20 > fields["n"]:
        raise Missing(f"{fields['failed']} of {fields['n']} runs of {case} failed")
    return fields["median_ms"]


def start_ratio(result, row, other):
    return median(result.get("start"), row) / median(result.get("start"), other)


def throughput_ratio(result, row):
    table = result.get("throughput") or {}
    if row not in table or not table.get("bwrap", {}).get("runs_per_s"):
        raise Missing("no throughput of both")
    return table[row]["runs_per_s"] / table["bwrap"]["runs_per_s"]


def point(result, series, row, count, glob=False):
    for entry in (result.get("series") or {}).get(series) or []:
        if (entry["row"], entry["x"], entry["glob"]) == (row, count, glob):
            return median({row: entry}, row)
    raise Missing(f"no point of {row} at {count}")


def per_path_us(result, row):
    """The slope of the least squares over the counts."""
    points = [entry for entry in (result.get("series") or {}).get("protected") or [] if entry["row"] == row]
    if len(points) < 2:
        raise Missing("no series of it")
    line = statistics.linear_regression([entry["x"] for entry in points],
                                        [median({row: entry}, row) for entry in points])
    return line.slope * 1000


def mount_growth(result, row):
    counts = sorted({entry["x"] for entry in (result.get("series") or {}).get("mounts") or []})
    if len(counts) < 2:
        raise Missing("no series of it")
    return point(result, "mounts", row, counts[-1]) / point(result, "mounts", row, counts[0])


def glob_cost_ms(result, row):
    """What the files and the glob cost together, over neither."""
    return point(result, "files", row, 50000, True) - point(result, "files", row, 0)


def steady(result, row, workload):
    """How much longer the work itself takes than plain, as a share of plain: start-up is taken away on both sides."""
    table = (result.get("work") or {}).get(workload)
    own = median(table, row) - median(table, f"{row} true")
    plain = median(table, "plain") - median(table, "plain true")
    return own / plain - 1


def noise(result, workload):
    """Half of what the middle half of plain's own runs spans, as a share of plain."""
    fields = ((result.get("work") or {}).get(workload) or {}).get("plain") or {}
    if not fields.get("median_ms"):
        return LEAST_NOISE
    return max(LEAST_NOISE, (fields["p75_ms"] - fields["p25_ms"]) / 2 / fields["median_ms"])


def rss_mb(result, row):
    median(result.get("start"), row)
    return result["start"][row]["rss_kb"] / 1024


def table(result, row):
    """(id, text, unit, function, limit, whether more is better)"""
    goals = [
        ("start-bwrap", "sbx run -- /bin/true against bwrap", "x", lambda: start_ratio(result, row, "bwrap"), 0.50,
         False),
        ("start-plain", "sbx run -- /bin/true against plain spawn", "x", lambda: start_ratio(result, row, "plain"), 3.0,
         False),
        ("pool-library", "warm pool through the library against plain spawn", "x",
         lambda: start_ratio(result, "pool-library", "plain"), 1.15, False),
        ("pool-client", "warm pool through a client against plain spawn", "x",
         lambda: start_ratio(result, "pool-client", "plain"), 1.6, False),
        ("throughput", "runs per second with 2 workers against bwrap", "x", lambda: throughput_ratio(result, row), 2.4,
         True),
        ("protected", "each further protected path", "us", lambda: per_path_us(result, row), 20.0, False),
        ("mounts", "most host mounts against fewest", "x", lambda: mount_growth(result, row), 1.2, False),
        ("globs", "deny glob over 50,000 files, after the first run", "ms", lambda: glob_cost_ms(result, row), 1.0,
         False),
    ]
    for workload in ("find", "gcc", "git"):
        goals.append((f"steady-{workload}", f"{workload} without its start-up, over plain", "share",
                      lambda workload=workload: steady(result, row, workload), noise(result, workload), False))
    goals.append(("rss", "largest process of sbx run -- /bin/true", "MiB", lambda: rss_mb(result, row), 3.0, False))
    return goals


def judge(result, row):
    """[{id, text, row, unit, value, limit, verdict, why}]"""
    judged = []
    for name, text, unit, value_of, limit, more_is_better in table(result, row):
        entry = {"id": name, "text": text, "row": name if name.startswith("pool-") else row, "unit": unit,
                 "value": None, "limit": round(limit, 4), "more_is_better": more_is_better,
                 "verdict": "not measured", "why": None}
        try:
            value = value_of()
            entry["value"] = round(value, 4)
            kept = value >= limit if more_is_better else value <= limit
            entry["verdict"] = "met" if kept else "not met"
        except (Missing, ZeroDivisionError) as missing:
            entry["why"] = str(missing)
        judged.append(entry)
    return judged

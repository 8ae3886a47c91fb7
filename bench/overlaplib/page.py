"""Tables and the HTML page that shows all pictures.

Role:     Markdown for bench/RESULTS-overlap.md, one self-contained HTML file.
Users:    bench/overlap.
"""
import html
import re

from overlaplib.figures import short
from overlaplib.rows import distinct, middle, select

LEAST_PERCENT = 5    # less that could be hidden, and a share of it says nothing
SPREAD_LIMIT = 0.2   # (highest - lowest) / median: more and a figure gets a *


def cell(rows, scale=1.0, form="{:.1f}"):
    """The median, with a * where rounds disagree."""
    value = middle(rows)
    if value is None:
        return "–"
    wide = len(rows) > 1 and value[0] and (value[2] - value[1]) > SPREAD_LIMIT * abs(value[0])
    return form.format(scale * value[0]) + ("*" if wide else "")


def table(head, lines):
    return "\n".join("| " + " | ".join(line) + " |"
                     for line in [head, ["---"] * len(head), *lines])


def overlap_cell(rows):
    value = middle(rows)
    if value is None:
        return "–"
    text = f"{100 * value[0]:.0f}"
    if len(rows) > 1:
        text += f" ({100 * value[1]:.0f}..{100 * value[2]:.0f})"
    return text


def cases(rows):
    """(ranks, bytes, operation) of the rows, in the order of the tables."""
    for ranks in sorted(set(distinct(rows, "ranks"))):
        for size in sorted(set(distinct(rows, "bytes"))):
            for op in distinct(rows, "op"):
                yield ranks, size, op


def ratio_table(rows, variants):
    mine = select(rows, kind="real", name="overlap")
    lines = []
    for ranks, size, op in cases(mine):
        lines.append([op, short(size), str(ranks), *(
            overlap_cell(select(mine, ranks=ranks, bytes=size, op=op, mpi=name))
            for name in variants)])
    return table(["operation", "size", "ranks", *variants.values()], lines) if lines else ""


def possible_table(rows, modelled, variants):
    """The part that was hidden of what the model calls possible, and the totals of both."""
    lines = []
    for ranks, size, op in cases(modelled):
        for name in variants:
            part = select(rows, split="", ranks=ranks, bytes=size, op=op, mpi=name)
            model = select(modelled, ranks=ranks, bytes=size, op=op, mpi=name)
            figure = {n: middle(select(model, name=n)) for n in distinct(model, "name")}
            did, total = (middle(select(part, name=n)) for n in ("overlap", "total"))
            if not figure or not did or not total:
                continue
            lines.append([op, short(size), str(ranks), variants[name],
                          cell(select(part, name="compute_us")),
                          *possible_cells(figure, did[0], total[0])])
    head = ["operation", "size", "ranks", "MPI", "one rank computes", "kept (model)",
            "handed over (model)", "possible (model)", "total (measured)",
            "total / possible", "possible hidden, % (model)", "hidden, % (measured)",
            "hidden, % of possible"]
    return table(head, lines) if lines else ""


def possible_cells(figure, did, total):
    """The cells of a row, from the medians of the model's figures."""
    kept, handed, shortest, percent = (figure[n][0] for n in (
        "kept_us", "handed_us", "possible_us", "hidden_percent"))
    share = f"{10000 * did / percent:.0f}" if percent >= LEAST_PERCENT else "kept: nothing"
    return [f"{kept:.1f}", "–" if handed == float("inf") else f"{handed:.1f}",
            f"{shortest:.1f}", f"{total:.1f}", f"{total / shortest:.2f}", f"{percent:.0f}",
            f"{100 * did:.0f}", share]


def times_table(rows, variants, only=("ours", "ours/handed", "ours/off", "openmpi", "mpich")):
    """Microseconds behind the ratio."""
    columns = ("blocking", "comm", "compute", "sequence", "total", "manual", "start")
    found = select(rows, kind="real", split="", name="total")
    lines = []
    for ranks, size, op in cases(found):
        for name in [n for n in variants if n in only]:
            part = select(rows, kind="real", split="", ranks=ranks, bytes=size, op=op, mpi=name)
            if part:
                lines.append([op, short(size), str(ranks), variants[name]] +
                             [cell(select(part, name=c)) for c in columns])
    return table(["operation", "size", "ranks", "MPI", *columns], lines) if lines else ""


def cpu_table(rows, variants):
    """Processor time that progress costs, against a polling thread per rank."""
    found = select(rows, kind="real", name="cpu_total")
    lines = []
    for size in sorted(set(distinct(found, "bytes"))):
        for op in distinct(found, "op"):
            for name in variants:
                for ranks in sorted(set(distinct(select(found, mpi=name), "ranks"))):
                    part = select(rows, kind="real", split="", bytes=size, op=op, mpi=name,
                                  ranks=ranks)
                    line = cpu_line(part, ranks)
                    if line:
                        lines.append([op, short(size), str(ranks), variants[name], *line])
    head = ["operation", "size", "ranks", "MPI", "compute only", "with collective",
            "blocking in sequence", "added by progress", "a polling thread per rank",
            "added / polling"]
    return table(head, lines) if lines else ""


def cpu_line(part, ranks):
    total, compute, sequence, time = (middle(select(part, name=name)) for name in (
        "cpu_total", "cpu_compute", "cpu_sequence", "total"))
    if not (total and compute and sequence and time):
        return None
    added, polling = total[0] - sequence[0], ranks * time[0]
    return [f"{compute[0]:.0f}", f"{total[0]:.0f}", f"{sequence[0]:.0f}", f"{added:.0f}",
            f"{polling:.0f}", f"{100 * added / polling:.0f} %"]


def loop_table(rows, variants):
    found = select(rows, name="loop_time")
    lines = []
    for ranks in sorted(set(distinct(found, "ranks"))):
        for name in variants:
            part = select(found, ranks=ranks, mpi=name)
            if part:
                share = select(rows, name="loop_share", ranks=ranks, mpi=name)
                lines.append([str(ranks), variants[name], cell(part),
                              cell(share, 100, "{:.1f}")])
    return table(["ranks", "MPI", "time, us", "processor share, %"], lines) if lines else ""


def fixed_table(rows, variants):
    """The fixed problem on a real machine."""
    found = [row for row in select(rows, kind="real", name="total") if row.split]
    lines = []
    for op in distinct(found, "op"):
        for size in sorted(set(distinct(found, "bytes"))):
            part = select(rows, kind="real", op=op, bytes=size)
            for ranks in sorted(set(distinct(select(found, op=op, bytes=size), "ranks"))):
                for row in distinct(select(found, op=op, bytes=size, ranks=ranks), "split"):
                    mine = select(part, ranks=ranks, split=row, mpi="ours")
                    lines.append([op, short(size), str(ranks), f"ours, S={row}",
                                  cell(select(mine, name="sequence")),
                                  cell(select(mine, name="total"))])
    return table(["operation", "size", "ranks", "", "blocking + compute, us", "total, us"],
                 lines) if lines else ""


# ---- models against emulation ------------------------------------------------------------

def closeness_table(rows):
    """How far emulated and simulated curves are from the model, N in 40..63 and elsewhere."""
    lines = []
    for machine in distinct(rows, "machine"):
        for op in distinct(select(rows, machine=machine), "op"):
            for kind, against in (("simulated", "model"), ("emulated", "model"),
                                  ("emulated", "simulated")):
                part = select(rows, machine=machine, op=op, kind=kind, name="total")
                model = select(rows, machine=machine, op=op, kind=against, name="total")
                for split in [s for s in distinct(part, "split") if s in "0123auto"]:
                    line = closeness(select(part, split=split), select(model, split=split))
                    if line:
                        lines.append([machine, op, f"{kind} to {against}", f"S={split}", *line])
    head = ["machine", "operation", "curve", "", "points", "median difference, %",
            "largest, %", "within 10 %"]
    return table(head, lines) if lines else ""


def closeness(part, model, least_ranks=40):
    differences = []
    for ranks in sorted(set(distinct(part, "ranks"))):
        a, b = middle(select(part, ranks=ranks)), middle(select(model, ranks=ranks))
        if a and b and b[0] and ranks >= least_ranks:
            differences.append(100 * (a[0] / b[0] - 1))
    if not differences:
        return None
    order = sorted(abs(d) for d in differences)
    near = sum(1 for d in order if d <= 10)
    return [str(len(order)), f"{order[len(order) // 2]:.1f}",
            f"{max(differences, key=abs):+.1f}", f"{near} of {len(order)}"]


def choice_table(rows):
    """The time with `auto` beside the best S, S = 0 and the blocking call, for every N."""
    lines = []
    for machine in distinct(rows, "machine"):
        for op in distinct(select(rows, machine=machine, kind={"simulated", "emulated"}), "op"):
            for kind in ("simulated", "emulated"):
                part = select(rows, machine=machine, op=op, kind=kind)
                line = choices(part)
                if line:
                    lines.append([machine, op, kind, *line])
    head = ["machine", "operation", "", "numbers of ranks", "within 5 % of the best S",
            "largest distance, %", "more than 5 % behind S = 0", "behind blocking"]
    return table(head, lines) if lines else ""


def choices(part):
    distances, behind_0, behind_blocking = [], 0, 0
    for ranks in sorted(set(distinct(part, "ranks"))):
        mine = select(part, ranks=ranks)
        total = {split: middle(select(mine, name="total", split=split))
                 for split in distinct(select(mine, name="total"), "split")}
        blocking = middle(select(mine, name="sequence"))
        if not total.get("auto") or not total.get("0") or not blocking:
            continue
        auto = total.pop("auto")[0]
        distances.append(100 * (auto / min(value[0] for value in total.values()) - 1))
        behind_0 += auto > 1.05 * total["0"][0]
        behind_blocking += auto > blocking[0]
    if not distances:
        return None
    near = sum(1 for d in distances if d <= 5)
    return [str(len(distances)), f"{near} of {len(distances)}", f"{max(distances):+.1f}",
            str(behind_0), str(behind_blocking)]


# ---- the page ----------------------------------------------------------------------------

STYLE = """body{font:15px/1.5 sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}
h1,h2{line-height:1.2}figure{margin:1.5em 0}figcaption{color:#555;font-size:90%}
table{border-collapse:collapse;font-size:85%;margin:1em 0}td,th{border:1px solid #ccc;
padding:2px 8px;text-align:right}td:first-child,th:first-child{text-align:left}
svg{max-width:100%;height:auto}code{background:#f2f2f2;padding:0 3px}"""


def html_table(markdown):
    lines = [[html.escape(word.strip()) for word in line.strip("| ").split(" | ")]
             for line in markdown.splitlines()]
    out = ["<table>"]
    for number, words in enumerate(lines):
        if number != 1:
            tag = "th" if number == 0 else "td"
            out.append("<tr>" + "".join(f"<{tag}>{w}</{tag}>" for w in words) + "</tr>")
    return "\n".join(out) + "</table>"


def inlined(path, number):
    """The SVG's text with names that are unique on the page."""
    text = path.read_text()
    text = text[text.index("<svg"):]
    names = set(re.findall(r"\bid='([^']+)'", text)) | set(re.findall(r'\bid="([^"]+)"', text))
    for name in sorted(names, key=len, reverse=True):
        for before, after in (("id='", "'"), ('id="', '"'), ("url(#", ")"), ("href='#", "'"),
                              ('href="#', '"')):
            text = text.replace(f"{before}{name}{after}", f"{before}f{number}_{name}{after}")
    return text


def write_html(path, title, sections):
    """`sections`: [(heading, paragraphs, [(svg path, caption)], [Markdown tables])]."""
    out = [f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{html.escape(title)}"
           f"</title><style>{STYLE}</style><h1>{html.escape(title)}</h1>"]
    count = 0
    for heading, paragraphs, pictures, tables in sections:
        out.append(f"<h2>{html.escape(heading)}</h2>")
        out += [f"<p>{html.escape(text)}</p>" for text in paragraphs]
        for picture, caption in pictures:
            count += 1
            out.append(f"<figure>{inlined(picture, count)}<figcaption>{html.escape(caption)}"
                       "</figcaption></figure>")
        out += [html_table(text) for text in tables if text]
    path.write_text("\n".join(out) + "</html>\n")

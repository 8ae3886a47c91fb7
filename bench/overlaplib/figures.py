"""Rows to pictures in the form of the papers' figures, with gnuplot.

Role:     one function per form of figure; each writes an SVG and a PNG.
Users:    bench/overlap.
"""
import subprocess

from overlaplib.rows import distinct, middle, select

COLOURS = {"0": "#1f5fb4", "1": "#c03030", "2": "#2a8a3a", "3": "#b06fc0", "4": "#907030",
           "auto": "#000000", "blocking": "#707070", "compute": "#d08a20"}
SHOWN_SPLITS = ("0", "1", "2", "3", "auto")
LINES = {"paper": "lines dt 2", "model": "lines", "simulated": "lines dt 3",
         "emulated": "points", "real": "points"}
LONG = {"paper": "model of the paper", "model": "model", "simulated": "simulated",
        "emulated": "emulated", "real": "measured"}


class GnuplotMissing(Exception):
    """gnuplot is not installed, or has refused the script."""


def quote(text):
    return "'" + text.replace("'", "''") + "'"


class Script:
    """A gnuplot script that grows: data blocks and the parts of one plot command."""

    def __init__(self):
        self.blocks, self.parts, self.head = [], [], []

    def add(self, points, using, style, title):
        if not points:
            return
        name = f"$d{len(self.blocks)}"
        body = "".join(" ".join(f"{value:.6g}" if isinstance(value, float) else str(value)
                                for value in point) + "\n" for point in points)
        self.blocks.append(f"{name} << EOD\n{body}EOD\n")
        key = f"title {quote(title)}" if title else "notitle"
        self.parts.append(f"{name} using {using} with {style} {key}")

    def write(self, target, title, x_label, y_label, size=(760, 460)):
        """TARGET.svg and TARGET.png. False if there is nothing to show."""
        if not self.parts:
            return False
        for ending, terminal in (("svg", "svg font 'sans,12' background 'white'"),
                                 ("png", "pngcairo font 'sans,10'")):
            script = "".join(self.blocks) + "\n".join([
                f"set terminal {terminal} size {size[0]},{size[1]}",
                f"set output {quote(str(target) + '.' + ending)}",
                f"set title {quote(title)} noenhanced", f"set xlabel {quote(x_label)}",
                f"set ylabel {quote(y_label)}", "set grid", *self.head,
                "plot " + ", ".join(self.parts), ""])
            try:
                done = subprocess.run(["gnuplot"], input=script, text=True, check=False,
                                      capture_output=True)
            except OSError as error:
                raise GnuplotMissing(str(error)) from error
            if done.returncode:
                raise GnuplotMissing(done.stderr.strip())
        return True


def points_of(rows, scale):
    """[(N, median, lowest, highest)], by N."""
    out = []
    for ranks in sorted(set(distinct(rows, "ranks"))):
        value = middle(select(rows, ranks=ranks))
        out.append((ranks, *(float(v) * scale for v in value)))
    return out


def add_curve(script, rows, kind, colour, title, scale, point):
    points = points_of(rows, scale)
    if kind in ("real", "emulated"):
        script.add(points, "1:2:3:4",
                   f"yerrorbars lc rgb '{colour}' pt {point} ps 0.6", title)
    else:
        script.add(points, "1:2", f"{LINES[kind]} lw 1.6 lc rgb '{colour}'", title)


def against_ranks(rows, machine, op, figure, target):
    """Time against N for every S: `figure` comm (the papers' 2 and 4 left) or total (3, 5, 6).

    Models are lines and measurements points in the same colours. The paper's model has no
    seconds: it is drawn by itself.
    """
    mine = select(rows, machine=machine, op=op)
    kinds = [kind for kind in ("paper", "model", "simulated", "emulated", "real")
             if select(mine, kind=kind, name={"total", "comm"})]
    has_paper = kinds == ["paper"]
    scale, unit = (1.0, "transfers of one buffer") if has_paper else (1e-3, "ms")
    script = Script()
    for kind in kinds:
        if kind == "paper" and not has_paper:
            continue
        part = select(mine, kind=kind, mpi={"", "ours"})
        others = (("compute", "compute C(N)"), ("blocking", "blocking")) if figure == "comm" \
            else (("sequence", "blocking + compute"),)
        for name, label in others:
            add_curve(script, select(part, name=name), kind,
                      COLOURS["compute" if name == "compute" else "blocking"],
                      f"{label}, {LONG[kind]}", scale, 4)
        for number, split in enumerate(SHOWN_SPLITS):
            label = f"S={split}" if split != "auto" else "S chosen"
            add_curve(script, select(part, name=figure, split=split), kind, COLOURS[split],
                      f"{label}, {LONG[kind]}", scale, 5 + 2 * number)
    script.head += ["set key outside right top samplen 2 font ',9'", "set yrange [0:*]"]
    cores = max((row.cores for row in mine), default=0)
    what = "communication alone" if figure == "comm" else "computation with communication"
    title = f"{op} on {machine} ({cores} cores): {what}" + \
        (" (model of the paper)" if has_paper else "")
    limit_range(script, mine, figure, scale, has_paper)
    return script.write(target, title, f"N: ranks, of {cores} cores; the others communicate",
                        unit, (860, 460))


def limit_range(script, rows, figure, scale, has_paper):
    """S=0 on the last core is far above everything else: cuts the picture, as the paper does."""
    values = sorted(row.value * scale for row in select(rows, name=figure, split={"0", "1", "2"})
                    if has_paper or row.kind != "paper")
    if values:
        script.head.append(f"set yrange [0:{3 * values[len(values) // 2]:.6g}]")


def ratios(rows, size, variants, target):
    """Bars: the hidden part of the communication, each operation and MPI."""
    mine = select(rows, kind="real", name="overlap", bytes=size)
    operations = distinct(mine, "op")
    names = [name for name in variants if select(mine, mpi=name)]
    script = Script()
    palette = ["#1f5fb4", "#6fa0dc", "#b8cbe4", "#2a8a3a", "#c03030", "#e09080", "#d08a20",
               "#7a4fa0", "#000000"]
    width = 0.8 / max(1, len(names))
    for number, name in enumerate(names):
        points = []
        for place, op in enumerate(operations):
            value = middle(select(mine, mpi=name, op=op))
            if value:
                points.append((place - 0.4 + (number + 0.5) * width,
                               *(100.0 * max(-0.3, min(1.3, v)) for v in value)))
        script.add(points, f"1:2:({width})", f"boxes fs solid 0.9 lc rgb "
                   f"'{palette[number % len(palette)]}'", variants[name])
        script.add(points, "1:2:3:4", "yerrorbars lc rgb '#404040' pt 0", "")
    ticks = ", ".join(f"{quote(op)} {place}" for place, op in enumerate(operations))
    script.head += [f"set xtics ({ticks})", "set xtics nomirror", "set yrange [-30:130]",
                    "set key outside bottom center horizontal", "set boxwidth 0.1"]
    cores = max((row.cores for row in mine), default=0)
    return script.write(target, f"Communication hidden, {short(size)} per rank, {cores} cores",
                        "", "hidden, % (cut at -30 and 130)", (860, 460))


def compare_mpis(rows, machine, op, size, variants, target):
    """The paper's figure 7: total time against N for each MPI."""
    mine = select(rows, kind="real", machine=machine, op=op, bytes=size, name="total")
    mine = [row for row in mine if row.split in ("", "auto")]
    script = Script()
    for number, name in enumerate(distinct(mine, "mpi")):
        points = points_of(select(mine, mpi=name), 1e-3)
        script.add(points, "1:2:3:4", f"yerrorlines lw 1.4 pt {5 + 2 * number} ps 0.7",
                   variants.get(name, name))
    script.head += ["set yrange [0:*]", "set key left top"]
    return script.write(target, f"{op}, {short(size)}: the same problem on N ranks, {machine}",
                        "N: ranks", "ms")


def short(size):
    if size >= 1 << 20 and size % (1 << 20) == 0:
        return f"{size >> 20} MiB"
    return f"{size >> 10} KiB" if size >= 1024 and size % 1024 == 0 else f"{size} B"

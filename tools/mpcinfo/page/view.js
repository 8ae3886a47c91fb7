// Draws the page. Texts of the data are put in as text, never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const kColours = {computing: "#8fc98f", waiting: "#d9534f", moving: "#2f6fb3", progress: "#3aa6a0",
                  idle: "#eeeeee", other: "#bbbbbb", background: "#f7f7f7", ready: "#e8c15a", blocked: "#999999"};
const kRunColours = [kColours.computing, kColours.progress, kColours.idle, kColours.other];
const kRunNames = ["", "progress thread of ", "idle", "runtime"];
const kRow = 18, kLeft = 150, kTop = 22, kMostArrows = 3000;

// ---- tables --------------------------------------------------------------------------------

function addRow(table, cells, tag, texts) {
  const row = table.insertRow();
  cells.forEach((cell, i) => {
    const field = document.createElement(tag);
    field.textContent = cell;
    if (texts.includes(i)) field.className = "text";
    row.appendChild(field);
  });
}
// texts: the columns that are no numbers.
function fillTable(id, head, rows, texts) {
  if (rows.length === 0) return false;
  const table = byId(id);
  addRow(table, head, "th", texts);
  for (const row of rows) addRow(table, row, "td", texts);
  return true;
}
function show(id) { byId(id).hidden = false; }

// kinds: [name, values of the ranks in ns]; the whole is all of them.
function shareTable(kinds) {
  const total = kinds.reduce((sum, kind) => sum + spread(kind[1]).sum, 0);
  const rows = kinds.map(([name, values]) => {
    const s = spread(values);
    return [name, shareText(s.sum, total), timeText(s.min), timeText(s.median), timeText(s.max),
            "rank " + values.indexOf(s.max)];
  });
  if (fillTable("shares", ["", "of all time", "least", "median", "most", "most in"], rows, [0, 5]))
    show("sharing");
}

function waitTable(rows) {
  const kMost = 100;
  const cells = rows.slice(0, kMost).map((w) => [rankText(w[0]), rankText(w[1]), w[2], timeText(w[3]), w[4]]);
  if (rows.length > kMost) cells.push([(rows.length - kMost) + " more", "", "", "", ""]);
  if (fillTable("waits", ["who", "for whom", "in", "how long", "times"], cells, [0, 1, 2])) show("waiting");
}

function callTable(rows) {
  const cells = rows.slice(0, 20).map(([name, sum, times]) => [name, timeText(sum), times]);
  if (fillTable("calls", ["call", "time of all ranks", "times"], cells, [0])) show("costing");
}

// ---- messages ------------------------------------------------------------------------------

function showMatrix(messages, ranks) {
  if (messages.length === 0) return;
  show("exchanging");
  const canvas = byId("matrix"), kMost = 512;
  const cell = Math.max(1, Math.floor(kMost / ranks));
  let unit = 3;
  const draw = () => {
    const m = matrixCells(messages, ranks, unit, kMost), context = canvas.getContext("2d");
    canvas.width = canvas.height = m.size * cell;
    for (let y = 0; y < m.size; ++y)
      for (let x = 0; x < m.size; ++x) {
        const value = m.cells[y * m.size + x];
        if (value <= 0) continue;
        context.globalAlpha = shade(value, m.largest);
        context.fillStyle = kColours.moving;
        context.fillRect(x * cell, y * cell, cell, cell);
      }
    byId("pair").textContent = "A row is a receiver, a column a sender; darkest: " +
      (unit === 3 ? bytesText(m.largest) : m.largest + " messages");
  };
  const known = new Map(messages.map((row) => [row[0] + " " + row[1], row]));
  canvas.onmousemove = (event) => {
    const size = Math.min(ranks, kMost) * cell;
    const rank = (offset) => Math.floor(offset * ranks / size);
    const to = rank(event.offsetY), from = rank(event.offsetX), row = known.get(to + " " + from);
    showTip(event, "rank " + from + " to rank " + to + "\n" +
            (row ? row[2] + " messages, " + bytesText(row[3]) : "nothing"));
  };
  canvas.onmouseleave = hideTip;
  for (const button of document.getElementsByName("unit"))
    button.onchange = () => { unit = Number(button.value); draw(); };
  draw();
  const largest = messages.slice().sort((a, b) => b[3] - a[3]).slice(0, 20);
  fillTable("pairs", ["from", "to", "messages", "bytes"],
            largest.map((row) => [rankText(row[1]), rankText(row[0]), row[2], bytesText(row[3])]), [0, 1]);
}

// ---- what the mouse points at ----------------------------------------------------------------

function showTip(event, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const right = event.clientX + 14 + tip.offsetWidth > window.innerWidth;
  tip.style.left = (right ? event.clientX - 10 - tip.offsetWidth : event.clientX + 14) + "px";
  tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4) + "px";
}
function hideTip() { byId("tip").hidden = true; }

// ---- timeline --------------------------------------------------------------------------------

class Timeline {
  constructor(trace) {
    this.trace = trace;
    this.end = Math.max(trace.end, 20);
    [this.from, this.to] = [0, this.end];
    this.rows = trace.cores.map((core) => ({
      label: core.name, isCore: true, runs: unpack(core.runs, 2), work: unpack(core.work, 4)}));
    this.firstRank = this.rows.length;
    trace.rows.forEach((rank, i) => this.rows.push({
      label: "rank " + i, isCore: false, runs: unpack(rank.calls, 4), work: unpack(rank.work, 4)}));
    this.arrows = unpack(trace.arrows, 3);
    this.canvas = byId("canvas");
    this.box = byId("rows");
    this.listen();
    this.resize();
  }

  x(time) { return kLeft + (time - this.from) * (this.width - kLeft) / (this.to - this.from); }
  time(x) { return this.from + (x - kLeft) * (this.to - this.from) / (this.width - kLeft); }
  top(row) { return kTop + row * kRow - this.box.scrollTop; }

  resize() {
    const total = kTop + this.rows.length * kRow + 6;
    this.width = Math.max(this.box.clientWidth, 300);
    this.visible = Math.min(total, Math.max(200, Math.floor(window.innerHeight * 0.72)));
    const dense = window.devicePixelRatio || 1;
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.visible + "px";
    this.canvas.width = this.width * dense;
    this.canvas.height = this.visible * dense;
    byId("height").style.height = Math.max(0, total - this.visible) + "px";
    this.context = this.canvas.getContext("2d");
    this.context.scale(dense, dense);
    this.draw();
  }

  set(from, to) {
    [this.from, this.to] = fit(from, to, this.end);
    this.draw();
  }
  zoom(at, factor) {
    [this.from, this.to] = zoomed(this.from, this.to, at, factor, this.end);
    this.draw();
  }

  // Once for each picture of the screen, however many events there were.
  draw() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => { this.isAsked = false; this.paint(); });
  }

  paint() {
    const c = this.context;
    this.note = "";
    c.globalAlpha = 1;
    c.fillStyle = "#fff";
    c.fillRect(0, 0, this.width, this.visible);
    const first = Math.max(0, Math.floor((this.box.scrollTop - kTop) / kRow));
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.visible) / kRow));
    for (let i = first; i < last; ++i) this.paintRow(this.rows[i], this.top(i));
    if (byId("arrows").checked) this.paintArrows();
    this.paintLabels(first, last);
    this.paintAxis();
    byId("window").textContent = timeText(this.from) + " to " + timeText(this.to) + ", " +
      timeText(this.to - this.from) + this.note;
  }

  // A core: who runs, and the work as a box in it. A rank: green while it computes, red for calls,
  // blue for what it moves itself.
  paintRow(row, top) {
    const pixels = this.width - kLeft, h = kRow - 3, c = this.context;
    c.fillStyle = kColours.background;
    c.fillRect(kLeft, top, pixels, h);
    if (!row.isCore && row.runs.n > 0) {
      const begin = this.x(Math.max(row.runs.begin[0], this.from));
      const end = this.x(Math.min(row.runs.end[row.runs.n - 1], this.to));
      c.fillStyle = kColours.computing;
      if (end > begin) c.fillRect(begin, top, end - begin, h);
    }
    this.paintSlices(row.runs, top, h, (i) => row.isCore ? kRunColours[row.runs.more[0][i]] : kColours.waiting);
    this.paintSlices(row.work, top + 4, h - 8, () => kColours.moving);
  }

  paintSlices(slices, top, height, colourOf) {
    const c = this.context, pixels = this.width - kLeft;
    for (const piece of pieces(slices, this.from, this.to, pixels)) {
      const begin = Math.max(piece.x, 0), end = Math.min(piece.x + piece.width, pixels);
      c.globalAlpha = piece.count > 1 ? Math.max(0.1, piece.share) : 1;
      c.fillStyle = colourOf(piece.first);
      c.fillRect(kLeft + begin, top, Math.max(end - begin, 0.7), height);
    }
    c.globalAlpha = 1;
  }

  paintArrows() {
    const a = this.arrows, c = this.context;
    const first = search(a.reach, this.from), last = search(a.begin, this.to);
    if (last - first > kMostArrows) {
      this.note = "; " + (last - first) + " messages: zoom in to see them";
      return;
    }
    c.strokeStyle = "#444";
    c.globalAlpha = 0.55;
    c.beginPath();
    for (let i = first; i < last; ++i) {
      if (a.end[i] < this.from) continue;
      const y = (rank) => this.top(this.firstRank + rank) + kRow / 2;
      const x0 = this.x(a.begin[i]), y0 = y(a.more[0][i]), x1 = this.x(a.end[i]), y1 = y(a.more[1][i]);
      const angle = Math.atan2(y1 - y0, x1 - x0);
      c.moveTo(x0, y0);
      c.lineTo(x1, y1);
      for (const side of [-0.4, 0.4]) {
        c.moveTo(x1, y1);
        c.lineTo(x1 - 6 * Math.cos(angle + side), y1 - 6 * Math.sin(angle + side));
      }
    }
    c.stroke();
    c.globalAlpha = 1;
  }

  paintLabels(first, last) {
    const c = this.context;
    c.fillStyle = "#fff";
    c.fillRect(0, 0, kLeft, this.visible);
    c.fillStyle = "#222";
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    for (let i = first; i < last; ++i) c.fillText(this.rows[i].label, 4, this.top(i) + kRow / 2 - 1, kLeft - 8);
  }

  paintAxis() {
    const c = this.context, step = stepOf(this.to - this.from, (this.width - kLeft) / 110);
    c.fillStyle = "#fff";
    c.fillRect(0, 0, this.width, kTop);
    c.fillStyle = "#666";
    c.font = "11px system-ui, sans-serif";
    for (let mark = Math.ceil(this.from / step) * step; mark <= this.to; mark += step) {
      c.fillRect(this.x(mark), kTop - 6, 1, 6);
      c.fillText(timeText(mark), this.x(mark) + 3, 9);
    }
  }

  // ---- the mouse and the keys ----------------------------------------------------------------

  textAt(x, y) {
    const index = Math.floor((y + this.box.scrollTop - kTop) / kRow), row = this.rows[index];
    if (!row || x < kLeft || y < kTop) return "";
    const time = this.time(x), lines = [], names = this.trace.names;
    const run = sliceAt(row.runs, time), work = sliceAt(row.work, time);
    if (row.isCore && run >= 0) {
      const rank = row.runs.more[1][run];
      lines.push(kRunNames[row.runs.more[0][run]] + (rank >= 0 ? "rank " + rank : ""));
    } else if (run >= 0) {
      const [name, partner, bytes, moving] = row.runs.more.map((column) => column[run]);
      const length = row.runs.end[run] - row.runs.begin[run];
      lines.push(names[name] + ", " + timeText(length));
      if (partner >= 0) lines.push("with rank " + partner);
      if (bytes > 0) lines.push(bytesText(bytes) + " received or large");
      lines.push("waiting " + timeText(length - moving) + ", moving data " + timeText(moving));
    } else if (!row.isCore) {
      lines.push("computes");
    }
    if (work >= 0) {
      const [name, rank, source, bytes] = row.work.more.map((column) => column[work]);
      lines.push(names[name] + ", " + timeText(row.work.end[work] - row.work.begin[work]) +
                 (bytes > 0 ? ", " + bytesText(bytes) : ""));
      lines.push((rank >= 0 ? "for rank " + rank : "") + (source >= 0 ? " from rank " + source : ""));
    }
    return [row.label + " at " + timeText(time), ...lines].join("\n");
  }

  listen() {
    const canvas = this.canvas;
    let grabbed = null;
    canvas.addEventListener("wheel", (event) => {
      if (event.shiftKey) return;
      event.preventDefault();
      this.zoom(this.time(Math.max(event.offsetX, kLeft)), Math.pow(1.0015, event.deltaY));
    }, {passive: false});
    canvas.onmousedown = (event) => { grabbed = {x: event.offsetX, from: this.from, to: this.to}; };
    window.addEventListener("mouseup", () => { grabbed = null; });
    canvas.onmousemove = (event) => {
      if (grabbed) {
        const by = (grabbed.x - event.offsetX) * (grabbed.to - grabbed.from) / (this.width - kLeft);
        this.set(grabbed.from + by, grabbed.to + by);
      }
      const text = this.textAt(event.offsetX, event.offsetY);
      if (text) showTip(event, text); else hideTip();
    };
    canvas.onmouseleave = hideTip;
    canvas.ondblclick = () => this.set(0, this.end);
    this.box.onscroll = () => this.draw();
    window.addEventListener("resize", () => this.resize());
    const middle = () => (this.from + this.to) / 2;
    const move = (by) => this.set(this.from + by * (this.to - this.from), this.to + by * (this.to - this.from));
    const keys = {"+": () => this.zoom(middle(), 0.5), "-": () => this.zoom(middle(), 2),
                  "0": () => this.set(0, this.end), ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25)};
    this.box.onkeydown = (event) => { if (keys[event.key]) { keys[event.key](); event.preventDefault(); } };
    byId("in").onclick = keys["+"];
    byId("out").onclick = keys["-"];
    byId("all").onclick = keys["0"];
    byId("arrows").onchange = () => this.draw();
  }
}

// ---- the page --------------------------------------------------------------------------------

function legend() {
  const texts = {computing: "computes", waiting: "in MPI, waits", moving: "moves data",
                 progress: "progress thread", idle: "idle"};
  for (const [name, text] of Object.entries(texts)) {
    const field = document.createElement("span"), box = document.createElement("i");
    box.style.background = kColours[name];
    field.append(box, text);
    byId("legend").appendChild(field);
  }
}

function showTrace(trace) {
  show("timeline");
  legend();
  const column = (i) => trace.rows.map((row) => row.share[i]);
  const waits = trace.waits.map((w) => [w[0], w[1], trace.names[w[2]], w[3], w[4]]);
  if (!data.profile) {
    shareTable([["computing", column(0)], ["waiting in MPI", column(1)], ["moving data in MPI", column(2)]]);
    callTable(sums(waits, (w) => w[2], (w) => w[3], (w) => w[4]));
  }
  waitTable(waits);
  const rows = trace.rows.map((row, i) => [row, i]).filter(([row]) => row.share[3] > 0)
    .map(([row, i]) => ["rank " + i, timeText(row.share[3]), timeText(row.share[4]), shareText(row.share[4], row.share[3])]);
  if (fillTable("overlap", ["", "work", "hidden", ""], rows.slice(0, 256), [0])) show("overlapping");
  showMatrix(trace.messages, trace.ranks);
  byId("facts").textContent = trace.ranks + " ranks, " + trace.cores.length + " cores, " + timeText(trace.end);
  if (trace.lost > 0) {
    byId("warning").textContent = "Incomplete: the last " + trace.lost + " events were lost (see the setting trace.events).";
    show("warning");
  }
  return new Timeline(trace);
}

function showProfile(profile) {
  const column = (i) => profile.times_ns.map((row) => row[i]);
  shareTable(profile.states.map((name, i) => [name, column(i + 1)]));
  callTable(sums(profile.calls, (w) => w[2], (w) => w[3] + w[4], () => 0).map(([a, b]) => [a, b, ""]));
  if (!data.trace) {
    waitTable(profile.calls.filter((w) => w[3] > 0).sort((a, b) => b[3] - a[3])
      .map((w) => [w[0], w[1], w[2], w[3], ""]));
    showMatrix(profile.messages, profile.ranks);
    byId("facts").textContent = profile.ranks + " ranks, " + timeText(profile.seconds * 1e9);
  }
}

byId("program").textContent = (data.trace || data.profile).program;
if (data.profile) showProfile(data.profile);
const timeline = data.trace ? showTrace(data.trace) : null;
document.body.dataset.drawn = "yes";

"use strict";
// What the page computes and does not draw; no browser is needed for it (tests/trace/page_logic.js).

// Slices of one row, of an array of numbers: begin since the last begin, duration, `more` others.
// reach[i]: the latest end of 0..i; busy[i]: the time of those before i.
function unpack(flat, more) {
  const width = 2 + more, n = Math.floor((flat || []).length / width);
  const row = {n, begin: new Float64Array(n), end: new Float64Array(n), reach: new Float64Array(n),
               busy: new Float64Array(n + 1), more: []};
  for (let k = 0; k < more; ++k) row.more.push(new Float64Array(n));
  let begin = 0, reach = 0;
  for (let i = 0, at = 0; i < n; ++i, at += width) {
    begin += flat[at];
    row.begin[i] = begin;
    row.end[i] = begin + flat[at + 1];
    row.reach[i] = reach = Math.max(reach, row.end[i]);
    row.busy[i + 1] = row.busy[i] + flat[at + 1];
    for (let k = 0; k < more; ++k) row.more[k][i] = flat[at + 2 + k];
  }
  return row;
}

// The first index from `low` on whose value is not below `limit`.
function search(values, limit, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < limit) low = middle + 1; else high = middle;
  }
  return low;
}

// What to draw of a row between two times: single slices where these are wide enough, else all that
// begin in the same pixel as one, with the share of it that they fill. Cost: of pixels, not of slices.
function pieces(row, from, to, pixels) {
  const scale = pixels / (to - from), out = [];
  let i = search(row.reach, from);
  while (i < row.n && row.begin[i] < to) {
    if ((row.end[i] - row.begin[i]) * scale >= 1) {
      out.push(single(row, i, from, scale));
      ++i;
      continue;
    }
    const pixel = Math.floor((row.begin[i] - from) * scale);
    let next = search(row.begin, from + (pixel + 1) / scale, i + 1);
    const few = next - i <= 64;
    const wide = [];
    for (let k = few ? i : next - 1; k < next; ++k)
      if ((row.end[k] - row.begin[k]) * scale >= 1) wide.push(single(row, k, from, scale));
    let busy = row.busy[next] - row.busy[i];
    for (const one of wide) busy -= row.end[one.first] - row.begin[one.first];
    out.push({x: pixel, width: 1, first: i, count: next - i, share: Math.min(1, busy * scale)});
    out.push(...wide);
    i = next;
  }
  return out;
}

function single(row, i, from, scale) {
  return {x: (row.begin[i] - from) * scale, width: (row.end[i] - row.begin[i]) * scale,
          first: i, count: 1, share: 1};
}

// The slice at a time: the innermost one; -1: none. Slices that are nested are not many.
function sliceAt(row, time) {
  let i = search(row.begin, time + 1e-9) - 1;
  for (let steps = 0; i >= 0 && steps < 64 && row.reach[i] >= time; --i, ++steps)
    if (row.end[i] >= time) return i;
  return -1;
}

// A window that has been moved or zoomed stays within [0, end], and not shorter than 20 ns.
function fit(from, to, end) {
  const length = Math.min(Math.max(to - from, 20), Math.max(end, 20));
  const begin = Math.min(Math.max(from, 0), Math.max(end, 20) - length);
  return [begin, begin + length];
}
function zoomed(from, to, at, factor, end) {
  return fit(at - (at - from) * factor, at + (to - at) * factor, end);
}

// Distances between marks of an axis: 1, 2 or 5 times a power of ten.
function stepOf(length, marks) {
  const least = length / marks, power = Math.pow(10, Math.floor(Math.log10(least)));
  for (const factor of [1, 2, 5]) if (power * factor >= least) return power * factor;
  return power * 10;
}

function timeText(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(2) + " us";
  return Math.round(ns) + " ns";
}
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) bytes /= 1024, ++unit;
  return (unit === 0 ? Math.round(bytes) : bytes.toPrecision(4).replace(/\.?0+$/, "")) + " " + units[unit];
}
function shareText(part, whole) { return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "-"; }
function rankText(rank) { return rank >= 0 ? "rank " + rank : "several, or not known"; }

function spread(values) {
  if (values.length === 0) return {min: 0, median: 0, max: 0, sum: 0};
  const sorted = Array.from(values).sort((a, b) => a - b), n = sorted.length;
  return {min: sorted[0], max: sorted[n - 1], sum: sorted.reduce((a, b) => a + b, 0),
          median: (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2};
}

// Cells of a picture of at most `most` by `most`; each sums up the pairs that fall into it.
// messages: [to, from, count, bytes], `unit` the column.
function matrixCells(messages, ranks, unit, most) {
  const size = Math.max(1, Math.min(ranks, most)), cells = new Float64Array(size * size);
  let largest = 0;
  for (const row of messages) {
    if (row[1] < 0) continue;
    const x = Math.floor(row[1] * size / ranks), y = Math.floor(row[0] * size / ranks);
    cells[y * size + x] += row[unit];
    largest = Math.max(largest, cells[y * size + x]);
  }
  return {size, cells, largest};
}
// 0: nothing; else 0.15 to 1, by the logarithm: a millionth is still seen.
function shade(value, largest) {
  if (value <= 0) return 0;
  return Math.max(0.15, 1 + Math.log10(value / largest) / 7);
}

// Sums of waits or calls over ranks, the largest first: [key, sum, times].
function sums(rows, keyOf, valueOf, timesOf) {
  const found = new Map();
  for (const row of rows) {
    const entry = found.get(keyOf(row)) || [keyOf(row), 0, 0];
    entry[1] += valueOf(row);
    entry[2] += timesOf(row);
    found.set(entry[0], entry);
  }
  return Array.from(found.values()).sort((a, b) => b[1] - a[1]);
}

if (typeof module !== "undefined")
  module.exports = {unpack, search, pieces, sliceAt, fit, zoomed, stepOf, timeText, bytesText, shareText,
                    rankText, spread, matrixCells, shade, sums};

// What the page of `mpcinfo trace --html` computes without a browser: node page_logic.js SOURCE
"use strict";
const assert = require("assert");
const path = require("path");
const logic = require(path.resolve(process.argv[2], "tools/mpcinfo/page/logic.js"));

const tests = {
  slicesAreUnpackedFromDistances() {
    const row = logic.unpack([10, 5, 7, 20, 1, 8], 1);
    assert.deepStrictEqual([row.n, ...row.begin, ...row.end, ...row.more[0]], [2, 10, 30, 15, 31, 7, 8]);
    assert.strictEqual(logic.unpack([], 2).n, 0);
    assert.strictEqual(logic.unpack(undefined, 2).n, 0);
  },
  wideSlicesAreDrawnOneByOne() {
    const row = logic.unpack([0, 10, 20, 10], 0);
    const drawn = logic.pieces(row, 0, 40, 40);
    assert.deepStrictEqual(drawn.map((p) => [p.x, p.width, p.count]), [[0, 10, 1], [20, 10, 1]]);
  },
  narrowSlicesOfAPixelAreOnePieceWithTheirShare() {
    const flat = [];
    for (let i = 0; i < 1000; ++i) flat.push(i ? 10 : 0, 5);
    const drawn = logic.pieces(logic.unpack(flat, 0), 0, 10000, 10);
    assert.strictEqual(drawn.length, 10);
    for (const piece of drawn) assert.ok(Math.abs(piece.share - 0.5) < 0.02 && piece.count === 100);
  },
  theWorkIsThatOfPixelsNotOfSlices() {
    const flat = [];
    for (let i = 0; i < 300000; ++i) flat.push(i ? 10 : 0, 5);
    const row = logic.unpack(flat, 0), begin = process.hrtime.bigint();
    for (let i = 0; i < 100; ++i) assert.ok(logic.pieces(row, 0, 3e6, 1000).length <= 1001);
    assert.ok(Number(process.hrtime.bigint() - begin) < 5e9);
  },
  aLongSliceBehindShortOnesIsSeen() {
    const row = logic.unpack([0, 1, 2, 1, 2, 500], 0);
    assert.ok(logic.pieces(row, 0, 1000, 100).some((p) => p.width === 50 && p.count === 1));
  },
  whatBeganBeforeTheWindowIsSeen() {
    const row = logic.unpack([0, 1000, 10, 5], 0);  // nested: 10 to 15
    assert.strictEqual(logic.pieces(row, 500, 600, 100)[0].first, 0);
  },
  theInnermostSliceIsFound() {
    const row = logic.unpack([0, 100, 10, 20], 0);
    assert.deepStrictEqual([5, 15, 50, 150].map((t) => logic.sliceAt(row, t)), [0, 1, 0, -1]);
  },
  aWindowStaysInside() {
    assert.deepStrictEqual(logic.fit(-50, 50, 1000), [0, 100]);
    assert.deepStrictEqual(logic.fit(950, 1050, 1000), [900, 1000]);
    assert.deepStrictEqual(logic.fit(0, 5000, 1000), [0, 1000]);
    const [from, to] = logic.zoomed(0, 1000, 250, 0.5, 1000);
    assert.deepStrictEqual([from, to], [125, 625]);  // 250 stays where it is
  },
  aMatrixOfManyRanksSumsUp() {
    const messages = [];
    for (let i = 0; i < 4096; ++i) messages.push([i, (i + 1) % 4096, 1, 100]);
    const m = logic.matrixCells(messages, 4096, 3, 512);
    assert.strictEqual(m.size, 512);
    assert.strictEqual(m.cells.reduce((a, b) => a + b, 0), 409600);
    assert.strictEqual(logic.shade(0, 10), 0);
    assert.strictEqual(logic.shade(10, 10), 1);
  },
  textsHaveUnits() {
    assert.deepStrictEqual([12, 1500, 2.5e6, 3e9].map(logic.timeText), ["12 ns", "1.50 us", "2.500 ms", "3.000 s"]);
    assert.deepStrictEqual([0, 100, 1024, 1536, 2097152].map(logic.bytesText),
                           ["0 B", "100 B", "1 KiB", "1.5 KiB", "2 MiB"]);
  },
  medians() {
    assert.deepStrictEqual(logic.spread([3, 1, 2]), {min: 1, max: 3, sum: 6, median: 2});
    assert.strictEqual(logic.spread([]).max, 0);
  },
};

for (const [name, test] of Object.entries(tests)) {
  test();
  console.log("ok " + name);
}

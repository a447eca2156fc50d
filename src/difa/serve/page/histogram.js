// Where normal documents lie, and where this one does. Built by the DOM, so that the content policy can stay strict.

import { rarity, shape } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 120;
const TOP = 22;
const BOTTOM = 18;

export function drawHistogram(box, model, result, rate) {
  const { edges, counts } = model.histogram;
  const low = Math.min(edges[0], result.score);
  const high = Math.max(edges[edges.length - 1], result.score);
  const x = (score) => 4 + ((WIDTH - 8) * (score - low)) / (high - low || 1);
  const base = HEIGHT - BOTTOM;
  const most = Math.max(...counts, 1);
  const limit = threshold(model, rate);
  const bars = counts.map((count, index) => {
    const height = count ? Math.max(1.5, ((base - TOP) * count) / most) : 0;
    const middle = (edges[index] + edges[index + 1]) / 2;
    return shape("rect", {
      class: limit !== null && middle > limit ? "bar above" : "bar",
      x: x(edges[index]),
      y: base - height,
      width: Math.max(0.5, x(edges[index + 1]) - x(edges[index]) - 1),
      height,
      rx: 1,
    });
  });
  const here = x(result.score);
  const end = here > WIDTH / 2;
  const parts = [shape("line", { class: "axis", x1: 0, x2: WIDTH, y1: base + 0.5, y2: base + 0.5 }), ...bars];
  if (limit !== null && limit <= high) {
    parts.push(shape("line", { class: "limit", x1: x(limit), x2: x(limit), y1: TOP, y2: base }));
  }
  parts.push(
    shape("line", { class: "here", x1: here, x2: here, y1: TOP - 6, y2: base }),
    shape("circle", { class: "here-dot", cx: here, cy: TOP - 6, r: 3.5 }),
    shape("text", { class: "chart-label strong", x: here + (end ? -8 : 8), y: TOP - 3, "text-anchor": end ? "end" : "start" }, `this document ${result.score.toFixed(1)}`),
    shape("text", { class: "chart-label", x: 0, y: HEIGHT - 4 }, `${low.toFixed(1)}`),
    shape("text", { class: "chart-label", x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "document score"),
    shape("text", { class: "chart-label", x: WIDTH, y: HEIGHT - 4, "text-anchor": "end" }, `${high.toFixed(1)}`),
  );
  const label = `Scores of ${model.normal_documents} normal documents, from ${edges[0].toFixed(1)} to ${edges[edges.length - 1].toFixed(1)}. This document has ${result.score.toFixed(1)}, p ${rarity(result.p_value)}.`;
  box.replaceChildren(shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, ...parts));
}

// The score above which documents are flagged; null where the model knows too few documents for the rate.
function threshold(model, rate) {
  const known = model.thresholds.filter((entry) => entry.rate <= rate * (1 + 1e-9));
  return known.length ? known[known.length - 1].score : null;
}

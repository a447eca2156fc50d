// What all parts of the page use: elements, numbers in words, which words are flagged, and what this browser remembers.

const SVG = "http://www.w3.org/2000/svg";

// Text only ever becomes a text node: nothing here reads HTML.
function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const element = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);
export const shape = (name, attributes = {}, ...children) => build(document.createElementNS(SVG, name), attributes, children);
export const byId = (id) => document.getElementById(id);

export const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;
export const rarity = (p) => (p < 0.0001 ? p.toExponential(1) : String(Number(p.toPrecision(2))));

// How strongly a word is shaded: 0 for usual ones, then one step for each factor of about three, from 1 in 10 on.
export const heat = (p) => Math.max(0, Math.min(6, Math.floor(-2 * Math.log10(p)) - 1));

// A word or a document that is rarer than the rate allows. Words that someone allowed come with a p-value of 1.
export const isFlagged = (scored, rate) => scored.p_value <= rate;
export const flaggedWords = (result, rate) => (result.words ?? []).filter((word) => isFlagged(word, rate));

// Storage may be closed to us. "localStorage" keeps for good, "sessionStorage" until the tab is closed.
export function keep(name, value, storage = "localStorage") {
  try {
    globalThis[storage].setItem(name, value);
  } catch {
    // Not kept, then.
  }
}

export function kept(name, storage = "localStorage") {
  try {
    return globalThis[storage].getItem(name) ?? "";
  } catch {
    return "";
  }
}

// Elements from names, attributes and children. Text only ever becomes a text node: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const element = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);
export const shape = (name, attributes = {}, ...children) => build(document.createElementNS(SVG, name), attributes, children);
export const byId = (id) => document.getElementById(id);

export const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;
export const rarity = (p) => (p < 0.0001 ? p.toExponential(1) : String(Number(p.toPrecision(2))));

// How strongly a word is shaded: 0 for usual ones, then one step for each factor of about three, from 1 in 10 on.
export const heat = (p) => Math.max(0, Math.min(6, Math.floor(-2 * Math.log10(p)) - 1));

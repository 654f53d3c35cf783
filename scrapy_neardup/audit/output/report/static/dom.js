// Elements. What comes from the crawl only ever becomes a text node.

const byId = (id) => document.getElementById(id);

function build(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** An HTML element; properties that are functions listen to the event of that name. */
const element = (tag, properties = {}, ...children) => build(document.createElement(tag), properties, children);

const drawing = (tag, properties = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);

const button = (label, click, properties = {}) =>
  element("button", { type: "button", click, ...properties }, label);

/** Have the browser paint and answer before the rest is done. */
const breath = () => new Promise((resolve) => setTimeout(resolve));

/** Call the function once its calls have stopped for some milliseconds. */
function calmly(milliseconds, call) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}

/** What the browser remembers of this report, if it may. */
const memory = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      return; // private windows keep nothing: the report works, and forgets
    }
  },
};

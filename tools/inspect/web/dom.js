// Elements of the page. Whatever is shown goes in as text: names and rows may be anything.

/** An element: `el("p", {class: "note"}, "text", child)`. A property set to false is left out. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const svgSpace = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Puts the text there, unless it is there already: a screen reader says what changes. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts other content there, and the focus on what had it, as `data-focus` names it. */
export function renew(place, ...children) {
  const parts = () => [...place.querySelectorAll("[data-focus]")];
  const active = document.activeElement;
  const focused = place.contains(active) ? active.dataset.focus : null;
  const scrolled = new Map(parts().map((part) => [part.dataset.focus, part.scrollLeft]));
  place.replaceChildren(...children);
  for (const part of parts()) {
    part.scrollLeft = scrolled.get(part.dataset.focus) ?? 0;
    if (part.dataset.focus === focused) part.focus({preventScroll: true});
  }
}

/**
 * A table. `columns`: {title, text: true for what is no figure}; `rows`: lists of texts or
 * elements, the first of which names the row; `sum`: one more row at the end.
 */
export function table(caption, columns, rows, sum = null) {
  const kind = (index) => (columns[index].text ? "text" : "figure");
  const line = (cells) =>
    el("tr", {}, ...cells.map((cell, index) =>
      index === 0 ? el("th", {scope: "row", class: kind(index)}, cell)
                  : el("td", {class: kind(index)}, cell)));
  const head = el("tr", {}, ...columns.map((column, index) =>
    el("th", {scope: "col", class: kind(index)}, column.title)));
  const body = el("tbody", {}, ...rows.map(line));
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption,
                    "data-focus": caption},
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), body,
      sum ? el("tfoot", {}, line(sum)) : null));
}

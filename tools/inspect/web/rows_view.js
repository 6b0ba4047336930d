// Rows of a type, by any of its keys.

import {Trouble, ask} from "./connection.js";
import {el, renew, setText, table} from "./dom.js";
import {grouped} from "./figures.js";

const byId = {name: "id", kind: "id", parts: [{field: "id", descending: false}]};
const rowsOfPage = 50;
const detailColumns = [{title: "field", text: true}, {title: "value", text: true}];

function option(value, words = value) {
  return el("option", {value}, words);
}

/** Whether rows can be gone through in the order of a key. */
const isOrdered = ({kind}) => !kind.startsWith("hashed");

/** Numbers to the right. */
const isFigure = (cell) => /^-?\d+(\.\d+)?$/.test(cell);

export class RowsView {
  /** `largest`: returns the name of the type to begin with. */
  constructor(panel, largest) {
    this.largest = largest;
    this.types = [];
    this.wanted = null;
    this.type = el("select", {onchange: () => this.#offerKeys()});
    this.index = el("select", {onchange: () => this.#offerParts()});
    this.parts = el("div", {class: "bar"});
    this.reverse = el("input", {type: "checkbox"});
    this.archive = el("input", {type: "checkbox", name: "archive",
                                onchange: () => this.#offerReverse()});
    this.withArchive = el("label", {class: "check"}, this.archive, "with the archive");
    this.note = el("p", {class: "note", role: "status"});
    this.next = el("button", {type: "button", class: "push", hidden: true,
                              onclick: () => this.#find(this.after)}, "Next page");
    this.result = el("div", {class: "stack"});
    this.detail = el("div", {class: "stack"});
    const form = el("form", {onsubmit: (event) => {
      event.preventDefault();
      this.#find(null);
    }},
      el("label", {}, "Type", this.type), el("label", {}, "Key", this.index), this.parts,
      el("label", {class: "check"}, this.reverse, "last first"), this.withArchive,
      el("button", {class: "push"}, "Find"));
    panel.append(el("h2", {}, "Rows"), form, el("div", {class: "stack"}, this.note, this.result,
      el("div", {}, this.next), this.detail));
  }

  /** A type that is to be shown when the view is seen next. */
  choose(type) {
    this.wanted = type;
    if (this.types.length > 0) this.draw({types: this.types});
  }

  /** `found`: what api/schema says. */
  draw({types}) {
    const isFirst = this.type.value === "";
    const before = this.wanted ?? (isFirst ? this.largest() : this.type.value);
    this.types = types;
    this.type.replaceChildren(...types.map(({name}) => option(name)));
    const has = types.some(({name}) => name === before);
    if (has) this.type.value = before;
    if (has && this.wanted === null && !isFirst) return; // what is typed stays
    this.wanted = null;
    this.#offerKeys();
    if (types.length > 0) this.#find(null);
  }

  get #keys() {
    const type = this.types.find(({name}) => name === this.type.value);
    return [byId, ...(type?.indexes ?? [])];
  }

  /** Of types with a life cycle: whose finished objects leave memory for an archive. */
  get #isArchived() {
    return this.types.some(({name}) => name === `${this.type.value}.retired`);
  }

  #offerKeys() {
    this.withArchive.hidden = !this.#isArchived;
    this.index.replaceChildren(...this.#keys.map(({name, kind}) =>
      option(name, name === kind ? name : `${name} (${kind.replaceAll("_", " ")})`)));
    this.#offerParts();
  }

  #offerParts() {
    const key = this.#keys.find(({name}) => name === this.index.value);
    const hint = isOrdered(key) ? "any" : "needed";
    this.parts.replaceChildren(...key.parts.map(({field}) =>
      el("label", {}, field, el("input", {type: "text", name: field, placeholder: hint,
                                           autocomplete: "off", spellcheck: "false"}))));
    this.#offerReverse();
  }

  /** An archive is gone through from the first to the last only. */
  #offerReverse() {
    const key = this.#keys.find(({name}) => name === this.index.value);
    this.reverse.disabled = !isOrdered(key) || this.#asksArchive;
  }

  get #asksArchive() {
    return this.#isArchived && this.archive.checked;
  }

  /** The leading parts that were written. */
  #given() {
    const words = [...this.parts.querySelectorAll("input")].map(({value}) => value);
    const end = words.indexOf("");
    return end < 0 ? words : words.slice(0, end);
  }

  async #find(after) {
    const asked = new URLSearchParams(
      {type: this.type.value, index: this.index.value, limit: rowsOfPage, text: 1,
       reverse: this.reverse.checked && !this.reverse.disabled ? 1 : 0});
    if (this.#asksArchive) asked.append("archive", 1);
    for (const part of this.#given()) asked.append("key", part);
    if (after !== null) asked.append("after", after);
    try {
      this.#show(await ask(`api/rows?${asked}`));
    } catch (problem) {
      if (!(problem instanceof Trouble)) throw problem;
      setText(this.note, problem.message);
      this.next.hidden = true;
      renew(this.result);
      renew(this.detail);
    }
  }

  #show(found) {
    const count = found.cells.length;
    const more = found.more ? ", and there are more" : "";
    const places = found.archive_searched ? "in memory or in the archive" : "in memory";
    const words = count === 0 ? `No row ${places} has this key`
      : `${grouped(count)} ${count === 1 ? "row" : "rows"}${more}`;
    setText(this.note, `${words}; revision ${grouped(found.revision)}` +
      (found.archive_searched === false
        ? "; in memory only: the archive has no rows by this key" : "") +
      (found.moved ? "; rows left memory meanwhile, and some may be missing: ask again" : "") +
      (found.rolled_back ? "; the writer died: the next opening rolls back to this." : "."));
    this.after = found.after;
    this.next.hidden = !found.more;
    renew(this.detail);
    renew(this.result, ...(count > 0 ? [this.#table(found)] : []));
    if (count === 1) this.#detail(found.names, found.cells[0]);
  }

  #table({type, names, cells}) {
    const figures = names.map((_, at) => cells.every((row) => isFigure(row[at])));
    const columns = names.map((title, at) => ({title, text: at === 0 || !figures[at]}));
    const rows = cells.map((row) => [this.#open(names, row), ...row.slice(1)]);
    const made = table(`Rows of ${type}`, columns, rows);
    made.classList.add("rows");
    return made;
  }

  #open(names, row) {
    return el("button", {type: "button", class: "link", "data-focus": `row ${row[0]}`,
                         "aria-label": `All of row ${row[0]}`, onclick: (event) => {
                           for (const one of this.result.querySelectorAll(".chosen"))
                             one.classList.remove("chosen");
                           event.target.closest("tr").classList.add("chosen");
                           this.#detail(names, row);
                         }}, row[0]);
  }

  #detail(names, row) {
    const made = table(`Row ${row[0]}, whole`, detailColumns,
      names.map((name, at) => [name, row[at]]));
    made.classList.add("fields");
    renew(this.detail, made);
    made.scrollIntoView({block: "nearest"});
  }
}

// The types of the state; of one of them its fields and keys.

import {el, renew, table} from "./dom.js";
import {bytes, grouped} from "./figures.js";

const columns = [{title: "type", text: true}, {title: "objects"}, {title: "next id"},
                 {title: "value"}, {title: "node"}, {title: "per object"}, {title: "memory"},
                 {title: "keys", text: true}];
const fieldColumns = [{title: "field", text: true}, {title: "type", text: true}, {title: "offset"},
                      {title: "bytes"}];
const keyColumns = [{title: "key", text: true}, {title: "kind", text: true},
                    {title: "parts", text: true}];

const partText = ({field, descending}) => (descending ? `${field} descending` : field);

function keyRow(key) {
  return [key.name, key.kind.replaceAll("_", " "), key.parts.map(partText).join(", ")];
}

export class TypesView {
  /** `openRows` is called with the name of a type whose rows are wanted. */
  constructor(panel, openRows) {
    this.openRows = openRows;
    this.chosen = null;
    this.content = el("div", {class: "stack"});
    panel.append(el("h2", {}, "Types"), this.content);
  }

  /** `found`: what api/schema says, and `stat`: what api/stat says. */
  draw(found) {
    this.found = found;
    const {stat, types} = found;
    const most = Math.max(...stat.types.map(({objects}) => objects));
    this.chosen ??= stat.types.find(({objects}) => objects === most)?.name ?? null;
    const chosen = types.find(({name}) => name === this.chosen);
    renew(this.content,
      table("All types", columns, stat.types.map((type) => this.#row(type))),
      ...(chosen ? this.#details(chosen) : []));
  }

  #row(type) {
    const occupied = type.total.total - type.total.punched;
    const name = el("button", {type: "button", class: "link", "data-focus": `type ${type.name}`,
                               onclick: () => {
                                 this.chosen = type.name;
                                 this.draw(this.found);
                               }}, type.name);
    return [name, grouped(type.objects), grouped(type.next_id), bytes(type.value_bytes),
            bytes(type.node_bytes), type.objects > 0 ? bytes(occupied / type.objects) : "\u2013",
            bytes(occupied), type.keys.map((key) => key.split(" ")[0]).join(", ")];
  }

  #details(type) {
    const fields = type.fields.map((one) =>
      [one.name, el("code", {}, one.type), grouped(one.offset), grouped(one.bytes)]);
    return [
      el("div", {class: "bar"}, el("h2", {}, type.name),
        el("button", {type: "button", class: "link", "data-focus": "rows",
                      onclick: () => this.openRows(type.name)}, "Look at its rows")),
      el("div", {class: "pair"},
        table(`Fields of ${type.name}`, fieldColumns, fields),
        type.indexes.length > 0
          ? table(`Keys of ${type.name}`, keyColumns, type.indexes.map(keyRow))
          : el("p", {class: "note"}, "It has no keys but its ids."))];
  }
}

// Who has the state open, and who waits for whom.

import {el, renew, table} from "./dom.js";

const columns = [{title: "reader", text: true}, {title: "process"}, {title: "thread"},
                 {title: "is", text: true}, {title: "for"}, {title: "slot"}];

const checked = "Somebody checks the state; no writer can open it until that is done.";

const seconds = (one) => (one.state === "idle" ? "" : `${one.seconds.toFixed(3)} s`);

function writerText(writer) {
  if (writer.process === 0) return "Nobody has opened the state for writing yet.";
  const doing = writer.state === "idle" ? "idle" : `${writer.state} for ${seconds(writer)}`;
  if (writer.alive) return `The writer is process ${writer.process}, ${doing}.`;
  if (writer.state === "idle")
    return `There is no writer; the last one was process ${writer.process}.`;
  return `The writer, process ${writer.process}, died while it was ${writer.state}. Readers wait ` +
    "until the state is opened for writing.";
}

function row(reader) {
  const state = reader.alive ? reader.state : `${reader.state}, and dead`;
  return [reader.name, String(reader.process), String(reader.thread),
          el("span", {class: `doing ${reader.alive ? reader.state : "dead"}`}, state),
          seconds(reader), String(reader.slot)];
}

export class LocksView {
  constructor(panel) {
    this.content = el("div", {class: "stack"});
    panel.append(el("h2", {}, "Locks"), this.content);
  }

  /** `found`: what api/locks says. */
  draw(found) {
    renew(this.content,
      el("p", {}, writerText(found.writer)),
      ...(found.checked ? [el("p", {}, checked)] : []),
      found.readers.length > 0 ? table("Readers", columns, found.readers.map(row))
                               : el("p", {class: "note"}, "No process reads the state."));
  }
}

// Who has the state open, who waits for whom, and who follows it.

import {el, renew, table} from "./dom.js";
import {bytes, grouped} from "./figures.js";

const columns = [{title: "reader", text: true}, {title: "process"}, {title: "thread"},
                 {title: "is", text: true}, {title: "for"}, {title: "slot"}];

const followerColumns = [{title: "follower", text: true}, {title: "revision"}, {title: "behind"}];

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

const followerRow = (one) =>
  [one.name, one.has_begun ? grouped(one.revision) : "not begun", bytes(one.behind)];

export class LocksView {
  constructor(panel) {
    this.content = el("div", {class: "stack"});
    panel.append(el("h2", {}, "Locks"), this.content);
  }

  /** `found`: what api/locks says, and as `feed` what api/feed says, or {trouble}. */
  draw(found) {
    renew(this.content,
      el("p", {}, writerText(found.writer)),
      ...(found.checked ? [el("p", {}, checked)] : []),
      found.readers.length > 0 ? table("Readers", columns, found.readers.map(row))
                               : el("p", {class: "note"}, "No process reads the state."),
      ...this.#followers(found.feed));
  }

  #followers({cursors = [], trouble = null}) {
    if (trouble !== null) return [el("p", {class: "note"}, `Followers: ${trouble}`)];
    if (cursors.length === 0) return [];
    return [table("Followers of the feed", followerColumns, cursors.map(followerRow))];
  }
}

// What the archive holds and what is asked of it.

import {el, renew, table} from "./dom.js";
import {bytes, duration, grouped} from "./figures.js";

const orNone = (value) => (value === null ? "\u2013" : grouped(value));

const tableColumns = [{title: "table", text: true}, {title: "rows"}, {title: "also in memory"},
                      {title: "objects in memory"}, {title: "retired"}, {title: "handed over"},
                      {title: "keys", text: true}];
const familyColumns = [{title: "column family", text: true}, {title: "files"}, {title: "entries"},
                       {title: "content"}, {title: "on disk"}, {title: "filters"},
                       {title: "indexes"}, {title: "only in the log"}];
const timeColumns = [{title: "what", text: true}, {title: "count"}, {title: "p50"}, {title: "p99"},
                     {title: "p99.9"}, {title: "longest"}];

function tableRow(one) {
  return [one.name, orNone(one.rows), orNone(one.in_both), orNone(one.in_memory),
          orNone(one.retired), orNone(one.handed_over), one.keys.join(", ")];
}

function familyRow(one) {
  return [one.name, grouped(one.files), grouped(one.entries), bytes(one.content_bytes),
          bytes(one.file_bytes), bytes(one.filter_bytes), bytes(one.index_bytes),
          bytes(one.buffered_bytes)];
}

/** Whatever of the statistics has a count and percentiles, by its name there. */
function timesOf(statistics, prefix = "") {
  return Object.entries(statistics).flatMap(([name, value]) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
    const words = `${prefix}${name.replaceAll("_", " ")}`;
    if (typeof value.count === "number" && typeof value.p50_us === "number")
      return [[words, grouped(value.count),
               ...["p50_us", "p99_us", "p999_us", "longest_us"].map((part) =>
                 (value.count > 0 ? duration(value[part] * 1000) : "\u2013"))]];
    return timesOf(value, `${words}: `);
  });
}

export class ArchiveView {
  constructor(panel) {
    this.content = el("div", {class: "stack"});
    panel.append(el("h2", {}, "Archive"), this.content);
  }

  /** `found`: what api/archive says. */
  draw(found) {
    renew(this.content, ...(found.store === null ? this.#none(found) : this.#all(found)));
  }

  #none(found) {
    return [el("p", {}, "There is no archive."), el("p", {class: "note"}, found.refusal ?? "")];
  }

  #all(found) {
    const parts = [el("p", {}, `Store ${found.store}, `, grouped(found.rows), " rows, ",
      bytes(found.bytes.disk_bytes), ` on disk in ${grouped(found.bytes.files)} files: `,
      el("code", {}, found.folder))];
    if (!found.readable) parts.push(el("p", {class: "warning"}, found.refusal));
    for (const finding of found.findings) parts.push(el("p", {class: "warning"}, finding));
    if (found.tables.length > 0)
      parts.push(table("Tables", tableColumns, found.tables.map(tableRow)));
    if (found.statistics) {
      const times = timesOf(found.statistics);
      const who = found.statistics.running ? "the process that has it open" : "the last process";
      if (times.length > 0)
        parts.push(table(`What ${who} counted (process ${found.statistics.process})`, timeColumns,
          times));
    }
    if (found.rocksdb)
      parts.push(table("Column families", familyColumns, found.rocksdb.families.map(familyRow)));
    return parts;
  }
}

// What the state is doing now and did in the last time.

import {Chart} from "./charts.js";
import {el, setText} from "./dom.js";
import {bytes, bytesOrUnknown, duration, grouped, short, signed} from "./figures.js";
import {memorySeries} from "./palette.js";

const spans = [[60, "1 min"], [300, "5 min"], [900, "15 min"], [3600, "1 h"]];

const rate = (name) => (sample) => sample.rates?.[name] ?? null;
const perSecond = (number) => `${short(number)}/s`;

const charts = [
  {title: "Changes per second", format: short, series: [
    {label: "changes", color: "--blue", of: rate("changes")}]},
  {title: "Revisions per second", format: short, series: [
    {label: "revisions", color: "--aqua", of: rate("revisions")}]},
  {title: "Lock: writer and readers", format: short, isStepped: true, series: [
    {label: "writer holds it", color: "--blue",
     of: ({locks}) => (locks.writer_alive && locks.writer === "writing" ? 1 : 0)},
    {label: "reading", color: "--aqua", of: ({locks}) => locks.reading},
    {label: "readers waiting", color: "--red", of: ({locks}) => locks.waiting}]},
  {title: "Archive per second", format: short, series: [
    {label: "lookups", color: "--violet", of: rate("archive_finds")},
    {label: "rows written", color: "--orange", of: rate("archive_rows")}]},
  {title: "Disk: the writer's bytes per second", format: bytes, isBinary: true, series: [
    {label: "read", color: "--aqua", of: rate("disk_read_per_second")},
    {label: "written", color: "--orange", of: rate("disk_written_per_second")}]},
  {title: "Disk: the writer's faults per second", format: short, series: [
    {label: "accesses to pages that were not in memory", color: "--red",
     of: rate("major_faults_per_second")}]},
];

function writerText({locks}) {
  if (!locks.writer_alive) return ["none", "no writer"];
  const since = locks.writer === "idle" ? "" : `for ${duration(locks.writer_seconds * 1e9)}`;
  return [locks.writer, since || `process ${locks.writer_process}`];
}

const tiles = [
  ["Revision", ({revision}) => grouped(revision),
   (sample) => `irreversible ${grouped(sample.irreversible_revision)}`],
  ["To undo", ({sessions}) => grouped(sessions),
   (sample) => `log ${bytes(sample.log_bytes_in_use)} in use`],
  ["Changes", ({rates}) => (rates ? perSecond(rates.changes) : "\u2013"),
   (sample) => `${short(sample.changes)} ever`],
  ["Revisions", ({rates}) => (rates ? perSecond(rates.revisions) : "\u2013"),
   () => "blocks, in a node"],
  ["Memory", ({memory}) => bytes(memory.total), ({memory}) => `${bytes(memory.used)} in use`],
  ["In memory", ({memory}) => bytesOrUnknown(memory.resident),
   ({memory}) => `${bytesOrUnknown(memory.missing)} missing`],
  ["Dirty", ({memory}) => bytesOrUnknown(memory.dirty), () => "to be written to the disk"],
  ["Growth", ({used_per_minute: used}) => signed(used, bytes), () => "in use, per minute"],
  ["Writer", (sample) => writerText(sample)[0], (sample) => writerText(sample)[1]],
  ["Readers", ({locks}) => `${locks.reading} of ${locks.readers}`,
   ({locks}) => (locks.waiting > 0 ? `${locks.waiting} waiting` : "are reading")],
];

/** With a sample without figures in each gap of more seconds, so that no line spans it. */
function withGaps(samples, longest) {
  return samples.flatMap((sample, at) =>
    (at > 0 && sample.time - samples[at - 1].time > longest
      ? [{time: samples[at - 1].time + 1, error: "nobody looked"}, sample] : [sample]));
}

export class Overview {
  constructor(panel) {
    this.span = 300;
    this.memoryKey = "";
    this.tiles = tiles.map(([title]) => {
      const value = el("dd", {class: "value"});
      const note = el("dd", {class: "note"});
      return {value, note, element: el("div", {class: "tile"}, el("dt", {}, title), value, note)};
    });
    this.memory = new Chart({title: "Memory by type", format: bytes, series: [], isStacked: true,
                             isBinary: true});
    this.charts = charts.map((one) => new Chart(one));
    panel.append(
      el("h2", {class: "unseen"}, "Overview"),
      el("dl", {class: "tiles"}, ...this.tiles.map((tile) => tile.element)),
      this.#choice(),
      el("div", {class: "charts"}, this.memory.element, ...this.charts.map((one) => one.element)));
    this.memory.element.classList.add("wide");
  }

  #choice() {
    const buttons = spans.map(([seconds, label]) =>
      el("button", {type: "button", "aria-pressed": String(seconds === this.span), onclick: () => {
        this.span = seconds;
        for (const [index, button] of buttons.entries())
          button.setAttribute("aria-pressed", String(spans[index][0] === seconds));
        if (this.history) this.show(this.history);
      }}, label));
    return el("div", {class: "choice", role: "group", "aria-label": "Time that the charts show"},
      ...buttons);
  }

  show(history) {
    this.history = history;
    const now = history.lastGood;
    if (!now) return;
    for (const [index, [, value, note]] of tiles.entries()) {
      setText(this.tiles[index].value, value(now));
      setText(this.tiles[index].note, note(now));
    }
    this.#draw(history);
  }

  #draw(history) {
    const to = history.last.time;
    const samples = history.samples.filter((sample) => sample.time > to - this.span - 10);
    const memory = memorySeries(history.types);
    const key = memory.map((one) => one.label).join("\n");
    if (key !== this.memoryKey) {
      this.memoryKey = key;
      this.memory.setSeries(memory);
    }
    // As long as there is less than the span, the charts show what there is.
    const from = Math.max(to - this.span, Math.min(history.samples[0].time, to - 30));
    const draw = (chart, series, longestGap) => {
      const seen = withGaps(samples, longestGap);
      const column = (of) => seen.map((sample) => (sample.error === null ? of(sample) : null));
      chart.show(seen.map((sample) => sample.time), series.map((one) => column(one.of)), from, to);
    };
    // Samples are a second apart while somebody looks, ten seconds otherwise. A lock is seen at
    // one moment; the other figures say what was in between, too.
    draw(this.memory, memory, 15);
    for (const [index, {series, isStepped}] of charts.entries())
      draw(this.charts[index], series, isStepped ? 5 : 15);
  }
}

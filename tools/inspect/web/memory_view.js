// Where the bytes are: a picture, and the same as a table.

import {el, renew, svg, table} from "./dom.js";
import {bytes, bytesOrUnknown, grouped, percent} from "./figures.js";
import {areaColors} from "./palette.js";
import {squarified} from "./treemap.js";

const width = 1000;
const height = 460;
const titleHeight = 20;
const gap = 2;
const letter = 7.2; // the width of one, about

const occupied = (memory) => memory.total - memory.punched;
const used = (memory) => memory.header + memory.links + memory.values;

function leaf(name, memory) {
  return {name, memory, amount: occupied(memory)};
}

/** What takes memory: groups of leaves. */
function groupsOf(stat) {
  const colors = areaColors(stat.types.map(({name}) => name));
  const types = stat.types.map((type) => ({
    name: type.name,
    color: colors.get(type.name),
    parts: [leaf("objects", type.nodes), leaf("ids", type.ids), leaf("tables and btrees", type.tables)],
    memory: type.total,
    count: type.objects,
  }));
  const inUse = stat.buffers.filter(({memory}) => occupied(memory) > 0);
  const buffers = {
    name: "buffers", color: "--magenta", count: null,
    parts: inUse.map((one) => leaf(one.name.replace("buffers.", ""), one.memory)),
    memory: inUse.reduce((sum, {memory}) => {
      for (const part of ["header", "links", "values", "slack", "punched", "total", "files"])
        sum[part] = (sum[part] ?? 0) + memory[part];
      for (const part of ["resident", "dirty", "missing"]) // null: unknown, and so is the sum
        sum[part] = sum[part] === null || memory[part] === null ? null
          : (sum[part] ?? 0) + memory[part];
      return sum;
    }, {}),
  };
  const single = (name, memory) => ({
    name, color: "--orange", count: null, parts: [leaf("", memory)], memory});
  return [...types, ...(inUse.length > 0 ? [buffers] : []), single("undo log", stat.log.memory),
          single("header", stat.header.memory)]
    .map((group) => ({...group, amount: group.parts.reduce((sum, {amount}) => sum + amount, 0)}));
}

function fits(text, room) {
  return text.length * letter < room - 10 ? text : "";
}

function label(text, x, y, kind) {
  return svg("text", {x, y, class: kind}, text);
}

function describe(name, {amount, memory}) {
  return `${name}: ${bytes(amount)}, ${percent(used(memory), amount)} in use`;
}

/** A part: the whole of it pale, and as much of it strong as is in use. */
function drawLeaf({item, x, y, width: wide, height: high}, color) {
  const share = item.amount > 0 ? Math.min(1, used(item.memory) / item.amount) : 0;
  const inner = {x, y, width: Math.max(wide - gap, 0.5), height: Math.max(high - gap, 0.5)};
  const pale = svg("rect", {...inner, rx: 2, class: "pale"});
  const strong = svg("rect", {...inner, rx: 2, class: "strong", y: y + inner.height * (1 - share),
                              height: inner.height * share});
  pale.style.fill = `var(${color})`;
  strong.style.fill = `var(${color})`;
  return [pale, strong];
}

function drawGroup({item, x, y, width: wide, height: high}) {
  const words = describe(item.name, item);
  const hasTitle = high > 2 * titleHeight && wide > 40;
  const room = {x, y: y + (hasTitle ? titleHeight : 0), width: wide,
                height: high - (hasTitle ? titleHeight : 0)};
  const drawn = [svg("title", {}, words)];
  for (const part of squarified(item.parts, room)) {
    const named = `${item.name} ${part.item.name}`.trim();
    const tip = describe(named, part.item);
    const text = part.height > 18 ? fits(part.item.name, part.width) : "";
    drawn.push(svg("g", {}, svg("title", {}, tip), ...drawLeaf(part, item.color),
      ...(text ? [label(text, part.x + 6, part.y + 15, "part")] : [])));
  }
  if (hasTitle) {
    const long = fits(`${item.name}  ${bytes(item.amount)}`, wide);
    drawn.push(label(long || fits(item.name, wide), x + 2, y + 14, "group"));
  }
  return svg("g", {}, ...drawn);
}

function picture(groups) {
  const whole = groups.reduce((sum, {amount}) => sum + amount, 0);
  const drawn = squarified(groups, {x: 0, y: 0, width, height}).map(drawGroup);
  return svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", class: "treemap",
                     "aria-label": `Memory: ${bytes(whole)} in ${groups.length} parts; the table ` +
                                   "below says the same"}, ...drawn);
}

function row(name, color, count, memory) {
  const swatch = el("span", {class: "swatch", "aria-hidden": "true"});
  if (color) swatch.style.background = `var(${color})`;
  return [el("span", {class: "named"}, swatch, name), count === null ? "" : grouped(count),
          bytes(occupied(memory)), bytes(used(memory)), bytes(memory.slack), bytes(memory.punched),
          percent(used(memory), occupied(memory)), grouped(memory.files),
          bytesOrUnknown(memory.resident), bytesOrUnknown(memory.dirty),
          bytesOrUnknown(memory.missing)];
}

const columns = [{title: "what", text: true}, {title: "objects"}, {title: "occupied"},
                 {title: "in use"}, {title: "slack"}, {title: "punched"}, {title: "in use"},
                 {title: "bytes of files"}, {title: "in memory"}, {title: "dirty"},
                 {title: "missing"}];

export class MemoryView {
  constructor(panel) {
    this.content = el("div", {class: "stack"});
    panel.append(el("h2", {}, "Memory"),
      el("p", {class: "note"}, "An area is what the file system holds; the strong part of it is ",
         "in use (header, links, values), the pale part is slack: slots that are free or were ",
         "never used. Dirty: in memory, to be written to the disk. Missing: in files, to be read ",
         "from the disk, or from swap."),
      this.content);
  }

  /** `stat`: what api/stat says. */
  draw(stat) {
    const groups = groupsOf(stat).sort((one, other) => other.amount - one.amount);
    const rows = groups.map(({name, color, count, memory}) => row(name, color, count, memory));
    const objects = stat.types.reduce((sum, {objects: count}) => sum + count, 0);
    const exact = stat.consistent ? "Every sum holds."
      : stat.discrepancies.length > 0 ? `Not exact: ${stat.discrepancies.join("; ")}`
      : "Read in the middle of an operation.";
    renew(this.content, picture(groups),
      table("Memory by what takes it", columns, rows, row("total", null, objects, stat.total)),
      el("p", {class: "note"}, exact));
  }
}

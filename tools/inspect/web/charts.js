// Figures over time, drawn by uPlot on a canvas, with the latest values below in text.

import uPlot from "./uplot.js";
import {el, setText} from "./dom.js";
import {clock} from "./figures.js";

const height = 190;
const binarySteps = Array.from({length: 50}, (_, power) => 2 ** power);
const schemes = window.matchMedia("(prefers-color-scheme: dark)");

/** A colour of the style sheet: `--blue`. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function sums(columns) {
  const total = new Array(columns[0]?.length ?? 0).fill(0);
  return columns.map((column) => column.map((value, at) => {
    if (value === null) return null;
    total[at] += value;
    return total[at];
  }));
}

/**
 * One chart. `series`: {label, color: a name of the style sheet}; `format`: of a value;
 * `isStacked`: values add up, the first one at the bottom; `isBinary`: the scale is in powers of
 * two; `isStepped`: a value holds until the next one.
 */
export class Chart {
  constructor({title, format, series, isStacked = false, isBinary = false, isStepped = false}) {
    Object.assign(this, {title, format, series, isStacked, isBinary, isStepped});
    this.plot = null;
    this.data = null;
    this.place = el("div", {class: "plot", role: "img"});
    this.legend = el("ul", {class: "legend"});
    this.element = el("figure", {class: "chart"},
      el("figcaption", {}, title), this.place, this.legend);
    this.#describe();
    new ResizeObserver(() => this.#resize()).observe(this.place);
    schemes.addEventListener("change", () => this.#rebuild());
  }

  /** Other series from now on. */
  setSeries(series) {
    this.series = series;
    this.data = null;
    this.#describe();
    this.#rebuild();
  }

  /** `times`: Unix seconds; `columns`: a list of values or nulls for each of the series. */
  show(times, columns, from, to) {
    this.times = times;
    this.columns = columns;
    this.range = [from, to];
    const drawn = this.isStacked ? sums(columns) : columns;
    // What is on top is drawn first, so that the lower ones stay visible.
    this.data = [times, ...(this.isStacked ? [...drawn].reverse() : drawn)];
    if (!this.plot) this.#build();
    else this.plot.setData(this.data);
    this.#tell(times.length - 1);
  }

  #describe() {
    this.values = this.series.map(() => el("span", {class: "value"}));
    this.legend.replaceChildren(...this.series.map((one, index) => {
      const swatch = el("span", {class: "swatch", "aria-hidden": "true"});
      swatch.style.background = `var(${one.color})`;
      return el("li", {}, swatch, `${one.label} `, this.values[index]);
    }));
  }

  #tell(at) {
    const words = this.series.map((one, index) => {
      const value = this.columns[index][at] ?? null;
      setText(this.values[index], value === null ? "\u2013" : this.format(value));
      return `${one.label} ${this.values[index].textContent}`;
    });
    const when = this.times.length > 0 ? ` at ${clock(this.times[at] ?? 0)}` : "";
    this.place.setAttribute("aria-label", `${this.title}${when}: ${words.join(", ")}`);
  }

  #options() {
    const grid = {stroke: color("--grid"), width: 1};
    const axis = {stroke: color("--muted"), grid, ticks: {show: false},
                  font: "11px system-ui, sans-serif"};
    const order = this.isStacked ? [...this.series].reverse() : this.series;
    return {
      width: Math.max(this.place.clientWidth, 100),
      height,
      legend: {show: false},
      cursor: {y: false, drag: {x: false, y: false}, points: {size: 6}},
      scales: {
        x: {range: () => this.range},
        y: {range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.08 : 1]},
      },
      axes: [
        {...axis, values: (_, ticks) => ticks.map(clock), space: 90, size: 26, grid: {show: false}},
        {...axis, size: 66, space: 34, values: (_, ticks) => ticks.map(this.format),
         ...(this.isBinary ? {incrs: binarySteps} : {})},
      ],
      series: [{}, ...order.map((one) => ({
        label: one.label,
        stroke: color(this.isStacked ? "--card" : one.color),
        width: this.isStacked ? 1 : 2,
        fill: this.isStacked ? color(one.color) : undefined,
        paths: this.isStepped ? uPlot.paths.stepped({align: 1}) : undefined,
        points: {show: false},
      }))],
      hooks: {
        setCursor: [(plot) => this.#tell(plot.cursor.idx ?? this.times.length - 1)],
      },
    };
  }

  #build() {
    if (!this.data || this.place.clientWidth === 0) return; // not seen yet
    this.plot = new uPlot(this.#options(), this.data, this.place);
  }

  #rebuild() {
    this.plot?.destroy();
    this.plot = null;
    this.#build();
  }

  #resize() {
    if (this.place.clientWidth === 0) return;
    if (!this.plot) this.#build();
    else this.plot.setSize({width: this.place.clientWidth, height});
  }
}

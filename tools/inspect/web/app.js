// The page: one history that every view draws from, and views that ask for more while they are
// seen.

import {ArchiveView} from "./archive_view.js";
import {History, Trouble, ask} from "./connection.js";
import {setText} from "./dom.js";
import {clock} from "./figures.js";
import {LocksView} from "./locks_view.js";
import {MemoryView} from "./memory_view.js";
import {Overview} from "./overview.js";
import {chooseColors} from "./palette.js";
import {RowsView} from "./rows_view.js";
import {Tabs} from "./tabs.js";
import {TypesView} from "./types_view.js";

const panel = (id) => document.getElementById(id);

const history = new History(tell);
let lastRefresh = {name: "", when: 0};
let isRefreshing = false;

const overview = new Overview(panel("overview"));
const rows = new RowsView(panel("rows"), () => {
  const objects = history.lastGood?.objects ?? [];
  return history.types[objects.indexOf(Math.max(...objects))];
});
const types = new TypesView(panel("types"), (type) => {
  rows.choose(type);
  tabs.go("rows");
});
/** Who follows the state. A cursor that is damaged does not hide who has it open. */
async function askFollowers() {
  try {
    return await ask("api/feed");
  } catch (problem) {
    if (!(problem instanceof Trouble) || problem.isServerGone) throw problem;
    return {trouble: problem.message};
  }
}

/** What is asked for while it is seen, how often, in milliseconds, and who draws it. */
const views = {
  memory: {ask: () => ask("api/stat"), pause: 2000, view: new MemoryView(panel("memory"))},
  types: {ask: async () => ({...await ask("api/schema"), stat: await ask("api/stat")}), pause: 2000,
          view: types},
  rows: {ask: () => ask("api/schema"), pause: 10000, view: rows},
  locks: {ask: async () => ({...await ask("api/locks"), feed: await askFollowers()}), pause: 1000,
          view: new LocksView(panel("locks"))},
  archive: {ask: () => ask("api/archive"), pause: 5000, view: new ArchiveView(panel("archive"))},
};

const conditions = {
  closed: ["closed", () => "closed properly"],
  writer_running: ["running", (sample) => `running: process ${sample.writer}`],
  writer_died: ["died", () => "the writer died"],
};

function tellCondition() {
  const place = panel("condition");
  const last = history.last;
  const [kind, words] = history.trouble?.isServerGone ? ["gone", () => "no server"]
    : !last ? ["gone", () => "connecting"]
    : last.error !== null ? ["unreadable", () => "not readable"]
    : conditions[last.condition];
  place.className = `condition ${kind}`;
  setText(place, words(last));
  setText(panel("state"), history.state);
  const name = history.state.split("/").findLast((part) => part !== "") ?? "";
  document.title = name ? `${name}: ${words(last)}` : "chainbase";
}

function tellTrouble() {
  const place = panel("trouble");
  const {trouble, last} = history;
  const of = clock(last?.time ?? history.troubleSince ?? 0);
  const words = trouble ? `${trouble.message} What is shown is of ${of}; asking again.`
    : last && last.error !== null ? `The state cannot be read: ${last.error}` : "";
  place.hidden = words === "";
  setText(place, words);
  document.body.classList.toggle("stale", words !== "");
}

/** Asks for what the seen view shows, when it is time. */
async function refresh(name) {
  const chosen = views[name];
  const isDue = name !== lastRefresh.name || Date.now() >= lastRefresh.when + (chosen?.pause ?? 0);
  if (!chosen || isRefreshing || !isDue || history.trouble) return;
  isRefreshing = true;
  lastRefresh = {name, when: Date.now()};
  try {
    const found = await chosen.ask();
    const text = JSON.stringify(found);
    if (text !== chosen.drawn) chosen.view.draw(found); // or who marks text there would lose it
    chosen.drawn = text;
  } catch (problem) {
    if (!(problem instanceof Trouble)) throw problem; // the history says so, too
  } finally {
    isRefreshing = false;
  }
}

const tabs = new Tabs(panel("tabs"), (name) => {
  lastRefresh.name = "";
  if (history.last) refresh(name);
});

function tell() {
  chooseColors(history);
  tellCondition();
  tellTrouble();
  if (tabs.current === "overview") overview.show(history);
  else refresh(tabs.current);
}

history.start();

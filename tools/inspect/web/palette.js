// Which colour a type has. The largest ones have one of their own, which they keep, the same in
// every view.

const colors = ["--blue", "--aqua", "--yellow", "--violet", "--red", "--green"];
const more = ["--teal", "--brown", "--rose", "--olive", "--indigo", "--slate"];
const chosen = new Map();

/** Chooses, once for each type of some size, by the memory that they have. */
export function chooseColors({types, lastGood}) {
  if (!lastGood) return;
  const {memory} = lastGood;
  const free = colors.filter((color) => ![...chosen.values()].includes(color));
  const largest = types.map((name, index) => ({name, bytes: memory.types[index] ?? 0}))
    .filter(({name, bytes}) => !chosen.has(name) && bytes >= memory.total / 100)
    .sort((one, other) => other.bytes - one.bytes);
  for (const {name} of largest.slice(0, free.length)) chosen.set(name, free.shift());
}

/** The colour of a type in a chart, as its name in the style sheet. */
function colorOf(type) {
  return chosen.get(type) ?? "--other";
}

/** The same where each type has an area: those without a colour of their own share a few. */
export function areaColors(types) {
  const left = types.filter((type) => !chosen.has(type));
  return new Map(types.map((type) =>
    [type, chosen.get(type) ?? more[left.indexOf(type) % more.length]]));
}

/** What a chart of the memory shows: {label, color, of(sample)}, the first at the bottom. */
export function memorySeries(types) {
  const named = types.map((name, index) => ({label: name, color: colorOf(name), index}))
    .filter(({color}) => color !== "--other")
    .sort((one, other) => colors.indexOf(one.color) - colors.indexOf(other.color))
    .map(({label, color, index}) => ({label, color, of: ({memory}) => memory.types[index] ?? 0}));
  const others = types.flatMap((name, index) => (colorOf(name) === "--other" ? [index] : []));
  if (others.length > 0)
    named.push({label: `${others.length} other types`, color: "--other",
                of: ({memory}) => others.reduce((sum, at) => sum + (memory.types[at] ?? 0), 0)});
  return [...named,
    {label: "buffers", color: "--magenta", of: ({memory}) => memory.buffers},
    {label: "log and header", color: "--orange", of: ({memory}) => memory.log + memory.header}];
}

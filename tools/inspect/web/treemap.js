// Rectangles whose areas are amounts, as square as can be (Bruls, Huizing, van Wijk: Squarified
// Treemaps).

/** The worst ratio of sides that a row of these areas has along a side of this length. */
function worst(areas, sum, side) {
  const square = side * side;
  return Math.max((square * areas[0]) / (sum * sum),
                  (sum * sum) / (square * areas[areas.length - 1]));
}

/** Places a row along the shorter side; returns what is left of the rectangle. */
function place(row, sum, {x, y, width, height}, placed) {
  const isUpright = width >= height;
  const depth = sum / (isUpright ? height : width);
  let at = isUpright ? y : x;
  for (const {item, area} of row) {
    const length = area / depth;
    placed.push(isUpright ? {item, x, y: at, width: depth, height: length}
                          : {item, x: at, y, width: length, height: depth});
    at += length;
  }
  return isUpright ? {x: x + depth, y, width: width - depth, height}
                   : {x, y: y + depth, width, height: height - depth};
}

/** `items`: with an `amount` each; returns {item, x, y, width, height}, those of none left out. */
export function squarified(items, room) {
  const sum = items.reduce((all, {amount}) => all + amount, 0);
  const scale = (room.width * room.height) / sum;
  const waiting = items.filter(({amount}) => amount > 0)
    .sort((one, other) => other.amount - one.amount)
    .map((item) => ({item, area: item.amount * scale}));
  const placed = [];
  let left = room;
  while (waiting.length > 0) {
    const side = Math.min(left.width, left.height);
    const row = [waiting.shift()];
    let filled = row[0].area;
    while (waiting.length > 0) {
      const areas = row.map(({area}) => area);
      const next = waiting[0].area;
      if (worst([...areas, next], filled + next, side) > worst(areas, filled, side)) break;
      filled += next;
      row.push(waiting.shift());
    }
    left = place(row, filled, left, placed);
  }
  return placed;
}

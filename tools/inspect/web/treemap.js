// Rectangles whose areas are amounts, as square as can be: M. Bruls, K. Huizing, J. J. van Wijk,
// "Squarified Treemaps", Proceedings of the Joint Eurographics and IEEE TCVG Symposium on
// Visualization, 2000. The page of `tree --html` has it, too, as a script without imports.

/** The worst ratio of sides in a row along a side of this length. */
function worst(largest, smallest, sum, side) {
  const square = side * side;
  return Math.max((square * largest) / (sum * sum), (sum * sum) / (square * smallest));
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
  const sorted = items.filter(({amount}) => amount > 0)
    .sort((one, other) => other.amount - one.amount)
    .map((item) => ({item, area: item.amount * scale}));
  const placed = [];
  let left = room;
  for (let first = 0; first < sorted.length;) {
    const side = Math.min(left.width, left.height);
    const largest = sorted[first].area;
    let filled = largest;
    let end = first + 1;
    while (end < sorted.length) {
      const next = sorted[end].area;
      if (worst(largest, next, filled + next, side) >
          worst(largest, sorted[end - 1].area, filled, side)) break;
      filled += next;
      ++end;
    }
    left = place(sorted.slice(first, end), filled, left, placed);
    first = end;
  }
  return placed;
}

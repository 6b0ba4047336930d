// Numbers for people.

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

/** 1,234,567 */
export function grouped(number) {
  return Math.round(number).toLocaleString("en-US");
}

/** 117.9 MiB */
export function bytes(number) {
  let size = Math.abs(number);
  let unit = 0;
  while (size >= 1024 && unit + 1 < units.length) {
    size /= 1024;
    ++unit;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${number < 0 ? "\u2212" : ""}${size.toFixed(digits)} ${units[unit]}`;
}

/** The same; null is what the kernel does not tell. */
export function bytesOrUnknown(number) {
  return number === null ? "unknown" : bytes(number);
}

/** 1.27 M, 950 k, 12.3, 0.25 */
export function short(number) {
  const size = Math.abs(number);
  if (size >= 1e6) return `${(number / 1e6).toFixed(2)} M`;
  if (size >= 1e4) return `${(number / 1e3).toFixed(0)} k`;
  if (size >= 100 || Number.isInteger(number)) return grouped(number);
  return number.toFixed(size < 1 ? 2 : 1);
}

/** What changes, with its sign. */
export function signed(number, format) {
  return number > 0 ? `+${format(number)}` : format(number);
}

/** 950 ns, 12.5 µs, 1.20 ms, 2.5 s */
export function duration(nanoseconds) {
  if (nanoseconds < 1e3) return `${Math.round(nanoseconds)} ns`;
  if (nanoseconds < 1e6) return `${(nanoseconds / 1e3).toFixed(1)} \u00b5s`;
  if (nanoseconds < 1e9) return `${(nanoseconds / 1e6).toFixed(2)} ms`;
  return `${(nanoseconds / 1e9).toFixed(1)} s`;
}

/** 14:03:09 */
export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/** 71.3 % */
export function percent(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "\u2013";
}

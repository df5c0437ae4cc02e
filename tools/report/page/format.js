// Numbers as people read them, with their units.

function formatNumber(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(1);
  const decimals = Math.abs(value) >= 1000 ? 0 : digits;
  return value.toLocaleString("en", {maximumFractionDigits: decimals});
}

function formatRatio(value) {
  return value === null || !Number.isFinite(value) ? "–" : value.toFixed(3);
}

function formatCount(value) {
  return value === null ? "–" : Math.round(value).toLocaleString("en");
}

function formatPercent(value) {
  return value === null || !Number.isFinite(value) ? "–" : `${(100 * value).toFixed(value !== 0 && Math.abs(value) < 0.0995 ? 1 : 0)}%`;
}

// Three significant digits in the largest unit that is at most the value.
function inUnits(value, units) {
  const [size, unit] = units.find(([least]) => Math.abs(value) >= least) ?? units.at(-1);
  const number = value / size;
  const decimals = number === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number))));
  return `${number.toLocaleString("en", {maximumFractionDigits: Math.min(decimals, 3)})}\u00a0${unit}`;  // Unit and number stay on one line.
}

function formatMicros(us) {
  return us === null ? "–" : inUnits(us, [[1e6, "s"], [1e3, "ms"], [1, "µs"]]);
}

// A point in time, to the microsecond however late it is: what starts when is told apart by little.
function formatInstant(us) {
  return us >= 1e3 ? `${(us / 1e3).toLocaleString("en", {maximumFractionDigits: 3})}\u00a0ms` : formatMicros(us);
}

function formatBytes(bytes) {
  return bytes === null ? "–" : inUnits(bytes, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
}

function formatSeconds(seconds) {
  if (seconds === null) return "–";
  if (seconds < 120) return `${formatNumber(seconds, seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${formatNumber(seconds / 3600, 1)} h`;
}

function plural(count, one, many = `${one}s`) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

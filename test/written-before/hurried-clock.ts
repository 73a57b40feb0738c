/**
 * Preloaded (`node --import`) into the old program while the fixtures are made: its wall clock is moved by
 * CLOCK_OFFSET_MS, so that an account has a past, and the sweeper that looks every ten minutes looks twice a second.
 */
const offsetMs = Number(process.env.CLOCK_OFFSET_MS ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + offsetMs;

const SWEEP_MS = 600_000;
const start = globalThis.setInterval;
globalThis.setInterval = ((callback: () => void, ms: number) =>
  start(callback, ms === SWEEP_MS ? 500 : ms)) as typeof setInterval;

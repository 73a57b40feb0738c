import { readFileSync } from 'node:fs';

/**
 * Loaded before a gateway (`node --import`): its wall clock goes by so many milliseconds more than the machine's as the
 * file named by MOVED_CLOCK_FILE says, from one moment to the next. Monotonic clocks and timers are left alone.
 */
const file = process.env.MOVED_CLOCK_FILE ?? '';
const LOOK_MS = 20;
const MachineDate = Date;
let shiftMs = shiftIn();

setInterval(() => {
  shiftMs = shiftIn();
}, LOOK_MS).unref();

globalThis.Date = class extends MachineDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(MachineDate.now() + shiftMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return MachineDate.now() + shiftMs;
  }
} as DateConstructor;

/** A file that is being written has nothing in it for a moment. */
function shiftIn(): number {
  const text = readFileSync(file, 'utf8');
  return text === '' ? (shiftMs ?? 0) : Number(text);
}

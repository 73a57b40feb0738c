import { MODELS } from '../fast-upstream/answers.ts';

const BYTES = 32 * 1024 * 1024;
const REQUEST = `{"model":"${MODELS.json}","max_tokens":1,`;
const USER = `${REQUEST}"messages":[{"role":"user","content":`;

const filled = (start: string, unit: string, end: string, times = Number.POSITIVE_INFINITY): string =>
  start + unit.repeat(Math.min(times, Math.floor((BYTES - start.length - end.length) / unit.length))) + end;

/** As long as a body may be, each of what takes a part of the gateway longest. */
export const HOSTILE_BODIES = {
  'one long text': () => filled(`${USER}"`, 'word ', '"}]}'),
  'as many blocks as fit': () =>
    filled(`${USER}[{"type":"text","text":""}`, `,{"type":"text","text":"${'x'.repeat(480)}"}`, ']}]}', 60_000),
  'escapes and white space': () =>
    filled(`${USER}"${'\\"'.repeat(8 * 1024 * 1024)}"},`, ' ', '{"role":"user","content":""}]}'),
  'millions of wrong elements': () => filled(`${REQUEST}"messages":[0`, ',1', ']}'),
  'as many wrong elements as are looked at': () => filled(`${REQUEST}"messages":[0`, ',{}', ']}', 99_000),
  'brackets without an end': () => '['.repeat(BYTES),
} as const satisfies Record<string, () => string>;

export type HostileBody = keyof typeof HOSTILE_BODIES;
export const HOSTILE_NAMES = Object.keys(HOSTILE_BODIES) as HostileBody[];

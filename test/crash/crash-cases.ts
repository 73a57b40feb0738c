import { REQUEST_CASES, type RequestCase } from './request-cases.ts';

/** What is done to a gateway's world beside its requests; each is a run of its own. */
const SCENES = ['copied-folder', 'moved-clock', 'rolled-back', 'full-disk', 'few-descriptors'] as const;
export type SceneName = (typeof SCENES)[number];

/** Everything that `--cases` can name. `meanwhile`: operators grant credits that end and move limits beside the load. */
const CRASH_CASES = [...REQUEST_CASES, 'meanwhile', ...SCENES] as const;
export type CrashCase = (typeof CRASH_CASES)[number];

/** Reads `all`, `none`, or names with commas between them. @throws RangeError where a name is none of the cases */
export function casesFrom(text: string): readonly CrashCase[] {
  if (text === 'all') return CRASH_CASES;
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const found = CRASH_CASES.find((one) => one === name);
    if (found === undefined) throw new RangeError(`--cases: expected all, none or some of ${CRASH_CASES.join(',')}`);
    return found;
  });
}

export const requestCases = (cases: readonly CrashCase[]): RequestCase[] =>
  REQUEST_CASES.filter((one) => cases.includes(one));

export const scenesOf = (cases: readonly CrashCase[]): SceneName[] => SCENES.filter((one) => cases.includes(one));

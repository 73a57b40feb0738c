import type { z } from 'zod';
import { nearSetting } from './near-setting.ts';

type Issue = z.core.$ZodIssue;

/** A fault of an input: where it is ("messages.0.role") and what would be right. The path is empty for the whole input. */
interface FieldFault {
  readonly path: string;
  readonly problem: string;
}

/**
 * The faults that zod found, the deepest branch of each union, as paths and sentences; never the input's own values.
 *
 * @param settings of a file that people write: what a setting that there is not was meant for is looked for there
 */
export function fieldFaults(error: z.ZodError, settings: z.ZodType | null = null): readonly FieldFault[] {
  return error.issues.map((issue) => faultOf(issue, [], settings));
}

/** "messages.0.role: expected one of "user", "assistant"". */
export const describeFault = ({ path, problem }: FieldFault): string => (path === '' ? problem : `${path}: ${problem}`);

function faultOf(issue: Issue, above: readonly PropertyKey[], settings: z.ZodType | null): FieldFault {
  const path = [...above, ...issue.path];
  const deeper = issue.code === 'invalid_union' ? deepestBranch(issue.errors) : null;
  if (deeper !== null) return faultOf(deeper, path, settings);
  const place = path.map(String);
  const meant = (key: string): string | null => (settings === null ? null : nearSetting(settings, place, key));
  return { path: place.join('.'), problem: problemOf(issue, meant) };
}

/** The branch of a union that the input came closest to: the one whose first fault lies inside the value, not at it. */
function deepestBranch(branches: readonly (readonly Issue[])[]): Issue | null {
  let deepest: Issue | null = null;
  for (const [first] of branches)
    if (first !== undefined && first.path.length > (deepest?.path.length ?? 0)) deepest = first;
  return deepest;
}

/**
 * What would be right, in words. Needs the issue's input (`reportInput: true`) to tell a missing field from a wrong one.
 *
 * @param meant the path of the setting that a name which there is not was meant for; null where there is none
 */
export function problemOf(issue: Issue, meant: (key: string) => string | null = () => null): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `required, expected ${article(issue.expected)}`
        : `expected ${article(issue.expected)}`;
    case 'invalid_value':
      return `expected ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
    case 'unrecognized_keys':
      return `has no setting named ${issue.keys.map((key) => named(key, meant(key))).join(', ')}`;
    default:
      return issue.message;
  }
}

/** What stands behind a name without a blank (`apiKeyEnv:sk-…`, `admin:…@host`) may be a secret. */
const named = (key: string, meant: string | null): string =>
  `${JSON.stringify(key.replace(/:.+/s, ':…'))}${meant === null ? '' : ` (is ${meant} meant?)`}`;

function article(expected: string): string {
  if (expected === 'int') return 'a whole number';
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

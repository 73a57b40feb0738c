import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** A fault of an input: where it is ("messages.0.role") and what would be right. The path is empty for the whole input. */
interface FieldFault {
  readonly path: string;
  readonly problem: string;
}

/** The faults that zod found, the deepest branch of each union, as paths and sentences; never the input's own values. */
export function fieldFaults(error: z.ZodError): readonly FieldFault[] {
  return error.issues.map((issue) => faultOf(issue, []));
}

/** "messages.0.role: expected one of "user", "assistant"". */
export const describeFault = ({ path, problem }: FieldFault): string => (path === '' ? problem : `${path}: ${problem}`);

function faultOf(issue: Issue, above: readonly PropertyKey[]): FieldFault {
  const path = [...above, ...issue.path];
  const deeper = issue.code === 'invalid_union' ? deepestBranch(issue.errors) : null;
  if (deeper !== null) return faultOf(deeper, path);
  return { path: path.map(String).join('.'), problem: problemOf(issue) };
}

/** The branch of a union that the input came closest to: the one whose first fault lies inside the value, not at it. */
function deepestBranch(branches: readonly (readonly Issue[])[]): Issue | null {
  let deepest: Issue | null = null;
  for (const [first] of branches)
    if (first !== undefined && first.path.length > (deepest?.path.length ?? 0)) deepest = first;
  return deepest;
}

/** What would be right, in words. Needs the issue's input (`reportInput: true`) to tell a missing field from a wrong one. */
export function problemOf(issue: Issue): string {
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
      return `has no setting named ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`;
    default:
      return issue.message;
  }
}

function article(expected: string): string {
  if (expected === 'int') return 'a whole number';
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

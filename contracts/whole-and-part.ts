import type { z } from 'zod';

interface PartOfOne {
  /** Where the part is not said: no more than this, */
  readonly usual: number;
  /** no more than this share of the whole (a quarter), */
  readonly share?: number;
  /** and no less than this, which fits every whole. */
  readonly least: number;
}

type Stated<W extends string, P extends string> = { readonly [K in W]: number } & {
  readonly [K in P]?: number | undefined;
};

const QUARTER = 1 / 4;

/**
 * For a schema's `transform`, with the settings of a whole and of what one of many may have of it: the part follows the
 * whole where it is not said, so that who lowers the whole lowers both; one that is said and is more than the whole is a
 * fault, told by its name.
 */
export function withPart<W extends string, P extends string>(whole: W, part: P, one: PartOfOne) {
  const { usual, share = QUARTER, least } = one;
  return <T extends Stated<W, P>>(said: T, context: z.RefinementCtx): Omit<T, P> & { [K in P]: number } => {
    const all: number = said[whole];
    const own: number | undefined = said[part];
    if (own !== undefined && own > all)
      context.addIssue({ code: 'custom', path: [part], message: `is more than ${whole}, which is ${all}` });
    const derived = Math.min(usual, Math.max(least, Math.ceil(all * share)));
    return { ...said, [part]: own ?? derived } as Omit<T, P> & { [K in P]: number };
  };
}

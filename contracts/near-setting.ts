import { z } from 'zod';
import { nearName } from './near-name.ts';

/** In a path: a name that whoever writes the file has chosen, or a place in a list. */
const ANY = '*';

/**
 * The setting that was meant by one that there is not: those there whose names say more (a secret's `…Env` and `…File`); else one of
 * that name in another place, the nearest to where it stands; else one there whose name is nearly that. As its path ("listen.port",
 * or "a.keyEnv or a.keyFile"); null where there is none.
 */
export function nearSetting(schema: z.ZodType, place: readonly string[], name: string): string | null {
  const paths = settingsIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), []);
  const shared = (path: readonly string[]): number => {
    const at = path.findIndex((part, index) => !isPart(part, place[index]));
    return at < 0 ? path.length : at;
  };
  const nearest = paths.toSorted((one, other) => shared(other) - shared(one) || one.length - other.length);
  const beside = nearest.filter((path) => path.length === place.length + 1 && shared(path) === place.length);
  // Of another kind of the same section.
  if (beside.some((path) => path.at(-1) === name)) return null;
  const names = beside.flatMap((path) => path.at(-1) ?? []);
  const fuller = names.filter((one) => one.startsWith(name) && /^[A-Z]/.test(one.slice(name.length)));
  if (fuller.length > 0) return [...new Set(fuller)].map((one) => [...place, one].join('.')).join(' or ');
  const slip = nearName(name, names);
  const found = nearest.find((path) => path.at(-1) === name) ?? beside.find((path) => path.at(-1) === slip);
  return (
    found?.map((part, at) => (part === ANY ? (isPart(part, place[at]) ? place[at] : 'NAME') : part)).join('.') ?? null
  );
}

const isPart = (part: string, there: string | undefined): boolean =>
  there !== undefined && (part === there || part === ANY);

/** Every setting, with those inside it behind it. */
function settingsIn(schema: z.core.JSONSchema._JSONSchema, above: readonly string[]): string[][] {
  if (typeof schema === 'boolean') return [];
  const { properties = {}, additionalProperties, items, anyOf = [], oneOf = [] } = schema;
  const inner = Array.isArray(items) ? items : [items, additionalProperties];
  return [
    ...Object.entries(properties).flatMap(([name, of]) => [[...above, name], ...settingsIn(of, [...above, name])]),
    ...inner.flatMap((of) => (of === undefined ? [] : settingsIn(of, [...above, ANY]))),
    ...[...anyOf, ...oneOf].flatMap((of) => settingsIn(of, above)),
  ];
}

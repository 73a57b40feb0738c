import { expect, it } from 'vitest';
import { SOURCES } from '../../source-files.ts';

const PLAIN = [...SOURCES].filter(([file]) => /^test\/ledger\/model\/plain-[^/]+$/.test(file));

/** What is imported there as code, in whatever form, but from one another. */
const codeFrom = (text: string): string[] =>
  [
    ...text
      .replaceAll(/^import type [^'";]+ from '[^'\n]+';$/gm, '')
      .matchAll(/\b(?:from|import|require)\s*\(?\s*['"`]([^'"`\n]*)['"`]/g),
  ]
    .map(([, path = '']) => path)
    .filter((path) => !/^\.\/plain-[\w-]+\.ts$/.test(path));

it('the plain account shares types alone with the ledger, and code with nobody', () => {
  expect(PLAIN.length).toBeGreaterThan(9);
  expect(PLAIN.filter(([, text]) => codeFrom(text).length > 0).map(([file]) => file)).toEqual([]);
});

it.each([
  "import { decide } from '../../../ledger/account/decide.ts';",
  "import { type OpenAccount } from '../../../ledger/account/account-state.ts';",
  "import {\n  type AccountEvent,\n  EVENT_SCHEMAS,\n} from '../../../contracts/events.ts';",
  "export { evolve } from '../../../ledger/account/evolve.ts';",
  "import '../../../ledger/account/evolve.ts';",
  "const { evolve } = await import('../../../ledger/account/evolve.ts');",
  "import { compared } from './compare.ts';",
  "import fc from 'fast-check';",
])('code is found in %j', (text) => {
  expect(codeFrom(`import type { A } from '../../../ledger/a.ts';\n${text}\n`)).toHaveLength(1);
});

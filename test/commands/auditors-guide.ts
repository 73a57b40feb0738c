import { READMES } from '../source-files.ts';

/** The blocks of the auditor's guide, in their order: later ones have what earlier ones have written. */
export const BLOCKS = [...(READMES.get('ledger/README.md') ?? '').matchAll(/^```sh auditor\n([\s\S]*?)^```$/gm)].map(
  ([, block = '']) => block,
);

/** What a block hands to DuckDB. */
export const SQL = /(?<=<<'SQL'\n)[\s\S]*?(?=^SQL$)/gm;

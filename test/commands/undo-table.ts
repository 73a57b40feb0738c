import { READMES } from '../source-files.ts';

/** ledger/README.md, "What undoes what": beside all commands that there are. */
export const UNDO_TEXT = /## What undoes what\n([\s\S]*?)\n## /.exec(READMES.get('ledger/README.md') ?? '')?.[1] ?? '';
const ROW = /^\| `gateway ([a-z -]+)` \| (.*) \| (.*) \|$/gm;
const COMMAND = /`gateway ([a-z]+(?: [a-z-]+)?)`/g;

export const UNDO_TABLE = [...UNDO_TEXT.matchAll(ROW)].map(([, command = '', writes = '', undoneBy = '']) => ({
  ...{ command, writes, undoneBy: [...undoneBy.matchAll(COMMAND)].map(([, name = '']) => name) },
}));

const kept = UNDO_TEXT.slice(UNDO_TEXT.indexOf('These say how the ledger is kept'));
/** The commands that say how the ledger is kept, and move nothing of an account. */
export const OF_LEDGER = [...kept.matchAll(COMMAND)].map(([, name = '']) => name);

import { readFileSync } from 'node:fs';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { foldedTexts } from './fold-texts.ts';

/** A process of its own: `node fold-elsewhere.ts LIVES` prints what each of them folds to, one a line. */
const lives = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as RecordedEvent[][];
for (const life of lives) process.stdout.write(`${foldedTexts(life)}\n`);

import { closeSync } from 'node:fs';
import { upcastInThread } from '../../projections/in-views-thread.ts';
import { takeDescriptors } from '../fixtures/processes/take-descriptors.ts';

/** What becomes of views of an earlier version in a process that has no descriptor left. Prints it as JSON. */
const [from = '', to = ''] = process.argv.slice(2);
const taken = takeDescriptors();
const made = await upcastInThread({ from, to, keepFreeBytes: 0 }, new AbortController().signal);
for (const fd of taken) closeSync(fd);
console.log(JSON.stringify(made));

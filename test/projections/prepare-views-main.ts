import { takePreparedViews } from '../../projections/prepared-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';

/** What the start of a gateway does with views of an earlier version, as a process of its own that can be killed in between. */
const tell = (reason: string): void => void process.stderr.write(`${reason}\n`);
const files = viewFilesOf(process.argv[2] ?? '');
await takePreparedViews({ files, keepFreeBytes: 0, onUnmade: tell, onUnkept: tell }, new AbortController().signal);

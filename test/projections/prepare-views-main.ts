import { takePreparedViews } from '../../projections/prepared-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';

/** What the start of a gateway does with views of an earlier version, as a process of its own that can be killed in between. */
takePreparedViews(viewFilesOf(process.argv[2] ?? ''), (reason) => process.stderr.write(`${reason}\n`));

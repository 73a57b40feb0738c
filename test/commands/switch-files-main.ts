import { switchFiles } from '../../projections/switched-file.ts';
import { viewFilesOf } from '../../projections/view-files.ts';

/** Switches the views of a data folder, as a process of its own that can be killed in between. */
const [data = '', to] = process.argv.slice(2);
const files = viewFilesOf(data);
switchFiles(files, to === 'previous' ? files.previous : files.rebuild);

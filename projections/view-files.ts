import { join } from 'node:path';
import { VIEWS_FILE } from './known-views.ts';

/** Where a data folder has views. */
export interface ViewFiles {
  /** Those that a gateway serves from. */
  readonly live: string;
  /** A folder of views that are made anew beside them, and the lock of whoever makes them. */
  readonly rebuildFolder: string;
  readonly rebuild: string;
  /** What is being made of live ones of an earlier version. */
  readonly upcast: string;
  /** Those that were live before the last switch. */
  readonly previous: string;
}

export function viewFilesOf(dataFolder: string): ViewFiles {
  const rebuildFolder = join(dataFolder, 'rebuild');
  return {
    live: join(dataFolder, VIEWS_FILE),
    rebuildFolder,
    rebuild: join(rebuildFolder, VIEWS_FILE),
    upcast: join(rebuildFolder, 'upcast.db'),
    previous: join(dataFolder, 'views.previous.db'),
  };
}

import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assertInNoBackup } from '../../../ledger/in-no-backup.ts';
import { roomKeptBytes } from '../../../ledger/journal/kept-room.ts';
import { freeBytesAt, mebibytes } from '../../../ledger/room-on-disk.ts';
import { wantOfRights } from '../../../ledger/want-of-rights.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { credentialOf } from '../configuration/read-credentials.ts';
import { fewDescriptors } from '../serve/enough-descriptors.ts';
import { openToOthers } from '../serve/tighten-folder.ts';
import { type Examined, type Finding, fault, lackingHere, looked, ok, warn } from './finding.ts';

/** Providers' credentials as this command's environment has them: names alone are told. */
export const lookAtCredentials = ({ configuration, context, isServed, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'credentials',
    advice: null,
    look: () => {
      const providers = Object.entries(configuration.providers);
      const faults: string[] = [];
      for (const [name, provider] of providers) credentialOf(name, provider, context.environment, faults);
      if (faults.length === 0)
        return ok(
          (providers.map(([name, { apiKeyPlace }]) => `${apiKeyPlace} for ${name}`).join(', ') || 'none are needed') +
            (configuration.payments.provider === 'stripe' ? '; those of Stripe stand under payments' : ''),
        );
      return lackingHere(faults, { isServed });
    },
  });

export const lookAtDescriptors = (timeMs: number): Promise<Finding> =>
  looked(timeMs, {
    check: 'descriptors',
    advice: null,
    look: () => {
      const few = fewDescriptors();
      return few === null ? ok('this process may have as many as a gateway needs to start') : fault(few);
    },
  });

export const lookAtFolder = ({ configuration: { data }, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'data folder',
    advice: 'look whether --data or --config is the right one',
    look: () => {
      // Everything of it: each file is made beside this one.
      const lacking = wantOfRights(join(data, VIEWS_FILE));
      if (lacking !== null) return fault(lacking);
      const is = statSync(data, { throwIfNoEntry: false });
      if (is === undefined) assertInNoBackup(data);
      if (is === undefined) return warn(`${data} is not there`, 'the first start makes it');
      if (!is.isDirectory()) return fault(`${data} is no folder`, 'name another with --data or `data`');
      const open = openToOthers(data);
      if (open.length === 0) return ok(`${data}, its owner's alone`);
      const [first = ''] = open;
      return warn(
        `others can look into ${open.length === 1 ? first : `${first} and ${open.length - 1} more`}`,
        `chmod -R go= ${data} closes it, and so does the next start where the folder is for nothing else`,
      );
    },
  });

/** By what the gateway itself asks for: the journal's reserve, and as much as the journal may take. */
export const lookAtDisk = ({ configuration: { data, journal }, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'disk',
    advice: 'look at the file system of the data folder',
    look: async () => {
      const free = freeBytesAt(nearestThere(data));
      const least = roomKeptBytes(data);
      const says = `${mebibytes(free)} are free at ${data}`;
      if (free < least) return fault(`${says}: requests are refused below ${mebibytes(least)}`, 'make room');
      return free < journal.maxBytes
        ? warn(`${says}: the journal may take ${mebibytes(journal.maxBytes)} while the log is away`, MORE_ROOM)
        : ok(says);
    },
  });

const MORE_ROOM = 'make room, or lower journal.maxBytes';

const nearestThere = (path: string): string => (existsSync(path) ? path : nearestThere(dirname(path)));

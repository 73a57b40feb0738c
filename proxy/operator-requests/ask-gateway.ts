import { randomUUID } from 'node:crypto';
import { discardedOnSignal } from '../../ledger/discarded-on-signal.ts';
import { pause } from '../../ledger/pause.ts';
import {
  type Asked,
  type OperatorAnswer,
  type RequestFiles,
  readAnswer,
  readRequest,
  removeBoth,
  requestFiles,
  requestsIn,
  isThere as stands,
  writeRequest,
} from './operator-request.ts';

const LOOK_MS = 50;

interface AskedGateway {
  readonly dataFolder: string;
  readonly clock: () => number;
  /** How long the answer is waited for. */
  readonly timeMs: number;
  /** Whether there is a gateway on the folder. */
  readonly isThere: () => boolean;
}

/** `gone`: it has ended before; `silent`: it has not answered in time; `busy`: it is being asked something else. */
type Answered = Omit<OperatorAnswer, 'id'> | 'gone' | 'silent' | 'busy';

/**
 * Asks the gateway that has a data folder, by a file in it: there is no port for operators. Where a signal ends this program the
 * request is withdrawn, and what of it is under way with it. Of several that ask at the same moment each is answered, one after the
 * other. @throws Error of the file system, or where a request stands there that cannot be read
 */
export async function askGateway(
  asked: Asked,
  { dataFolder, clock, timeMs, isThere }: AskedGateway,
): Promise<Answered> {
  const nowMs = clock();
  const isOpen = (files: RequestFiles): boolean => (readRequest(files)?.untilMs ?? 0) >= nowMs;
  if (requestsIn(dataFolder).some(isOpen)) return 'busy';
  const id = randomUUID();
  const files = requestFiles(dataFolder, id);
  const withdraw = (): void => removeBoth(files);
  return discardedOnSignal(withdraw, async () => {
    try {
      writeRequest(files, { id, untilMs: nowMs + timeMs, asked });
      return await answered(files, { timeMs, isThere });
    } finally {
      withdraw();
    }
  });
}

async function answered(
  files: RequestFiles,
  { timeMs, isThere }: Pick<AskedGateway, 'timeMs' | 'isThere'>,
): Promise<Exclude<Answered, 'busy'>> {
  const signal = AbortSignal.timeout(timeMs);
  for (;;) {
    // Before its answer is looked for: a gateway may answer and end in between. It has dropped what it could not answer.
    const gone = !isThere() ? 'gone' : signal.aborted || !stands(files) ? 'silent' : null;
    const answer = readAnswer(files);
    if (answer !== null) {
      const { id: _, ...answered } = answer;
      return answered;
    }
    if (gone !== null) return gone;
    await pause(LOOK_MS, signal);
  }
}

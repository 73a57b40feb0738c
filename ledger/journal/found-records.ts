import type { RequestId } from '../../contracts/ids.ts';
import type { RecoveredRequest } from './journal.ts';
import { OpenRequests, type Place } from './open-requests.ts';
import type { JournalRecord } from './record-v1.ts';

/** Folds the records of all segments. A request's records may come in any order, for a start can be compacted into a later segment. */
export class FoundRecords {
  readonly #requests = new Map<RequestId, FoundRequest>();
  nextSequence = 0;

  add(record: JournalRecord, place: Place): void {
    switch (record.kind) {
      case 'begin': {
        const request = this.#request(record.requestId);
        this.nextSequence = Math.max(this.nextSequence, record.sequence + 1);
        request.sequence = record.sequence;
        request.start = record.text;
        request.begin = place;
        return;
      }
      case 'finish': {
        const request = this.#request(record.requestId);
        request.finished = record.text;
        request.finish = place;
        return;
      }
      case 'settle':
        for (const id of record.requestIds) this.#requests.delete(id);
        return;
      default:
        record satisfies never;
    }
  }

  /**
   * An end without a start is a settled request whose start went with its segment, since segments leave oldest first.
   * Only where a part of the journal is lost can the start be what was lost: then the end is handed over without it.
   */
  unsettled(isDamaged: boolean): { open: OpenRequests; recovered: RecoveredRequest[] } {
    const requests = [...this.#requests.values()].filter((request) => request.begin !== null || isDamaged);
    requests.sort((left, right) => left.sequence - right.sequence);
    const open = new OpenRequests();
    const recovered: RecoveredRequest[] = [];
    for (const { requestId, start, finished, begin, finish } of requests) {
      open.restore(requestId, begin, finish);
      if (start !== null) recovered.push({ requestId, start, finished });
      else if (finished !== null) recovered.push({ requestId, start, finished });
    }
    return { open, recovered };
  }

  #request(id: RequestId): FoundRequest {
    const known = this.#requests.get(id);
    if (known !== undefined) return known;
    const request = {
      requestId: id,
      sequence: Number.MAX_SAFE_INTEGER,
      start: null,
      finished: null,
      begin: null,
      finish: null,
    };
    this.#requests.set(id, request);
    return request;
  }
}

interface FoundRequest {
  readonly requestId: RequestId;
  sequence: number;
  start: string | null;
  finished: string | null;
  begin: Place | null;
  finish: Place | null;
}

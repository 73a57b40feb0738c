import assert from 'node:assert/strict';
import type { RequestId } from '../../contracts/ids.ts';
import { PassingMap } from '../../contracts/passing-map.ts';
import type { Segment } from './segment.ts';

/** Where a record lies. It can move to a later segment while its request is open. */
export interface Place {
  segment: Segment;
  offset: number;
  readonly bytes: number;
}

interface OpenRequest {
  begin: Place | null;
  finish: Place | null;
}

/** The requests begun and not settled, and which segment holds their records. Texts stay in the files. */
export class OpenRequests {
  readonly #requests = new PassingMap<RequestId, OpenRequest>();
  #unfinished = 0;

  get size(): number {
    return this.#requests.size;
  }

  get unfinished(): number {
    return this.#unfinished;
  }

  has(id: RequestId): boolean {
    return this.#requests.has(id);
  }

  canFinish(id: RequestId): boolean {
    return this.#requests.get(id)?.finish === null;
  }

  /** Adds a request as recovery found it: with its start, with its end, or with both. */
  restore(id: RequestId, begin: Place | null, finish: Place | null): void {
    assert(!this.#requests.has(id), 'a request is restored once');
    this.#requests.set(id, { begin, finish });
    if (finish === null) this.#unfinished += 1;
    if (begin !== null) retain(begin);
    if (finish !== null) retain(finish);
  }

  begin(id: RequestId, place: Place): void {
    this.#requests.set(id, { begin: place, finish: null });
    this.#unfinished += 1;
    retain(place);
  }

  finish(id: RequestId, place: Place): void {
    const request = this.#requests.get(id);
    assert(request?.finish === null, 'a request finishes once, after it has begun');
    request.finish = place;
    this.#unfinished -= 1;
    retain(place);
  }

  /** Forgets a request; false when it was not open. */
  settle(id: RequestId): boolean {
    const request = this.#requests.get(id);
    if (request === undefined) return false;
    this.#requests.delete(id);
    if (request.finish === null) this.#unfinished -= 1;
    if (request.begin !== null) release(request.begin);
    if (request.finish !== null) release(request.finish);
    return true;
  }

  /** Where the records of a request lie; null where it is not open. */
  placesOf(id: RequestId): { readonly begin: Place | null; readonly finish: Place | null } | null {
    return this.#requests.get(id) ?? null;
  }

  /** The live records of one segment, oldest request first. */
  placesIn(segment: Segment): Place[] {
    const places: Place[] = [];
    for (const request of this.#requests) {
      // The oldest segment's requests are the first of the map, so this ends long before the map does.
      if (places.length === segment.liveRecords) break;
      if (request.begin?.segment === segment) places.push(request.begin);
      if (request.finish?.segment === segment) places.push(request.finish);
    }
    return places;
  }

  /** The record at this place now lies elsewhere. */
  move(place: Place, segment: Segment, offset: number): void {
    release(place);
    place.segment = segment;
    place.offset = offset;
    retain(place);
  }
}

function retain(place: Place): void {
  place.segment.liveRecords += 1;
  place.segment.liveBytes += place.bytes;
}

function release(place: Place): void {
  place.segment.liveRecords -= 1;
  place.segment.liveBytes -= place.bytes;
  assert(place.segment.liveRecords >= 0 && place.segment.liveBytes >= 0, 'a segment releases what it held');
}

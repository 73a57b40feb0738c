import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { type NodeParser, ON_BODY, ON_HEAD, ON_READ } from '../../../proxy/connections/node-parser.ts';
import { dropPieces } from '../../../proxy/connections/unwanted-pieces.ts';

/** A connection's parser as Node has it: pieces that are read are counted. */
function connection() {
  let read = 0;
  const parser: { -readonly [P in keyof NodeParser]: NodeParser[P] } = {
    incoming: null,
    [ON_HEAD]: () => undefined,
    [ON_BODY]: () => read++,
    [ON_READ]: null,
  };
  const request = () => ({ socket: { parser }, resume: () => undefined }) as unknown as IncomingMessage;
  let made = 0;
  const piece = (of: IncomingMessage): number => {
    parser.incoming = of;
    const before = read;
    const taker = parser[ON_BODY];
    if (taker !== null) made++;
    taker?.call(parser, Buffer.from('x'));
    return read - before;
  };
  return { request, piece, made: () => made };
}

const unwanted = { isTooMuch: () => false, onDropped: () => undefined };

it('drops the pieces of several bodies of one connection, each until it is wanted again', () => {
  const { request, piece } = connection();
  const [first, second, read] = [request(), request(), request()];
  const [wantFirst, wantSecond] = [dropPieces(first, unwanted), dropPieces(second, unwanted)];
  expect([piece(first), piece(second), piece(read)]).toEqual([0, 0, 1]);
  wantFirst();
  expect([piece(first), piece(second), piece(read)]).toEqual([1, 0, 1]);
  wantSecond();
  expect([piece(first), piece(second), piece(read)]).toEqual([1, 1, 1]);
});

it('makes none of them, for whose memory nobody would ask', () => {
  const { request, piece, made } = connection();
  const body = request();
  const want = dropPieces(body, unwanted);
  expect([piece(body), piece(body), made()]).toEqual([0, 0, 0]);
  want();
  expect([piece(body), made()]).toEqual([1, 1]);
});

it('keeps nothing of those that it has dropped, however many a connection has had', () => {
  const { request, piece } = connection();
  for (let round = 0; round < 50_000; round++) {
    const ends = [dropPieces(request(), unwanted), dropPieces(request(), unwanted)];
    for (const end of ends) end();
  }
  expect(piece(request())).toBe(1);
});

#!/usr/bin/env node
// Verifies an exported ledger by its seals, with Node alone and nothing of the program that wrote it:
//
//   node verify-export.mjs FOLDER [--anchor FILE] [--keys FILE]
//   node verify-export.mjs --proof FILE --keys FILE [--anchor FILE]
//
// FOLDER has events.ndjson (all events in the log's order, but those of seals), seals.ndjson (the stream of seals) and keys.json.
// A proof is what `gateway ledger prove` prints. --anchor: seals that were kept elsewhere, a line each; --keys: public keys
// that were kept elsewhere, instead of those of the folder, which prove nothing to who did not get them from a trusted place.
// Ends with 0 where everything holds, with 5 where something does not, with 2 where it cannot be told.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const node = (left, right) => sha256(Buffer.of(1), left, right);

/** RFC 6962, section 2.1: the hash of what was added, from full subtrees, largest first. */
class Tree {
  size = 0;
  peaks = [];
  add(leaf) {
    let hash = leaf;
    for (let rest = this.size; rest % 2 === 1; rest = (rest - 1) / 2) hash = node(this.peaks.pop(), hash);
    this.peaks.push(hash);
    this.size += 1;
  }
  root() {
    return this.peaks.length === 0 ? sha256() : this.peaks.reduceRight((right, left) => node(left, right));
  }
}

/** SHA-256 of 0x00 and of each field its length in four bytes and its UTF-8. */
function leafOf(ordinal, { stream, revision, id, type, data, metadata }) {
  const parts = [Buffer.of(0)];
  for (const field of [ordinal, stream, revision, id, type, data, metadata]) {
    const bytes = Buffer.from(String(field));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    parts.push(length, bytes);
  }
  return sha256(...parts);
}

/** The end of the JSON value that begins at a place. */
function endOfValue(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
      if (depth === 0) return at + 1;
    } else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      depth--;
      if (depth === 0) return at + 1;
      if (depth < 0) return at;
    } else if (char === ',' && depth === 0) return at;
  }
  return text.length;
}

const isText = (value) => typeof value === 'string' && value.isWellFormed();
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws Error of the file system that names the file */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (error) {
    throw new Error(`${file}: ${error.message}`);
  }
}

/** Whether no name stands in a text twice, and nothing between. */
const isAsWritten = (text) => JSON.stringify(jsonOf(text)) === text;

/** What is stored, of the JSON by which a line has it; undefined where an export would have written it otherwise. */
function storedOf(json) {
  if (json.startsWith('{')) return json.includes('\r') ? undefined : json;
  const stored = jsonOf(json);
  const isAsIs = () => /^\{[^\r\n]*\}$/.test(stored) && jsonOf(stored) !== undefined;
  return isText(stored) && JSON.stringify(stored) === json && !isAsIs() ? stored : undefined;
}

/**
 * A line's event; data and metadata byte for byte. Null where the line is not, to the last byte, the one that an export writes
 * of it: of a name that stands twice, or one more, every reader would take another value than the one that was sealed.
 */
function eventOfLine(line) {
  const { stream, revision, position, id, type } = jsonOf(line) ?? {};
  if (![stream, id, type].every(isText) || ![revision, position].every(isCount)) return null;
  const start = `${JSON.stringify({ stream, revision, position, id, type }).slice(0, -1)},"data":`;
  const end = endOfValue(line, start.length);
  const metadataAt = end + ',"metadata":'.length;
  if (!line.startsWith(start) || line.slice(end, metadataAt) !== ',"metadata":' || !line.endsWith('}')) return null;
  if (endOfValue(line, metadataAt) !== line.length - 1) return null;
  const data = storedOf(line.slice(start.length, end));
  const metadata = storedOf(line.slice(metadataAt, -1));
  return data === undefined || metadata === undefined ? null : { stream, revision, position, id, type, data, metadata };
}

/** Split at line feeds alone: other line ends of Unicode may stand in a stored text as they are. @throws where it is no UTF-8 */
async function* linesOf(file) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let parts = [];
  const taken = (last) => {
    const line = decoder.decode(Buffer.concat([...parts, last]));
    parts = [];
    return line;
  };
  for await (const chunk of createReadStream(file)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      yield taken(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  if (parts.length > 0) yield taken(Buffer.alloc(0));
}

/** The events of a file; of a line that is none, null. Positions are the log's own, and in no seal: they only have to rise. */
async function* eventsOf(folder, name, isOfSeals, fault) {
  let [number, others, firstOther, position] = [0, 0, 0, 0];
  for await (const line of linesOf(join(folder, name))) {
    number += 1;
    const event = eventOfLine(line);
    const isOwn = event !== null && (event.stream === 'seals') === isOfSeals && event.position > position;
    if (!isOwn && others++ === 0) firstOther = number;
    position = event?.position ?? position;
    yield event;
  }
  if (others > 0)
    fault(`${name}: not as an export writes it are so many lines: ${others}, the first is line ${firstOther}`);
}

const pick = (value, names) => JSON.stringify(Object.fromEntries(names.map((name) => [name, value[name]])));
const SEAL = ['seal', 'ledgerId', 'first', 'count', 'root', 'treeSize', 'treeRoot', 'previous', 'sealedAt', 'keyId'];
const KEY = ['keyId', 'publicKey', 'validFrom', 'introducedBy'];
const sealText = (seal) => `model-gateway seal v1\n${pick(seal, SEAL)}`;
const keyText = (key) => `model-gateway seal key v1\n${pick(key, KEY)}`;

/** In the one form that bytes have: of another the last letter has bits that no byte has, which nothing is signed over. */
const isBase64 = (text) => isText(text) && Buffer.from(text, 'base64').toString('base64') === text;

function isSigned(publicKey, text, signature) {
  if (![publicKey, signature].every(isBase64)) return false;
  try {
    const x = Buffer.from(publicKey, 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

const isKey = ({ keyId, publicKey }) =>
  isText(keyId) &&
  isBase64(publicKey) &&
  sha256(Buffer.from(publicKey, 'base64')).toString('hex').startsWith(keyId) &&
  keyId.length === 16;

/** What the clock of a seal may be behind that of its key's introduction: a day. Which key follows which is not asked of clocks. */
const CLOCKS_MS = 86_400_000;

/** What of a seal's signature does not hold. */
function faultOfSeal(seal, keys) {
  const key = keys.get(seal.keyId);
  if (key === undefined) return `is signed by ${seal.keyId}, which is no known key`;
  if (!(Date.parse(key.validFrom) - Date.parse(seal.sealedAt) <= CLOCKS_MS))
    return `is of ${seal.sealedAt}, and its key valid from ${key.validFrom}`;
  return isSigned(key.publicKey, sealText(seal), seal.signature) ? null : 'has a signature that is not of its key';
}

/** Why an introduced key is not to be believed. */
function faultOfKey(key, keys, { areGiven, introduced, rank }) {
  if (!isKey(key)) return 'has the public key of another';
  if (introduced.includes(key.keyId)) return 'is introduced a second time';
  if (key.introducedBy === null && areGiven && !keys.has(key.keyId))
    return 'introduces itself, and is none of those given';
  if (key.introducedBy === null && !areGiven && keys.size > 0)
    return 'introduces itself, though there is a key already';
  const by = key.introducedBy === null ? key : keys.get(key.introducedBy);
  if (by === undefined) return `is introduced by ${key.introducedBy}, which is no known key`;
  if (by !== key && introduced.indexOf(by.keyId) < rank)
    return `is introduced by ${by.keyId}, which a key has followed that has sealed`;
  return isSigned(by.publicKey, keyText(key), key.signature)
    ? null
    : 'has a signature that is not of who introduced it';
}

function keysOf(file) {
  const keys = jsonOf(textOf(file))?.keys;
  if (!Array.isArray(keys)) throw new Error(`${file}: expected keys as gateway ledger keys --json prints them`);
  if (!keys.some(isKey)) throw new Error(`${file}: there is no key in it`);
  return new Map(keys.filter(isKey).map((key) => [key.keyId, key]));
}

function sealsIn(text) {
  const value = jsonOf(text);
  const seal = value?.type === 'LedgerSealed' ? value.data : value;
  return typeof seal?.treeRoot === 'string' ? [seal] : [];
}

const LINE_CHARS_MAX = 65_536;

/** A line each, or one in several lines. */
async function anchorsOf(file) {
  const seals = [];
  let text = '';
  for await (const line of linesOf(file)) {
    if (line.length <= LINE_CHARS_MAX) seals.push(...sealsIn(line));
    if (text.length <= LINE_CHARS_MAX) text += `${line}\n`;
  }
  if (seals.length === 0 && text.length <= LINE_CHARS_MAX) seals.push(...sealsIn(text));
  if (seals.length === 0) throw new Error(`${file}: there is no seal in it`);
  return seals;
}

/** The seals in their order, each followed from the one before. */
async function* sealsOf(folder, keys, areGiven, fault) {
  let [before, previous, revision, rank] = [null, null, 0, 0];
  const [introduced, listed, since] = [[], [], []];
  const given = [...keys.keys()];
  for await (const event of eventsOf(folder, 'seals.ndjson', true, fault)) {
    if (event === null) continue;
    const data = jsonOf(event.data) ?? {};
    const names = event.type === 'LedgerSealed' ? SEAL : KEY;
    // The newest seal's text is in no hash.
    if (event.data !== pick(data, [...names, 'signature']) || !isAsWritten(event.metadata))
      fault(`revision ${event.revision} of the stream of seals is not as it is written`);
    if (event.revision !== revision)
      fault(`the stream of seals goes from revision ${revision - 1} to ${event.revision}`);
    revision = event.revision + 1;
    if (event.type === 'SealKeyIntroduced') {
      listed.push(event.data);
      const why = faultOfKey(data, keys, { areGiven, introduced, rank });
      if (why !== null) fault(`key ${data.keyId} ${why}`);
      else {
        const given = keys.get(data.keyId)?.validFrom ?? '';
        keys.set(data.keyId, given > data.validFrom ? { ...data, validFrom: given } : data);
        introduced.push(data.keyId);
        since.push(data.validFrom);
      }
    } else if (event.type === 'LedgerSealed') {
      const of = `seal ${data.seal} (events ${data.first} to ${data.treeSize - 1}):`;
      const why = faultOfSeal(data, keys);
      if (why !== null) fault(`${of} ${why}`);
      const own = introduced.indexOf(data.keyId);
      if (own === -1 ? why === null : own < rank)
        fault(
          `${of} is signed by ${data.keyId}, ${own === -1 ? 'before that is introduced' : 'after a seal by a key that followed it'}`,
        );
      rank = Math.max(rank, own);
      if (data.seal !== (before?.seal ?? -1) + 1 || data.previous !== previous)
        fault(`${of} does not follow the seal before it`);
      if (data.first !== (before?.treeSize ?? 0) || data.treeSize !== data.first + data.count)
        fault(`${of} does not begin where the one before it ends`);
      if (before !== null && data.ledgerId !== before.ledgerId) fault(`${of} is of another ledger`);
      before = data;
      previous = sha256(event.data).toString('hex');
      yield { data, of };
    } else fault(`revision ${event.revision} of the stream of seals is ${event.type}`);
  }
  // Who keeps that file for later keeps these keys.
  if (readFileSync(join(folder, 'keys.json'), 'utf8') !== `{"keys":[${listed.join(',')}]}\n`)
    fault('keys.json: its keys are not those that the stream of seals introduces');
  for (const keyId of given)
    if (!introduced.includes(keyId)) fault(`key ${keyId} is given, and nothing in the stream of seals introduces it`);
  // A rotation before the first seal introduces two at once; else the first comes with a seal.
  if (areGiven && before === null && since[0] !== since[1])
    fault('keys are given, and there is no seal: all of them are taken out');
}

async function verifyFolder(folder, { keysFile, anchors }) {
  const faults = [];
  const fault = (text) => faults.push(text);
  const keys = keysFile === undefined ? new Map() : keysOf(keysFile);
  const seals = sealsOf(folder, keys, keysFile !== undefined, fault);
  const [tree, roots, inLog] = [new Tree(), new Map(), new Map()];
  const sizes = new Set(anchors.map(({ treeSize }) => treeSize));
  const next = async () => {
    const { value } = await seals.next();
    if (value !== undefined) inLog.set(value.data.seal, `${sealText(value.data)}${value.data.signature}`);
    return value;
  };
  let [range, seal, sealed, isBroken] = [new Tree(), await next(), 0, false];
  for await (const event of eventsOf(folder, 'events.ndjson', false, fault)) {
    const leaf = event === null ? sha256() : leafOf(tree.size, event);
    tree.add(leaf);
    range.add(leaf);
    if (sizes.has(tree.size)) roots.set(tree.size, tree.root().toString('hex'));
    while (seal !== undefined && seal.data.treeSize <= tree.size) {
      const { data, of } = seal;
      if (range.size !== data.count || range.root().toString('hex') !== data.root) {
        fault(`${of} its events are not those that were sealed`);
        isBroken = true;
      } else if (!isBroken && tree.root().toString('hex') !== data.treeRoot)
        fault(`${of} the events before it are not those over which it was sealed`);
      sealed = data.treeSize;
      range = new Tree();
      seal = await next();
    }
  }
  if (seal !== undefined) fault(`${seal.of} there are ${tree.size} events: the tail is cut`);
  while (seal !== undefined) seal = await next();
  let anchored = 0;
  for (const anchor of anchors) {
    const of = `anchor, seal ${anchor.seal} (${anchor.treeSize} events):`;
    if (anchor.treeSize > tree.size) fault(`${of} there are ${tree.size} events: the tail is cut`);
    else if (roots.get(anchor.treeSize) !== anchor.treeRoot)
      fault(`${of} its events are others: they were written anew`);
    else if (!inLog.has(anchor.seal)) fault(`${of} its events are there, but not the seal: seals are cut`);
    else if (inLog.get(anchor.seal) !== `${sealText(anchor)}${anchor.signature}`)
      fault(`${of} there is another of this number`);
    else anchored = Math.max(anchored, anchor.treeSize);
  }
  const lines = [
    ...faults,
    `events ${tree.size}, sealed ${sealed}, anchored ${anchored}, unsealed ${tree.size - sealed}`,
  ];
  const isPart = anchored < sealed;
  const part = `anchored up to event ${anchored - 1}; behind it consistent only: ${sealed - anchored}`;
  const held = anchored === 0 ? 'consistent, not anchored' : isPart ? part : 'anchored';
  const whole = inLog.size === 0 ? 'nothing is sealed' : held;
  return { lines: [...lines, faults.length > 0 ? 'damaged' : whole], holds: faults.length === 0 };
}

const half = (number) => Math.floor(number / 2);

/** RFC 9162, sections 2.1.3.2 and 2.1.4.2: up to the roots of the tree that ends there, and of the whole one. */
function climb(at, last, start, path) {
  let [one, other] = [start, start];
  for (const hash of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      [one, other] = [node(hash, one), node(hash, other)];
      for (; at % 2 === 0 && at !== 0; at = half(at)) last = half(last);
    } else other = node(other, hash);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && start !== undefined ? [one, other] : null;
}

/** The roots of both trees, as the path has them. */
function rootsByPath(older, newer, path) {
  if (older.size === newer.size) return path.length === 0 ? [older.root, older.root] : null;
  const isFull = Number.isInteger(Math.log2(older.size));
  const [start, ...rest] = isFull ? [older.root, ...path] : path;
  let [at, last] = [older.size - 1, newer.size - 1];
  for (; at % 2 === 1; at = half(at)) last = half(last);
  return climb(at, last, start, rest);
}

function bytesOf(hashes) {
  if (!hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash))) throw new Error('a path is not of hashes');
  return hashes.map((hash) => Buffer.from(hash, 'hex'));
}

const EVENT = ['ordinal', 'stream', 'revision', 'id', 'type', 'data', 'metadata'];
const withNames = (value, names) => JSON.parse(pick(value, names));
const sealOf = (seal) => withNames(seal, [...SEAL, 'signature']);

/** A proof's text, to the byte, as `gateway ledger prove` prints it. */
function proofText({ seal, inclusion, consistency }) {
  const event = inclusion && { event: withNames(inclusion.event, EVENT), path: inclusion.path };
  const older = consistency && { since: sealOf(consistency.since), path: consistency.path };
  return JSON.stringify({ seal: sealOf(seal), inclusion: event, consistency: older });
}

/** @throws where a name stands in it twice, or one more, of which others take another value than the one that was signed */
function proofIn(file) {
  const text = textOf(file).trimEnd();
  const proof = jsonOf(text);
  if (!proof?.seal || proofText(proof) !== text) throw new Error(`${file} is not as gateway ledger prove prints it`);
  return proof;
}

const isStored = ({ ordinal, stream, revision, id, type, data, metadata }) =>
  [ordinal, revision].every(isCount) && [stream, id, type, data, metadata].every(isText);

function verifyProof({ seal, inclusion, consistency }, { keysFile, anchors }) {
  const keys = keysOf(keysFile);
  const seals = consistency === null ? [seal] : [seal, consistency.since];
  const faults = seals.flatMap((one) => {
    const why = faultOfSeal(one, keys);
    return why === null ? [] : [`seal ${one.seal} ${why}`];
  });
  const lines = [];
  const until = keys.get(seal.keyId)?.validUntil ?? null;
  const isFollowed = until !== null && seal.sealedAt > until;
  const by = `seal ${seal.seal}${isFollowed ? ` (by a key that another has followed at ${until})` : ''} covers`;
  if (inclusion === null && consistency === null) faults.push('it shows neither an event nor an earlier seal');
  if (inclusion !== null) {
    const { event, path } = inclusion;
    const root =
      isStored(event) && event.ordinal < seal.treeSize
        ? climb(event.ordinal, seal.treeSize - 1, leafOf(event.ordinal, event), bytesOf(path))?.[1]
        : null;
    if (root?.toString('hex') !== seal.treeRoot) faults.push(`event ${event.id} does not stand in seal ${seal.seal}`);
    lines.push(`${by} event ${event.ordinal}: ${event.stream} revision ${event.revision}, ${event.type} ${event.id}`);
  }
  if (consistency !== null) {
    const { since, path } = consistency;
    const older = { size: since.treeSize, root: Buffer.from(since.treeRoot, 'hex') };
    const roots = older.size <= seal.treeSize ? rootsByPath(older, { size: seal.treeSize }, bytesOf(path)) : null;
    const [one, other] = (roots ?? []).map((root) => root.toString('hex'));
    if (one !== since.treeRoot || other !== seal.treeRoot)
      faults.push(`seal ${since.seal} is not the beginning of seal ${seal.seal}`);
    lines.push(`${by} all that seal ${since.seal} covers`);
  }
  const known = new Set(anchors.map((anchor) => `${sealText(anchor)}${anchor.signature}`));
  const sizes = seals.filter((one) => known.has(`${sealText(one)}${one.signature}`)).map(({ treeSize }) => treeSize);
  const anchored = Math.max(0, ...sizes);
  if (faults.length > 0) return { lines: [...faults, 'does not hold'], holds: false };
  return {
    lines: [...lines, `holds, ${anchoring(anchored, inclusion?.event.ordinal ?? seal.treeSize - 1)}`],
    holds: true,
  };
}

/** What is behind the events that an anchor covers, who has the key may have written anew. */
function anchoring(anchored, last) {
  if (anchored > last) return 'anchored';
  return anchored === 0 ? 'not anchored' : `not anchored: the anchor ends with event ${anchored - 1}`;
}

/** What others have written neither hides nor commands, nor stands as a line of its own. */
const LINE_SHOWN_MAX = 500;
const onOneLine = (text) =>
  text
    .slice(0, LINE_SHOWN_MAX)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);

try {
  const options = { anchor: { type: 'string' }, keys: { type: 'string' }, proof: { type: 'string' } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const anchors = values.anchor === undefined ? [] : await anchorsOf(values.anchor);
  const outside = { keysFile: values.keys, anchors };
  const [folder, ...more] = positionals;
  if ((values.proof === undefined) === (folder === undefined) || more.length > 0)
    throw new Error('name a folder, or --proof FILE --keys FILE');
  if (values.proof !== undefined && values.keys === undefined) throw new Error('a proof is checked by --keys FILE');
  const { lines, holds } =
    folder === undefined ? verifyProof(proofIn(values.proof), outside) : await verifyFolder(folder, outside);
  process.stdout.write(`${lines.map(onOneLine).join('\n')}\n`);
  process.exitCode = holds ? 0 : 5;
} catch (error) {
  process.stderr.write(`verify-export: ${onOneLine(error instanceof Error ? error.message : String(error))}\n`);
  process.exitCode = 2;
}

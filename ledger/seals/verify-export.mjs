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

/** A line's event; data and metadata byte for byte, as they are written in it, or as the string that they are. */
function eventOfLine(line) {
  const event = JSON.parse(line);
  for (let at = 1; line[at] === '"'; ) {
    const colon = endOfValue(line, at);
    const name = JSON.parse(line.slice(at, colon));
    const end = endOfValue(line, colon + 1);
    if (name === 'data' || name === 'metadata') {
      const raw = line.slice(colon + 1, end);
      event[name] = raw.startsWith('"') ? JSON.parse(raw) : raw;
    }
    at = end + 1;
  }
  return event;
}

/** Split at line feeds alone: other line ends of Unicode may stand in a stored text as they are. */
async function* linesOf(file) {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    yield* lines;
  }
  if (rest !== '') yield rest;
}

const pick = (value, names) => JSON.stringify(Object.fromEntries(names.map((name) => [name, value[name]])));
const SEAL = ['seal', 'ledgerId', 'first', 'count', 'root', 'treeSize', 'treeRoot', 'previous', 'sealedAt', 'keyId'];
const KEY = ['keyId', 'publicKey', 'validFrom', 'introducedBy'];
const sealText = (seal) => `model-gateway seal v1\n${pick(seal, SEAL)}`;
const keyText = (key) => `model-gateway seal key v1\n${pick(key, KEY)}`;

function isSigned(publicKey, text, signature) {
  try {
    const x = Buffer.from(publicKey, 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

const isKey = ({ keyId, publicKey }) =>
  sha256(Buffer.from(publicKey, 'base64')).toString('hex').startsWith(keyId) && keyId.length === 16;

/** What of a seal's signature does not hold. */
function faultOfSeal(seal, keys) {
  const key = keys.get(seal.keyId);
  if (key === undefined) return `is signed by ${seal.keyId}, which is no known key`;
  if (seal.sealedAt < key.validFrom) return `is of ${seal.sealedAt}, and its key valid from ${key.validFrom}`;
  return isSigned(key.publicKey, sealText(seal), seal.signature) ? null : 'has a signature that is not of its key';
}

/** Why an introduced key is not to be believed. */
function faultOfKey(key, keys, areGiven) {
  if (!isKey(key)) return 'has the public key of another';
  if (key.introducedBy === null && areGiven && !keys.has(key.keyId))
    return 'introduces itself, and is none of those given';
  if (key.introducedBy === null && !areGiven && keys.size > 0)
    return 'introduces itself, though there is a key already';
  const by = key.introducedBy === null ? key : keys.get(key.introducedBy);
  if (by === undefined) return `is introduced by ${key.introducedBy}, which is no known key`;
  return isSigned(by.publicKey, keyText(key), key.signature)
    ? null
    : 'has a signature that is not of who introduced it';
}

const keysOf = (file) =>
  new Map(
    JSON.parse(readFileSync(file, 'utf8'))
      .keys.filter(isKey)
      .map((key) => [key.keyId, key]),
  );

function sealsIn(text) {
  try {
    const value = JSON.parse(text);
    const seal = value.type === 'LedgerSealed' ? value.data : value;
    return typeof seal?.treeRoot === 'string' ? [seal] : [];
  } catch {
    return [];
  }
}

/** A line each, or one in several lines. */
function anchorsOf(file) {
  const text = readFileSync(file, 'utf8');
  const byLine = text.split('\n').flatMap(sealsIn);
  const seals = byLine.length > 0 ? byLine : sealsIn(text);
  if (seals.length === 0) throw new Error(`${file}: there is no seal in it`);
  return seals;
}

/** The seals in their order, each followed from the one before. */
async function* sealsOf(file, keys, areGiven, fault) {
  let [before, previous, revision] = [null, null, 0];
  for await (const line of linesOf(file)) {
    const event = eventOfLine(line);
    const data = JSON.parse(event.data);
    if (event.revision !== revision)
      fault(`the stream of seals goes from revision ${revision - 1} to ${event.revision}`);
    revision = event.revision + 1;
    if (event.type === 'SealKeyIntroduced') {
      const why = faultOfKey(data, keys, areGiven);
      if (why === null) keys.set(data.keyId, data);
      else fault(`key ${data.keyId} ${why}`);
    } else if (event.type === 'LedgerSealed') {
      const of = `seal ${data.seal} (events ${data.first} to ${data.treeSize - 1}):`;
      const why = faultOfSeal(data, keys);
      if (why !== null) fault(`${of} ${why}`);
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
}

async function verifyFolder(folder, { keysFile, anchors }) {
  const faults = [];
  const fault = (text) => faults.push(text);
  const keys = keysFile === undefined ? new Map() : keysOf(keysFile);
  const seals = sealsOf(join(folder, 'seals.ndjson'), keys, keysFile !== undefined, fault);
  const [tree, roots, inLog] = [new Tree(), new Map(), new Map()];
  const sizes = new Set(anchors.map(({ treeSize }) => treeSize));
  const next = async () => {
    const { value } = await seals.next();
    if (value !== undefined) inLog.set(value.data.seal, `${sealText(value.data)}${value.data.signature}`);
    return value;
  };
  let [range, seal, sealed, isBroken] = [new Tree(), await next(), 0, false];
  for await (const line of linesOf(join(folder, 'events.ndjson'))) {
    const leaf = leafOf(tree.size, eventOfLine(line));
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
  const whole = inLog.size === 0 ? 'nothing is sealed' : anchored > 0 ? 'anchored' : 'consistent, not anchored';
  return { lines: [...lines, faults.length > 0 ? 'damaged' : whole], holds: faults.length === 0 };
}

/** RFC 9162, section 2.1.3.2. */
function rootByPath(index, size, leaf, path) {
  let [at, last, root] = [index, size - 1, leaf];
  for (const other of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      root = node(other, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else root = node(root, other);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : null;
}

/** RFC 9162, section 2.1.4.2: the roots of both trees, as the path has them. */
function rootsByPath(older, newer, path) {
  if (older.size === newer.size) return path.length === 0 ? [older.root, older.root] : null;
  const isFull = Number.isInteger(Math.log2(older.size));
  const [start, ...rest] = isFull ? [older.root, ...path] : path;
  let [at, last, one, other] = [older.size - 1, newer.size - 1, start, start];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  for (const hash of rest) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      [one, other] = [node(hash, one), node(hash, other)];
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else other = node(other, hash);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && start !== undefined ? [one, other] : null;
}

const bytesOf = (hashes) => hashes.map((hash) => Buffer.from(hash, 'hex'));

function verifyProof({ seal, inclusion, consistency }, { keysFile, anchors }) {
  const keys = keysOf(keysFile);
  const seals = consistency === null ? [seal] : [seal, consistency.since];
  const faults = seals.flatMap((one) => {
    const why = faultOfSeal(one, keys);
    return why === null ? [] : [`seal ${one.seal} ${why}`];
  });
  const lines = [];
  if (inclusion !== null) {
    const { event, path } = inclusion;
    const root =
      event.ordinal < seal.treeSize
        ? rootByPath(event.ordinal, seal.treeSize, leafOf(event.ordinal, event), bytesOf(path))
        : null;
    if (root?.toString('hex') !== seal.treeRoot) faults.push(`event ${event.id} does not stand in seal ${seal.seal}`);
    lines.push(
      `seal ${seal.seal} covers event ${event.ordinal}: ${event.stream} revision ${event.revision}, ${event.type} ${event.id}`,
    );
  }
  if (consistency !== null) {
    const { since, path } = consistency;
    const older = { size: since.treeSize, root: Buffer.from(since.treeRoot, 'hex') };
    const roots = older.size <= seal.treeSize ? rootsByPath(older, { size: seal.treeSize }, bytesOf(path)) : null;
    const [one, other] = (roots ?? []).map((root) => root.toString('hex'));
    if (one !== since.treeRoot || other !== seal.treeRoot)
      faults.push(`seal ${since.seal} is not the beginning of seal ${seal.seal}`);
    lines.push(`seal ${seal.seal} covers all that seal ${since.seal} covers`);
  }
  const known = new Set(anchors.map((anchor) => `${sealText(anchor)}${anchor.signature}`));
  const isAnchored = seals.some((one) => known.has(`${sealText(one)}${one.signature}`));
  if (faults.length > 0) return { lines: [...faults, 'does not hold'], holds: false };
  return { lines: [...lines, isAnchored ? 'holds, anchored' : 'holds, not anchored'], holds: true };
}

try {
  const options = { anchor: { type: 'string' }, keys: { type: 'string' }, proof: { type: 'string' } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const outside = { keysFile: values.keys, anchors: values.anchor === undefined ? [] : anchorsOf(values.anchor) };
  const [folder] = positionals;
  if ((values.proof === undefined) === (folder === undefined))
    throw new Error('name a folder, or --proof FILE --keys FILE');
  if (values.proof !== undefined && values.keys === undefined) throw new Error('a proof is checked by --keys FILE');
  const { lines, holds } =
    folder === undefined
      ? verifyProof(JSON.parse(readFileSync(values.proof, 'utf8')), outside)
      : await verifyFolder(folder, outside);
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = holds ? 0 : 5;
} catch (error) {
  process.stderr.write(`verify-export: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}

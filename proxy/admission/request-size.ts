import type { MessageRequest } from '../../contracts/messages.ts';
import type { RequestSize } from './worst-case.ts';

type Block = { readonly type: string; readonly [field: string]: unknown };

/** Kinds whose tokens lie in the request's own bytes. */
const SELF_CONTAINED = new Set(['text', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'search_result']);

/** What of a request decides how many input tokens it can have and what they can cost. */
export function requestSize(request: MessageRequest, bodyBytes: number): RequestSize {
  const size = { bodyBytes, images: 0, refersToMore: false, cache: cacheOf(request) as RequestSize['cache'] };
  const look = (block: Block): void => {
    size.cache = longer(size.cache, cacheOf(block));
    if (block.type === 'image') size.images++;
    if (block.type === 'image' ? !isInline(block) : !SELF_CONTAINED.has(block.type)) size.refersToMore = true;
    if (Array.isArray(block.content)) for (const inner of block.content) if (isBlock(inner)) look(inner);
  };
  if (Array.isArray(request.system)) request.system.forEach(look);
  for (const { content } of request.messages) if (Array.isArray(content)) content.forEach(look);
  for (const tool of request.tools ?? []) {
    size.cache = longer(size.cache, cacheOf(tool));
    if (isBlock(tool) && tool.type !== 'custom') size.refersToMore = true;
  }
  // A continued thread, a container and a tool server bring content that only the upstream has.
  if ([request.thread, request.container, request.mcp_servers].some(isGiven)) size.refersToMore = true;
  return size;
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined;

const isBlock = (value: unknown): value is Block =>
  value !== null && typeof value === 'object' && 'type' in value && typeof value.type === 'string';

const isInline = ({ source }: Block): boolean => isBlock(source) && source.type === 'base64';

function cacheOf(value: unknown): RequestSize['cache'] {
  if (value === null || typeof value !== 'object' || !('cache_control' in value)) return null;
  const control = value.cache_control;
  if (control === null || typeof control !== 'object') return null;
  return 'ttl' in control && control.ttl === '1h' ? '1h' : '5m';
}

const longer = (a: RequestSize['cache'], b: RequestSize['cache']): RequestSize['cache'] =>
  a === '1h' || b === '1h' ? '1h' : (a ?? b);

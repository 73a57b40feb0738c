import { z } from 'zod';

/**
 * Values of the header `anthropic-beta`. A beta can raise the context window past the catalog's, bring a price of its
 * own, or open a way for input that no table knows; so it is an allow-list: per model, in the catalog.
 */
export const betaNameField = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,127}$/, 'expected the name of a beta');

/** In a catalog file's `betas`: the shipped list. */
export const SHIPPED = 'shipped';

/** Passes only where the fast lane is asked for, which is then held at its price; or where the body says `standard`. */
export const FAST_MODE_BETAS: ReadonlySet<string> = new Set(['fast-mode-2026-02-01']);

/**
 * Betas of POST /v1/messages that change neither the window nor the price of a token, by the names in the SDKs' types
 * (`AnthropicBeta`), in the AI SDK, and as agents send them. What fields and tools they open stands in
 * outside-input.ts, which bounds or refuses it.
 *
 * Left out on purpose, with what they would do:
 * - context-1m: a window past the catalog's, and premium prices above a number of tokens;
 * - compact: tokens that are billed and not in the answer's usage;
 * - server-side-fallback, fallback-credit, advisor-tool: another model's prices, or prices that the catalog lacks;
 * - user-profiles, mcp-tunnels: other parties' and the operator's own bills and servers;
 * - agent-memory, experimental-claude-tag: what they bring is not known;
 * - those of other endpoints (batches, webhooks, administration, managed agents), which change nothing here.
 */
export const SHIPPED_BETAS: ReadonlySet<string> = new Set([
  'adaptive-thinking-2026-01-28',
  'advanced-tool-use-2025-11-20',
  'cache-diagnosis-2026-04-07',
  'claude-code-20250219',
  'code-execution-2025-05-22',
  'code-execution-2025-08-25',
  'code-execution-web-tools-2026-02-09',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'extended-cache-ttl-2025-04-11',
  'fast-mode-2026-02-01',
  'files-api-2025-04-14',
  'fine-grained-tool-streaming-2025-05-14',
  'inline-tools-2026-09-15',
  'interleaved-thinking-2025-05-14',
  'mcp-client-2025-04-04',
  'mcp-client-2025-11-20',
  'mcp-client-2026-09-15',
  'message-threads-2026-08-12',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-system-2026-04-07',
  'mid-conversation-system-clear-at-2026-08-21',
  'mid-conversation-tool-changes-2026-07-01',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'output-300k-2026-03-24',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'redact-thinking-2026-02-12',
  'skills-2025-10-02',
  'structured-outputs-2025-11-13',
  'structured-outputs-2025-12-15',
  'task-budgets-2026-03-13',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'thinking-token-count-2026-05-13',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
  'web-fetch-2025-09-10',
]);
